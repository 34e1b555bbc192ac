//! Messages between the gateway, devices and chat clients: JSON objects in WebSocket text frames, tagged by
//! `type`. Only this crate knows the bytes. It has no behavior.
//!
//! Existing clients use version 1; version 2 adds messages and fields. Each message and field newer than
//! version 1 names its version. A version 1 peer can ignore all of them.

pub mod client_message;
pub mod codec;
pub mod gateway_message;
pub mod limits;
pub mod pairing;
#[cfg(feature = "schema")]
pub mod schema;

pub use client_message::ClientMessage;
pub use codec::{FrameError, MAX_DEPTH, UndecodedFrame};
pub use gateway_message::GatewayMessage;

/// Newest version of the protocol.
pub const VERSION: u32 = 2;
/// WebSocket subprotocol for version 2.
pub const SUBPROTOCOL_V2: &str = "toolway.v2";
/// Response header of `/ws/mcp`: maximum size of a message, in bytes.
pub const MAX_MESSAGE_BYTES_HEADER: &str = "toolway-message-bytes";
/// Request header of HTTP requests and of `/ws/mcp`: the client's time zone, as a name of the IANA database.
pub const TIME_ZONE_HEADER: &str = "toolway-time-zone";
/// WebSocket subprotocol for version 1.
pub const SUBPROTOCOL_V1: &str = "clawseed.v1";
/// Prefix of a subprotocol that carries the token. The gateway never echoes it.
pub const SUBPROTOCOL_BEARER: &str = "bearer.";
/// Text of `connected.message`, exactly as version 1 clients expect it.
pub const CONNECTED_MESSAGE: &str = "Connection established";

/// Values of `connect.capabilities`.
pub mod capability {
    /// The peer reconnects with its resume token and remembers the calls it has run.
    pub const RESUME: &str = "resume";
    /// The peer sends `tool_progress`.
    pub const PROGRESS: &str = "progress";
    /// The peer stops a call on `tool_call_cancel`.
    pub const CANCEL: &str = "cancel";
}

/// Codes of `error` messages. The names from version 1 never change; new codes are added.
pub mod error_code {
    /// The session belongs to another principal.
    pub const SESSION_OWNER_MISMATCH: &str = "SESSION_OWNER_MISMATCH";
    /// The session could not be bound to this connection.
    pub const SESSION_BIND_FAILED: &str = "SESSION_BIND_FAILED";
    /// The agent could not be created; the socket closes with 1011.
    pub const AGENT_INIT_FAILED: &str = "AGENT_INIT_FAILED";
    /// The frame is not a JSON object.
    pub const INVALID_JSON: &str = "INVALID_JSON";
    /// The `message` has no text.
    pub const EMPTY_CONTENT: &str = "EMPTY_CONTENT";
    /// The `type` is unknown.
    pub const UNKNOWN_MESSAGE_TYPE: &str = "UNKNOWN_MESSAGE_TYPE";
    /// The session has no message to answer again.
    pub const NO_USER_MESSAGE: &str = "NO_USER_MESSAGE";
    /// A turn is already running.
    pub const SESSION_BUSY: &str = "SESSION_BUSY";
    /// The model provider refused the key.
    pub const AUTH_ERROR: &str = "AUTH_ERROR";
    /// The model provider failed.
    pub const PROVIDER_ERROR: &str = "PROVIDER_ERROR";
    /// The agent failed.
    pub const AGENT_ERROR: &str = "AGENT_ERROR";
    /// A field of a known message has the wrong form. Since 2.
    pub const INVALID_MESSAGE: &str = "INVALID_MESSAGE";
    /// The token's role does not allow this message. Since 2.
    pub const FORBIDDEN: &str = "FORBIDDEN";
    /// A limit of the gateway was exceeded. Since 2.
    pub const LIMIT_EXCEEDED: &str = "LIMIT_EXCEEDED";
    /// A new source could not be stored, so the connection has none; it closes with 1011. Since 2.
    pub const SOURCE_NOT_STORED: &str = "SOURCE_NOT_STORED";
    /// No model is configured, so nothing can answer a `message`. Since 2.
    pub const NO_MODEL: &str = "NO_MODEL";

    /// All codes.
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
