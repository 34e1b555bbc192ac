//! The message `connect` and the gateway's answer.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use toolway_wire::client_message::Connect;
use toolway_wire::gateway_message::Connected;
use toolway_wire::limits::ConnectionLimits;
use toolway_wire::{ClientMessage, GatewayMessage, VERSION, capability};

use super::message_handler::{decision_for_close, decision_for_error};
use super::{ConnectionEnd, SocketSink, SocketStream};
use crate::device_state::DeviceState;
use crate::error::ReconnectDecision;

/// Time for the gateway to answer `connect`.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// State that survives a lost connection. It is lost with the process, as the protocol requires.
#[derive(Debug, Default)]
pub(crate) struct ResumeState {
    epoch: u64,
    resume_token: Option<String>,
}

impl ResumeState {
    pub(crate) fn next_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// True if the gateway keeps the calls of a lost connection for a while.
    pub(crate) fn is_resumable(&self) -> bool {
        self.resume_token.is_some()
    }
}

/// The gateway's answer to `connect`.
#[derive(Debug)]
pub(crate) struct HandshakeReply {
    pub(crate) version: u32,
    pub(crate) source: Option<String>,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) frame_limit: usize,
}

/// Sends `connect` and waits for the answer.
pub(crate) async fn perform_handshake(
    sink: &mut SocketSink,
    stream: &mut SocketStream,
    shared: &DeviceState,
    session: &mut ResumeState,
    stop: &CancellationToken,
) -> Result<HandshakeReply, ConnectionEnd> {
    let about = shared.metadata.clone();
    let connect = ClientMessage::from(Connect {
        v: Some(VERSION),
        session_id: None,
        device_name: about.name,
        capabilities: [capability::RESUME, capability::PROGRESS, capability::CANCEL]
            .map(str::to_owned)
            .into(),
        device_id: about.device_id,
        platform: about.platform,
        app_version: about.app_version,
        time_zone: None,
        resume_token: session.resume_token.clone(),
    });
    let exchange = async {
        sink.send(Message::Text(connect.encode().into()))
            .await
            .map_err(|error| decision_for_error(&error))?;
        read_connected(stream).await
    };
    let connected = tokio::select! {
        () = stop.cancelled() => return Err(ConnectionEnd::Requested),
        done = tokio::time::timeout(HANDSHAKE_TIMEOUT, exchange) => match done {
            Ok(answered) => answered.map_err(ConnectionEnd::Verdict)?,
            Err(_) => return Err(ConnectionEnd::Verdict(ReconnectDecision::retry("the gateway did not answer the connect message"))),
        },
    };
    if connected.v < VERSION {
        tracing::warn!(
            gateway = connected.v,
            device = VERSION,
            "the gateway speaks an older version of the protocol: calls can't be resumed, cancelled or \
             reported on until it is updated"
        );
    }
    session.resume_token = connected.resume_token;
    Ok(HandshakeReply {
        version: connected.v.min(VERSION),
        source: connected.source,
        heartbeat: connected.heartbeat_ms.filter(|ms| *ms > 0).map(Duration::from_millis),
        frame_limit: connected
            .limits
            .map_or(ConnectionLimits::default().frame_bytes, |limits| limits.frame_bytes),
    })
}

async fn read_connected(stream: &mut SocketStream) -> Result<Connected, ReconnectDecision> {
    loop {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => match GatewayMessage::decode(&text) {
                Ok(GatewayMessage::Connected(connected)) => return Ok(connected),
                Ok(GatewayMessage::Error(error)) => {
                    return Err(ReconnectDecision::retry(format!(
                        "the gateway refused the connect message: {}",
                        error.message
                    )));
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "ignored an invalid message from the gateway"),
            },
            Some(Ok(Message::Close(frame))) => return Err(decision_for_close(frame.as_ref())),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(decision_for_error(&error)),
            None => return Err(ReconnectDecision::retry("the connection was lost")),
        }
    }
}
