//! A failure in the form of the tool's own protocol. The engine passes it on unread.

use serde_json::Value;

use crate::json::RawJson;

/// A failed call as the tool's own protocol reported it.
#[derive(Debug, Clone, PartialEq)]
pub enum OriginalError {
    /// A tool result marked as failed (in MCP: `isError`), byte for byte.
    Result(RawJson),
    /// A JSON-RPC error response: the server rejected the request or could not answer it.
    JsonRpc(JsonRpcError),
}

/// The error object of a JSON-RPC 2.0 response (section 5.1).
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRpcError {
    /// The error code.
    pub code: i32,
    /// A short description.
    pub message: String,
    /// Details whose form the server defines.
    pub data: Option<Value>,
}
