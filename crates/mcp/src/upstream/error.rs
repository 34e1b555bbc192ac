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
    #[error("its session has ended")]
    SessionExpired,
    /// The server requires a login by the owner.
    #[error("it wants a login{}", detail(.0))]
    NeedsLogin(String),
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

fn detail(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

impl UpstreamError {
    /// Returns true if the request can't have run.
    pub(super) fn is_safe_to_retry(&self) -> bool {
        match self {
            Self::NotConnected(_)
            | Self::Unreachable(_)
            | Self::SessionExpired
            | Self::NeedsLogin(_)
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
            Self::NotConnected(_) | Self::ConnectionLost(_) | Self::SessionExpired => (
                Code::DeviceDisconnected,
                Some(format!("`toolway mcp test {server}` shows what is wrong with it")),
            ),
            Self::Unreachable(_) => (Code::Network, None),
            Self::NeedsLogin(_) => (Code::AuthRequired, Some(format!("run: toolway mcp login {server}"))),
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
