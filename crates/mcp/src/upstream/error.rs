//! Errors of requests to a server.

use std::time::Duration;

use http::StatusCode;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use toolway_types::{Code, JsonRpcError, OriginalError, ToolError};

use super::status::UpstreamProblem;

/// The reason why a request to a server has no result. Texts of the server are unchanged.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum UpstreamError {
    /// The server is not connected.
    #[error("it is not connected: {0}")]
    NotConnected(String),
    /// The server is unreachable. Nothing was sent.
    #[error("it could not be reached: {0}")]
    Unreachable(String),
    /// The connection broke before the response.
    #[error("the connection to it was lost: {0}")]
    ConnectionLost(String),
    /// The server does not know the MCP session any more. The request did not run.
    #[error("its session has ended{}", detail(.0))]
    SessionExpired(String),
    /// The server requires a login by the owner.
    #[error("it wants a login{}", detail(.0))]
    NeedsLogin(String),
    /// The gateway gets no token that needs no person.
    #[error("there is no access token for it{}", detail(.0))]
    NoToken(String),
    /// The server responded with an error status.
    #[error("it answered with HTTP status {}{}", .0.as_u16(), detail(.1))]
    Status(StatusCode, String),
    /// The server responded with a JSON-RPC error.
    #[error("{} (MCP error {})", .0.message, .0.code.0)]
    RpcError(ErrorData),
    /// A message of the server is too large.
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
    /// A message of the server is not valid MCP.
    #[error("{0}")]
    Malformed(String),
    /// The server did not respond in time.
    #[error("it did not answer within {0:?}")]
    TimedOut(Duration),
    /// The definition of the server is invalid.
    #[error("{0}")]
    InvalidDefinition(String),
}

/// Code of the JSON-RPC error for an unknown session in the official SDKs.
const SESSION_NOT_FOUND: i32 = -32001;

/// Returns true if an error response refuses the session of its request. MCP has 404 for this (2025-11-25, "Session
/// management"), but some servers use other codes.
fn refuses_session(status: StatusCode, text: &str) -> bool {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => true,
        // Another session would not help.
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => false,
        status if status.is_client_error() => names_session(text) || lacks_initialize(text),
        _ => false,
    }
}

fn names_session(text: &str) -> bool {
    text.to_ascii_lowercase().contains("session")
}

/// Returns true if the server has forgotten that the session was initialized.
fn lacks_initialize(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["not initialized", "before initialization", "not been initialized"]
        .iter()
        .any(|words| text.contains(words))
}

fn no_token_hint(server: &str) -> String {
    format!("check oauth in the definition of {server}; `toolway mcp login {server}` tests it")
}

fn detail(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

impl UpstreamError {
    /// An answer that can't be read. `reason` describes the problem.
    pub(super) fn unreadable_answer(reason: &str) -> Self {
        Self::Malformed(format!("its answer can't be read: {reason}"))
    }

    /// Converts the refusal of an MCP session that worked before. `is_http_error` is false if the HTTP status was a
    /// success, so that only the error itself tells that nothing has run.
    pub(super) fn or_lost_session(self, is_http_error: bool) -> Self {
        let (text, is_lost) = match &self {
            Self::Status(status, text) => (text.as_str(), refuses_session(*status, text)),
            Self::NeedsLogin(text) => (text.as_str(), names_session(text)),
            Self::RpcError(error) => {
                let text = error.message.as_ref();
                let is_lost = (is_http_error || error.code.0 == SESSION_NOT_FOUND) && names_session(text);
                (text, is_lost || lacks_initialize(text))
            }
            _ => return self,
        };
        if is_lost { Self::SessionExpired(text.to_owned()) } else { self }
    }

    /// Returns true if the request can't have run.
    pub(super) fn is_safe_to_retry(&self) -> bool {
        match self {
            Self::NotConnected(_)
            | Self::Unreachable(_)
            | Self::SessionExpired(_)
            | Self::NeedsLogin(_)
            | Self::NoToken(_)
            | Self::InvalidDefinition(_) => true,
            Self::Status(status, _) => {
                matches!(status.as_u16(), 400..=407 | 410..=417 | 421..=426 | 428 | 429 | 503)
            }
            Self::ConnectionLost(_)
            | Self::RpcError(_)
            | Self::TooLarge(_)
            | Self::Malformed(_)
            | Self::TimedOut(_) => false,
        }
    }

    /// Converts the error to the outcome of a tool call.
    pub(super) fn into_tool_error(self, server: &str) -> ToolError {
        let dispatched = !self.is_safe_to_retry();
        let (code, hint) = match &self {
            Self::NotConnected(_) | Self::ConnectionLost(_) | Self::SessionExpired(_) => (
                Code::DeviceDisconnected,
                Some(format!("`toolway mcp test {server}` shows what is wrong with it")),
            ),
            Self::Unreachable(_) => (Code::Network, None),
            Self::NeedsLogin(_) => (Code::AuthRequired, Some(format!("run: toolway mcp login {server}"))),
            Self::NoToken(_) => (Code::AuthRequired, Some(no_token_hint(server))),
            Self::Status(StatusCode::TOO_MANY_REQUESTS, _) => (Code::RateLimited, None),
            Self::Status(..) => (Code::HttpStatus, None),
            Self::RpcError(error) if error.code == ErrorCode::INVALID_PARAMS => (Code::ToolFailed, None),
            Self::RpcError(_) | Self::Malformed(_) | Self::InvalidDefinition(_) => (Code::ToolFailed, None),
            Self::TooLarge(_) => (Code::OutputTooLarge, Some("Ask for less at a time".to_owned())),
            Self::TimedOut(_) => (Code::Timeout, None),
        };
        let message = match &self {
            // The server's own message comes first, because a model may know what to do.
            Self::RpcError(_) => self.to_string(),
            _ => format!("The MCP server {server} gave no result: {self}"),
        };
        let mut error = ToolError::new(code, message).with_dispatched(dispatched);
        error.hint = hint;
        match self {
            Self::RpcError(ErrorData { code, message, data }) => {
                error.with_original(OriginalError::JsonRpc(JsonRpcError {
                    code: code.0,
                    message: message.into_owned(),
                    data,
                }))
            }
            _ => error,
        }
    }

    /// Converts the error to a response to an MCP client.
    pub(super) fn into_error_data(self, server: &str) -> ErrorData {
        match self {
            Self::RpcError(error) => error,
            other => {
                ErrorData::internal_error(format!("the MCP server {server} gave no result: {other}"), None)
            }
        }
    }

    /// Converts the error to a problem for the owner.
    pub(super) fn to_problem(&self, server: &str) -> UpstreamProblem {
        let hint = match self {
            Self::NeedsLogin(_) => Some(format!("run: toolway mcp login {server}")),
            Self::NoToken(_) => Some(no_token_hint(server)),
            Self::Unreachable(_) => Some("check the address, and that the server is running".to_owned()),
            Self::Status(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, _) => {
                Some("check that the address is that of an MCP server; many end in /mcp".to_owned())
            }
            Self::Status(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => {
                Some("check the key in its headers".to_owned())
            }
            Self::TimedOut(_) => Some("check that it is an MCP server, and read its log".to_owned()),
            _ => None,
        };
        UpstreamProblem { message: self.to_string(), hint }
    }
}
