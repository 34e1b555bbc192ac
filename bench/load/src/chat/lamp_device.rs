//! The device with the agent's tools: answers at once, and records the times of requests and answers.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::connections::full_name;
use crate::device::{BenchDevice, BenchDeviceIdentity};
use crate::error::Result;
use crate::gateway::BenchGateway;
use crate::socket::BenchSocket;
use crate::tool_specs::{APP_TOOLS, app_frame};

/// Times of a call's request and answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolCallTiming {
    pub(crate) requested_at: Instant,
    pub(crate) answered_at: Instant,
}

/// The device. It disconnects when dropped.
#[derive(Debug)]
pub(crate) struct LampDevice {
    /// Full names of its tools.
    pub(crate) tools: Vec<String>,
    timings: Arc<Mutex<Vec<ToolCallTiming>>>,
    serve_task: AbortHandle,
}

impl Drop for LampDevice {
    fn drop(&mut self) {
        self.serve_task.abort();
    }
}

impl LampDevice {
    /// Connects to the gateway.
    pub(crate) async fn join(gateway: &BenchGateway) -> Result<Self> {
        let token = gateway.create_device_tokens(1).await?.pop().unwrap_or_default();
        let identity = BenchDeviceIdentity { token, id: "lamp".to_owned() };
        let device = BenchDevice::join(&gateway.authority, &identity, app_frame(None).into()).await?;
        let tools = (0..APP_TOOLS.len()).map(|number| full_name(&device.source, number)).collect();
        let held = Arc::new(Mutex::new(Vec::new()));
        let serving = tokio::spawn(serve(device.into_socket(), held.clone())).abort_handle();
        Ok(Self { tools, timings: held, serve_task: serving })
    }

    /// Returns the calls since the last call of this function.
    pub(crate) fn take_timings(&self) -> Vec<ToolCallTiming> {
        std::mem::take(&mut self.timings.lock())
    }
}

/// The fields of a request that the device needs.
#[derive(Deserialize)]
struct LampRequestFrame<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    id: &'a str,
}

/// A broken connection ends it; the turns then report failed calls.
async fn serve(mut socket: BenchSocket, held: Arc<Mutex<Vec<ToolCallTiming>>>) {
    while let Some(Ok(frame)) = socket.next().await {
        let asked = Instant::now();
        let Message::Text(text) = frame else { continue };
        let Ok(LampRequestFrame { kind: "tool_call_request", id }) = serde_json::from_str(&text) else {
            continue;
        };
        let answer = format!(r#"{{"type":"tool_result","id":"{id}","output":"done","success":true}}"#);
        if socket.send(Message::text(answer)).await.is_err() {
            return;
        }
        held.lock().push(ToolCallTiming { requested_at: asked, answered_at: Instant::now() });
    }
}
