//! How a connection ends, and what its peer is told.

use axum::extract::ws::{CloseFrame, Message};

/// Why a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The peer's network closed, or its program broke off: there is nobody to tell, and it may come back.
    PeerGone,
    /// The peer said that it is done.
    Goodbye,
    /// Close with a code (RFC 6455, section 7.4; 4000 and up are Toolway's own) and a reason.
    Code(u16, String),
}

/// A frame that is not valid UTF-8.
pub(crate) const INVALID_PAYLOAD: u16 = 1007;
/// What the token may not do, or a limit on whole connections.
pub(crate) const POLICY: u16 = 1008;
/// A frame that is too long.
pub(crate) const TOO_BIG: u16 = 1009;
/// Something failed here.
pub(crate) const INTERNAL: u16 = 1011;
/// Going down; come back later.
pub(crate) const GOING_AWAY: u16 = 1001;
/// Against the WebSocket protocol.
pub(crate) const PROTOCOL: u16 = 1002;
/// A peer's own goodbye.
const NORMAL: u16 = 1000;
/// The peer does not read what it is sent, or does not answer pings.
pub(crate) const TOO_SLOW: u16 = 1013;
/// The token was revoked or has expired.
pub(crate) const TOKEN_ENDED: u16 = 4001;
/// A newer connection of the same device took over.
pub(crate) const TAKEN_OVER: u16 = 4002;

/// Longest reason, in bytes: a close frame holds 125, two of them the code.
const MAX_REASON: usize = 123;

impl CloseReason {
    pub(crate) fn with_code(code: u16, reason: impl Into<String>) -> Self {
        Self::Code(code, reason.into())
    }

    /// The frame, where there is somebody to tell.
    pub(crate) fn frame(&self) -> Option<Message> {
        let Self::Code(code, reason) = self else { return None };
        let end = reason.floor_char_boundary(MAX_REASON.min(reason.len()));
        let reason = reason.get(..end).unwrap_or_default().into();
        Some(Message::Close(Some(CloseFrame { code: *code, reason })))
    }

    /// What the peer's own close says of it: whether it left, or fell over.
    pub(crate) fn of_peer(frame: Option<&CloseFrame>) -> Self {
        match frame {
            Some(CloseFrame { code: NORMAL | GOING_AWAY, .. }) => Self::Goodbye,
            _ => Self::PeerGone,
        }
    }

    /// What a failed read says of the peer.
    pub(crate) fn of_read_error(error: axum::Error) -> Self {
        use tokio_tungstenite::tungstenite::Error;
        let error = error.into_inner();
        match error.downcast_ref::<Error>() {
            Some(Error::Capacity(what)) => Self::with_code(TOO_BIG, format!("the frame is too long: {what}")),
            Some(Error::Utf8(_)) => Self::with_code(INVALID_PAYLOAD, "a text frame is not valid UTF-8"),
            Some(Error::Protocol(what)) => Self::with_code(PROTOCOL, what.to_string()),
            _ => Self::PeerGone,
        }
    }
}
