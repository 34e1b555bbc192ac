//! Messages between the gateway, devices and chat clients: JSON objects in WebSocket text frames, tagged by
//! `type`. This is the one place that knows the bytes; there is no behaviour here.
//!
//! Version 1 is what existing clients speak; version 2 adds messages and fields. Which version a message or
//! field belongs to is said where it is defined, and a version 1 peer can ignore all that is newer.

pub mod client_message;
pub mod codec;
pub mod gateway_message;
pub mod limits;
pub mod pairing;
#[cfg(feature = "schema")]
pub mod schema;

pub use client_message::ClientMessage;
pub use codec::{FrameError, MAX_DEPTH};
pub use gateway_message::GatewayMessage;

/// The newest version of the protocol.
pub const VERSION: u32 = 2;
/// The subprotocol that agrees version 2 at the upgrade.
pub const SUBPROTOCOL_V2: &str = "toolway.v2";
/// Header of the answer at `/ws/mcp`: the longest message that is taken there, in bytes.
pub const MAX_MESSAGE_BYTES_HEADER: &str = "toolway-message-bytes";
/// The subprotocol that stands for version 1.
pub const SUBPROTOCOL_V1: &str = "clawseed.v1";
/// A subprotocol that starts so carries the token; it is never echoed.
pub const SUBPROTOCOL_BEARER: &str = "bearer.";
/// `connected.message`, to the letter that version 1 clients know.
pub const CONNECTED_MESSAGE: &str = "Connection established";

/// What a peer may say it can do in `connect.capabilities`.
pub mod capability {
    /// Reconnects with its resume token and remembers which calls it has run.
    pub const RESUME: &str = "resume";
    /// Sends `tool_progress`.
    pub const PROGRESS: &str = "progress";
    /// Stops a call on `tool_call_cancel`.
    pub const CANCEL: &str = "cancel";
}

/// The `code` of `error` messages. Those of version 1 keep their names; new ones are added.
pub mod error_code {
    /// The session belongs to another principal.
    pub const SESSION_OWNER_MISMATCH: &str = "SESSION_OWNER_MISMATCH";
    /// The session could not be bound to this connection.
    pub const SESSION_BIND_FAILED: &str = "SESSION_BIND_FAILED";
    /// The agent could not be made; the socket closes with 1011.
    pub const AGENT_INIT_FAILED: &str = "AGENT_INIT_FAILED";
    /// The frame is not a JSON object.
    pub const INVALID_JSON: &str = "INVALID_JSON";
    /// A `message` without text.
    pub const EMPTY_CONTENT: &str = "EMPTY_CONTENT";
    /// No such `type`.
    pub const UNKNOWN_MESSAGE_TYPE: &str = "UNKNOWN_MESSAGE_TYPE";
    /// Nothing to regenerate.
    pub const NO_USER_MESSAGE: &str = "NO_USER_MESSAGE";
    /// A turn is already running.
    pub const SESSION_BUSY: &str = "SESSION_BUSY";
    /// The model provider refused the key.
    pub const AUTH_ERROR: &str = "AUTH_ERROR";
    /// The model provider failed.
    pub const PROVIDER_ERROR: &str = "PROVIDER_ERROR";
    /// The agent failed.
    pub const AGENT_ERROR: &str = "AGENT_ERROR";
    /// A field of a known message has the wrong form (since 2).
    pub const INVALID_MESSAGE: &str = "INVALID_MESSAGE";
    /// The role of the token does not allow this message (since 2).
    pub const FORBIDDEN: &str = "FORBIDDEN";
    /// A limit of the gateway was passed (since 2).
    pub const LIMIT_EXCEEDED: &str = "LIMIT_EXCEEDED";
    /// A new source could not be stored, so the connection has none; it closes with 1011 (since 2).
    pub const SOURCE_NOT_STORED: &str = "SOURCE_NOT_STORED";
    /// No model is configured, so nothing can answer a `message` (since 2).
    pub const NO_MODEL: &str = "NO_MODEL";

    /// Every code.
    pub const ALL: &[&str] = &[
        SESSION_OWNER_MISMATCH,
        SESSION_BIND_FAILED,
        AGENT_INIT_FAILED,
        INVALID_JSON,
        EMPTY_CONTENT,
        UNKNOWN_MESSAGE_TYPE,
        NO_USER_MESSAGE,
        SESSION_BUSY,
        AUTH_ERROR,
        PROVIDER_ERROR,
        AGENT_ERROR,
        INVALID_MESSAGE,
        FORBIDDEN,
        LIMIT_EXCEEDED,
        SOURCE_NOT_STORED,
        NO_MODEL,
    ];
}
