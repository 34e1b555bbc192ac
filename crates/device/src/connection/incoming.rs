//! What the gateway says, and what comes of it.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use toolway_types::{Code, ToolError};
use toolway_wire::GatewayMessage;
use toolway_wire::from_gateway::{ResultStatus, ToolCallRequest, ToolsRegistered};

use super::Connection;
use crate::answer::{self, Form, NO_HANDLER};
use crate::calls::Begin;
use crate::status::Registered;
use crate::stopped::Verdict;

impl Connection<'_> {
    /// Takes what the socket gave. Says so where it was the end.
    pub(super) fn hear(&mut self, message: Option<Result<Message, SocketError>>) -> Option<Verdict> {
        self.last_heard = Instant::now();
        match message {
            Some(Ok(Message::Text(text))) => self.read(&text),
            Some(Ok(Message::Ping(_))) => self.shared.calls.prune(),
            Some(Ok(Message::Binary(_))) => {
                tracing::debug!("the gateway sent a binary frame, which is ignored")
            }
            Some(Ok(Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(frame))) => return Some(verdict_of_close(frame.as_ref())),
            Some(Err(error)) => return Some(verdict_of(&error)),
            None => return Some(Verdict::retry("the connection was cut")),
        }
        None
    }

    fn read(&mut self, text: &str) {
        match GatewayMessage::decode(text) {
            Ok(GatewayMessage::ToolCallRequest(request)) => self.dispatch(request),
            Ok(GatewayMessage::ToolCallCancel(cancel)) => {
                if self.shared.calls.cancel(&cancel.id) {
                    tracing::debug!(id = %cancel.id, reason = %cancel.reason, "a call was cancelled");
                }
            }
            Ok(GatewayMessage::ResultAcknowledged(acknowledged)) => {
                if let Some(status @ (ResultStatus::Late | ResultStatus::Unknown)) = acknowledged.status {
                    tracing::debug!(id = %acknowledged.id, ?status, "a result came to nothing");
                }
                self.shared.calls.acknowledged(&acknowledged.id);
            }
            Ok(GatewayMessage::ToolsRegistered(registered)) => self.registered(registered),
            Ok(GatewayMessage::Error(error)) => {
                tracing::warn!(code = error.code, "the gateway says: {}", error.message);
            }
            Ok(other) => tracing::trace!(kind = other.kind(), "a message that is not for devices"),
            Err(error) => tracing::warn!(%error, "the gateway sent what this device does not understand"),
        }
    }

    fn dispatch(&mut self, request: ToolCallRequest) {
        let shared = self.shared;
        match shared.calls.begin(&request, self.epoch) {
            Begin::Run(call) => match shared.table().get(&request.name) {
                Some(tool) => {
                    tracing::debug!(id = %call.id, tool = %call.name, attempt = request.attempt, "a call starts");
                    tokio::spawn(crate::execute::run(
                        tool,
                        call,
                        request.args,
                        Arc::clone(&shared.turns),
                        Arc::clone(&shared.calls),
                        shared.grace,
                    ));
                }
                None => {
                    let frame = self.error(&call.id, ToolError::new(Code::ToolFailed, NO_HANDLER));
                    if let Some((_, frame)) = shared.calls.finish(&call, frame) {
                        self.unwritten.push_back(frame);
                    }
                }
            },
            Begin::Running(waiting) => self.unwritten.extend(waiting),
            Begin::Answer(frame) => self.unwritten.push_back(frame),
            Begin::Forgotten => {
                let error = ToolError::new(
                    Code::ToolFailed,
                    "This call has run once already; its result is no longer kept on the device",
                );
                let frame = self.error(&request.id, error);
                self.unwritten.push_back(frame);
            }
            Begin::TooMany => {
                let error = ToolError::new(Code::RateLimited, "Too many calls are open on this device");
                let frame = self.error(&request.id, error);
                self.unwritten.push_back(frame);
            }
        }
    }

    fn error(&self, id: &str, error: ToolError) -> tokio_tungstenite::tungstenite::Utf8Bytes {
        answer::frame(id, Err(error), Form { version: self.version, frame_limit: self.frame_limit })
    }

    fn registered(&self, message: ToolsRegistered) {
        for rejected in &message.rejected {
            tracing::warn!(tool = %rejected.name, reason = %rejected.reason, "the gateway refused a tool");
        }
        // R16: a device that is there but offers nothing would otherwise look well.
        if message.registered == 0 {
            tracing::warn!("connected, but the gateway lists no tool of this device");
        } else {
            tracing::info!(tools = message.registered, "the gateway lists the tools of this device");
        }
        self.shared.registered(Registered { live: message.registered, rejected: message.rejected.into() });
    }
}

/// What a broken socket means: it is opened anew.
pub(super) fn verdict_of(error: &SocketError) -> Verdict {
    match error {
        SocketError::ConnectionClosed
        | SocketError::AlreadyClosed
        | SocketError::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            Verdict::retry("the connection was cut")
        }
        other => Verdict::retry(format!("the connection was lost: {other}")),
    }
}

/// What the gateway's closing means.
pub(super) fn verdict_of_close(frame: Option<&CloseFrame>) -> Verdict {
    match frame {
        Some(frame) => Verdict::of_close(frame.code.into(), &frame.reason),
        None => Verdict::retry("the gateway closed the connection without a reason"),
    }
}
