//! Handles messages from the gateway.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use toolway_types::{Code, ToolError};
use toolway_wire::GatewayMessage;
use toolway_wire::gateway_message::{ResultStatus, ToolCallRequest, ToolsRegistered};

use super::ConnectionTask;
use crate::call_table::CallAdmission;
use crate::error::ReconnectDecision;
use crate::result_frame::{self, FrameFormat, NO_HANDLER};
use crate::status::RegisteredTools;

impl ConnectionTask<'_> {
    /// Handles a WebSocket message. Returns a decision if it ended the connection.
    pub(super) fn handle_message(
        &mut self,
        message: Option<Result<Message, SocketError>>,
    ) -> Option<ReconnectDecision> {
        self.last_heard = Instant::now();
        match message {
            Some(Ok(Message::Text(text))) => self.handle_text(&text),
            Some(Ok(Message::Ping(_))) => self.shared.calls.prune(),
            Some(Ok(Message::Binary(_))) => {
                tracing::debug!("ignored a binary frame from the gateway")
            }
            Some(Ok(Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(frame))) => return Some(decision_for_close(frame.as_ref())),
            Some(Err(error)) => return Some(decision_for_error(&error)),
            None => return Some(ReconnectDecision::retry("the connection was lost")),
        }
        None
    }

    fn handle_text(&mut self, text: &str) {
        match GatewayMessage::decode(text) {
            Ok(GatewayMessage::ToolCallRequest(request)) => self.dispatch(request),
            Ok(GatewayMessage::ToolCallCancel(cancel)) => {
                if self.shared.calls.cancel(&cancel.id) {
                    tracing::debug!(id = %cancel.id, reason = %cancel.reason, "a call was cancelled");
                }
            }
            Ok(GatewayMessage::ResultAcknowledged(acknowledged)) => {
                if let Some(status @ (ResultStatus::Late | ResultStatus::Unknown)) = acknowledged.status {
                    tracing::debug!(id = %acknowledged.id, ?status, "the gateway did not use a result");
                }
                self.shared.calls.acknowledge(&acknowledged.id);
            }
            Ok(GatewayMessage::ToolsRegistered(registered)) => self.handle_tools_registered(registered),
            Ok(GatewayMessage::Error(error)) => {
                tracing::warn!(code = error.code, "error from the gateway: {}", error.message);
            }
            Ok(other) => tracing::trace!(kind = other.kind(), "ignored a message that is not for devices"),
            Err(error) => tracing::warn!(%error, "ignored an invalid message from the gateway"),
        }
    }

    fn dispatch(&mut self, request: ToolCallRequest) {
        let shared = self.shared;
        match shared.calls.begin(&request, self.epoch) {
            CallAdmission::Run(call) => match shared.current_tools().get(&request.name) {
                Some(tool) => {
                    tracing::debug!(id = %call.id, tool = %call.name, attempt = request.attempt, "a call starts");
                    tokio::spawn(crate::execution::run(
                        tool,
                        call,
                        request.args,
                        Arc::clone(&shared.limiter),
                        Arc::clone(&shared.calls),
                        shared.grace,
                    ));
                }
                None => {
                    let frame = self.error_frame(&call.id, ToolError::new(Code::ToolFailed, NO_HANDLER));
                    if let Some((_, frame)) = shared.calls.finish(&call, frame) {
                        self.unwritten.push_back(frame);
                    }
                }
            },
            CallAdmission::Running(waiting) => self.unwritten.extend(waiting),
            CallAdmission::Cached(frame) => self.unwritten.push_back(frame),
            CallAdmission::ResultDropped => {
                let error = ToolError::new(
                    Code::ToolFailed,
                    "This call has already run; its result is no longer stored on the device",
                );
                let frame = self.error_frame(&request.id, error);
                self.unwritten.push_back(frame);
            }
            CallAdmission::TooManyCalls => {
                let error = ToolError::new(Code::RateLimited, "Too many calls are open on this device");
                let frame = self.error_frame(&request.id, error);
                self.unwritten.push_back(frame);
            }
        }
    }

    fn error_frame(&self, id: &str, error: ToolError) -> tokio_tungstenite::tungstenite::Utf8Bytes {
        result_frame::result_frame(
            id,
            Err(error),
            FrameFormat { version: self.version, frame_limit: self.frame_limit },
        )
    }

    fn handle_tools_registered(&self, message: ToolsRegistered) {
        for rejected in &message.rejected {
            tracing::warn!(tool = %rejected.name, reason = %rejected.reason, "the gateway refused a tool");
        }
        // Pitfall R16: without this warning, a connected device without tools would look healthy.
        if message.registered == 0 {
            tracing::warn!("connected, but the gateway lists no tool of this device");
        } else {
            tracing::info!(tools = message.registered, "the gateway lists the tools of this device");
        }
        self.shared.set_registered_tools(RegisteredTools {
            live: message.registered,
            rejected: message.rejected.into(),
        });
    }
}

/// Converts a socket error to a decision: reconnect.
pub(super) fn decision_for_error(error: &SocketError) -> ReconnectDecision {
    match error {
        SocketError::ConnectionClosed
        | SocketError::AlreadyClosed
        | SocketError::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            ReconnectDecision::retry("the connection was lost")
        }
        other => ReconnectDecision::retry(format!("the connection was lost: {other}")),
    }
}

/// Converts the gateway's close frame to a decision.
pub(super) fn decision_for_close(frame: Option<&CloseFrame>) -> ReconnectDecision {
    match frame {
        Some(frame) => ReconnectDecision::from_close(frame.code.into(), &frame.reason),
        None => ReconnectDecision::retry("the gateway closed the connection without a reason"),
    }
}
