//! A device: connects to a gateway, registers its tools, and returns the text that it gets. The answering
//! loop runs while the gateway is measured, so it reads as little of a frame as possible and writes once for
//! all frames that have arrived.

use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use toolway_wire::client_message::Connect;
use toolway_wire::gateway_message::{Connected, ToolsRegistered};
use toolway_wire::{ClientMessage, GatewayMessage, capability};

use crate::error::{ErrorContext, Result, unexpected, with_timeout};
use crate::socket::{self, BenchSocket};

const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Identity of a device.
#[derive(Debug, Clone)]
pub(crate) struct BenchDeviceIdentity {
    /// Token of the device.
    pub(crate) token: String,
    /// Id and name of the device.
    pub(crate) id: String,
}

/// A connected device.
#[derive(Debug)]
pub(crate) struct BenchDevice {
    socket: BenchSocket,
    /// Slug of the device.
    pub(crate) source: String,
}

impl BenchDevice {
    /// Connects and waits for `connected`.
    pub(crate) async fn connect(authority: &str, identity: &BenchDeviceIdentity) -> Result<Self> {
        let mut socket = socket::open(authority, "/ws/device", Some(&identity.token)).await?;
        let connect = ClientMessage::from(Connect {
            v: Some(toolway_wire::VERSION),
            device_id: Some(identity.id.clone()),
            device_name: Some(identity.id.clone()),
            platform: Some("load harness".to_owned()),
            app_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            capabilities: [capability::RESUME, capability::PROGRESS, capability::CANCEL]
                .map(str::to_owned)
                .to_vec(),
            ..Connect::default()
        });
        let connected = send_and_wait(&mut socket, connect.encode().into(), "connected").await?;
        let connected: Connected = serde_json::from_str(&connected).context("reading `connected`")?;
        match connected.source {
            Some(source) => Ok(Self { socket, source }),
            None => unexpected("`connected` names no source"),
        }
    }

    /// Sends a registration and waits until all its tools are registered.
    pub(crate) async fn register(&mut self, frame: Utf8Bytes) -> Result<ToolsRegistered> {
        let answer = send_and_wait(&mut self.socket, frame, "tools_registered").await?;
        let answer: ToolsRegistered = serde_json::from_str(&answer).context("reading `tools_registered`")?;
        if !answer.rejected.is_empty() || answer.registered == 0 {
            return unexpected(format!("the gateway did not take the tools: {answer:?}"));
        }
        Ok(answer)
    }

    /// Connects and registers.
    pub(crate) async fn join(
        authority: &str,
        identity: &BenchDeviceIdentity,
        frame: Utf8Bytes,
    ) -> Result<Self> {
        let mut device = Self::connect(authority, identity).await?;
        device.register(frame).await?;
        Ok(device)
    }

    /// Answers requests until the connection ends. Returns the reason.
    pub(crate) async fn serve(self) -> String {
        echo_frames(self.socket).await
    }

    /// Returns the connection, for other ways of answering.
    pub(crate) fn into_socket(self) -> BenchSocket {
        self.socket
    }

    /// Disconnects.
    pub(crate) async fn leave(mut self) -> Result<()> {
        with_timeout(ANSWER_LIMIT, "closing a device's socket", async {
            self.socket.close(None).await.context("closing a device's socket")
        })
        .await
    }
}

/// Sends a frame and waits for one of type `wanted`; an `error` ends the wait.
async fn send_and_wait(socket: &mut BenchSocket, frame: Utf8Bytes, wanted: &str) -> Result<Utf8Bytes> {
    let what = "waiting for the gateway's answer to a device";
    with_timeout(ANSWER_LIMIT, what, async {
        socket.send(Message::Text(frame)).await.context(what)?;
        while let Some(frame) = socket.next().await {
            let Message::Text(text) = frame.context(what)? else { continue };
            match GatewayMessage::decode(&text) {
                Ok(message) if message.kind() == wanted => return Ok(text),
                Ok(GatewayMessage::Error(error)) => {
                    return unexpected(format!("the gateway refused a device: {}", error.message));
                }
                _ => {}
            }
        }
        unexpected(format!("{what}: the connection was closed"))
    })
    .await
}

/// The fields of a frame that a device needs. On the relay, it gets `call_tool` as sent by the caller.
#[derive(Deserialize)]
struct DeviceRequestFrame<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    id: &'a str,
    #[serde(borrow)]
    args: Option<EchoArgs<'a>>,
}

#[derive(Deserialize)]
struct EchoArgs<'a> {
    text: &'a str,
}

/// Returns the answer to a frame, if it needs one.
fn answer_frame(text: &str) -> Option<String> {
    let request = serde_json::from_str::<DeviceRequestFrame<'_>>(text).ok()?;
    if !matches!(request.kind, "tool_call_request" | "call_tool") {
        return None;
    }
    let (id, output) = (request.id, request.args?.text);
    Some(format!(r#"{{"type":"tool_result","id":"{id}","output":"{output}","success":true}}"#))
}

/// Answers frames until the connection ends.
pub(crate) async fn echo_frames(mut socket: BenchSocket) -> String {
    loop {
        let mut arrived = match socket.next().await {
            Some(frame) => frame,
            None => return "the connection ended".to_owned(),
        };
        let mut answered = false;
        loop {
            match arrived {
                Ok(Message::Text(text)) => {
                    if let Some(answer) = answer_frame(&text) {
                        answered = true;
                        if let Err(error) = socket.feed(Message::text(answer)).await {
                            return error.to_string();
                        }
                    }
                }
                Ok(Message::Close(frame)) => return format!("closed by the gateway: {frame:?}"),
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
            match socket.next().now_or_never() {
                Some(Some(frame)) => arrived = frame,
                Some(None) => return "the connection ended".to_owned(),
                None => break,
            }
        }
        if answered && let Err(error) = socket.flush().await {
            return error.to_string();
        }
    }
}

#[cfg(test)]
mod tests;
