//! The ends of a connection, and their close frames.

use axum::extract::ws::{CloseFrame, Message};

/// The reason for the end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The network or the peer's program failed. The peer can't read a close frame, and may come back.
    PeerGone,
    /// The peer closed the connection normally.
    Goodbye,
    /// Close with a code (RFC 6455, section 7.4; 4000 and up are Toolway's own) and a reason.
    Code(u16, String),
}

/// A frame that is not valid UTF-8.
pub(crate) const INVALID_PAYLOAD: u16 = 1007;
/// The token or a limit does not allow the connection.
pub(crate) const POLICY: u16 = 1008;
/// A frame that is too long.
pub(crate) const TOO_BIG: u16 = 1009;
/// The gateway failed.
pub(crate) const INTERNAL: u16 = 1011;
/// The gateway is shutting down; the peer may retry later.
pub(crate) const GOING_AWAY: u16 = 1001;
/// A violation of the WebSocket protocol.
pub(crate) const PROTOCOL: u16 = 1002;
/// A normal close by the peer.
const NORMAL: u16 = 1000;
/// The peer does not read, or does not answer pings.
pub(crate) const TOO_SLOW: u16 = 1013;
/// The token was revoked or has expired.
pub(crate) const TOKEN_ENDED: u16 = 4001;
/// A newer connection of the same device took over.
pub(crate) const TAKEN_OVER: u16 = 4002;

/// Maximum length of a reason, in bytes: a close frame has 125, two of them for the code.
const MAX_REASON: usize = 123;

impl CloseReason {
    pub(crate) fn with_code(code: u16, reason: impl Into<String>) -> Self {
        Self::Code(code, reason.into())
    }

    /// Returns the close frame, if the peer may still read it.
    pub(crate) fn frame(&self) -> Option<Message> {
        let Self::Code(code, reason) = self else { return None };
        let end = reason.floor_char_boundary(MAX_REASON.min(reason.len()));
        let reason = reason.get(..end).unwrap_or_default().into();
        Some(Message::Close(Some(CloseFrame { code: *code, reason })))
    }

    /// Converts a close frame of the peer: a normal end, or a failure.
    pub(crate) fn of_peer(frame: Option<&CloseFrame>) -> Self {
        match frame {
            Some(CloseFrame { code: NORMAL | GOING_AWAY, .. }) => Self::Goodbye,
            _ => Self::PeerGone,
        }
    }

    /// Converts a failed read.
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
