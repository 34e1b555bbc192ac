//! Errors in OpenAI's format, which its libraries convert to their own exceptions.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use toolway_agent::agents::NoSuchAgent;
use toolway_agent::conversations::StartTurnError;
use toolway_agent::event::{TurnFailure, TurnFailureCode};
use toolway_types::text::{MAX_MESSAGE, shorten};

use crate::access::TokenEndReason;
use crate::http::ApiError;

/// Header that tells OpenAI's libraries whether to retry.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenAiApiError {
    pub(super) status: StatusCode,
    /// Kind of error, as named by OpenAI.
    pub(super) kind: &'static str,
    /// Code for programs.
    pub(super) code: String,
    /// Description of the error and the next step.
    pub(super) message: String,
    /// Field of the request that is invalid.
    pub(super) param: Option<String>,
    /// True if the same request may succeed later.
    is_retryable: bool,
    retry_after: Option<Duration>,
}

/// The serialized error, also used in the middle of a stream.
#[derive(Debug, Serialize)]
pub(super) struct OpenAiErrorResponse<'e> {
    error: OpenAiErrorDetail<'e>,
}

#[derive(Debug, Serialize)]
struct OpenAiErrorDetail<'e> {
    message: &'e str,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<&'e str>,
    code: &'e str,
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

impl OpenAiApiError {
    fn new(status: StatusCode, kind: &'static str, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            code: code.to_owned(),
            message: shorten(&message.into(), MAX_MESSAGE),
            param: None,
            is_retryable: false,
            retry_after: None,
        }
    }

    /// Creates an error about an invalid field of the request.
    pub(super) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        let refused = Self::new(StatusCode::BAD_REQUEST, INVALID, "invalid_value", message);
        Self { param: Some(param.into()), ..refused }
    }

    /// Creates an error about a field of the request that is not supported.
    pub(super) fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: "unsupported_parameter".to_owned(), ..Self::invalid(param, message) }
    }

    /// Creates an error about an unknown agent.
    pub(super) fn no_such_model(unknown: &NoSuchAgent) -> Self {
        let mut words = format!("The model `{}` does not exist: {unknown}", unknown.name);
        if !unknown.close.is_empty() {
            words.push_str(&format!("; did you mean {}?", unknown.close.join(" or ")));
        }
        let refused = Self::new(StatusCode::NOT_FOUND, INVALID, "model_not_found", words);
        Self { param: Some("model".to_owned()), ..refused }
    }

    pub(super) fn unknown_path(words: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, INVALID, "unknown_url", words)
    }

    pub(super) fn unknown_method(words: &str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, INVALID, "method_not_allowed", words)
    }

    /// Creates the error for a turn that was aborted.
    pub(super) fn aborted() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, SERVER, "aborted", "the turn was aborted")
    }

    /// Creates the error for a turn that ended without a final event.
    pub(super) fn turn_lost() -> Self {
        let words = "the turn was lost; see the gateway's log";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, SERVER, "internal", words)
    }

    /// Creates the error for a token that ended during the turn.
    pub(super) fn token_ended(why: TokenEndReason) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, INVALID, "invalid_api_key", why.reason())
    }

    /// Converts the failure of a turn.
    pub(super) fn from_turn_failure(why: &TurnFailure) -> Self {
        use TurnFailureCode as Code;
        let (status, kind, code, is_retryable) = match why.code {
            Code::NoModel => (StatusCode::SERVICE_UNAVAILABLE, SERVER, "no_model", false),
            Code::Auth => (StatusCode::BAD_GATEWAY, SERVER, "provider_auth", false),
            // The gateway has already retried if that made sense.
            Code::Provider => (StatusCode::BAD_GATEWAY, SERVER, "provider_failed", false),
            Code::LimitReached => (StatusCode::INTERNAL_SERVER_ERROR, SERVER, "limit_reached", false),
            Code::BudgetExceeded => {
                (StatusCode::TOO_MANY_REQUESTS, "insufficient_quota", "insufficient_quota", false)
            }
            Code::ContextTooLong => (StatusCode::BAD_REQUEST, INVALID, "context_length_exceeded", false),
            Code::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, SERVER, "shutting_down", true),
            Code::Internal => (StatusCode::INTERNAL_SERVER_ERROR, SERVER, "internal", false),
        };
        let message = with_hint(&why.message, why.hint.as_deref());
        Self { is_retryable, ..Self::new(status, kind, code, message) }
    }

    /// Returns the serializable form.
    pub(super) fn to_response(&self) -> OpenAiErrorResponse<'_> {
        let Self { message, kind, param, code, .. } = self;
        OpenAiErrorResponse { error: OpenAiErrorDetail { message, kind, param: param.as_deref(), code } }
    }
}

fn with_hint(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message} ({hint})"))
}

impl From<ApiError> for OpenAiApiError {
    fn from(error: ApiError) -> Self {
        let message = with_hint(&error.message, error.hint.as_deref());
        let (kind, code) = match error.status {
            StatusCode::UNAUTHORIZED => (INVALID, "invalid_api_key"),
            StatusCode::FORBIDDEN => ("permission_error", &*error.code),
            StatusCode::TOO_MANY_REQUESTS => ("rate_limit_error", "rate_limit_exceeded"),
            status if status.is_server_error() => (SERVER, &*error.code),
            _ => (INVALID, &*error.code),
        };
        let is_retryable = match error.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => true,
            status => status.is_server_error(),
        };
        let refused = Self::new(error.status, kind, code, message);
        Self { is_retryable, retry_after: error.retry_after, ..refused }
    }
}

impl From<StartTurnError> for OpenAiApiError {
    fn from(refused: StartTurnError) -> Self {
        match refused {
            StartTurnError::UnknownAgent(unknown) => Self::no_such_model(&unknown),
            StartTurnError::NoUserMessage | StartTurnError::EmptyContent => {
                Self::invalid("messages", refused.to_string())
            }
            refused => ApiError::from(refused).into(),
        }
    }
}

impl IntoResponse for OpenAiApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.to_response())).into_response();
        let headers = response.headers_mut();
        headers
            .insert(SHOULD_RETRY, HeaderValue::from_static(if self.is_retryable { "true" } else { "false" }));
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                headers.entry(ALLOW).or_insert(HeaderValue::from_static("GET, POST"));
            }
            _ => {}
        }
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().saturating_add(1)));
        }
        response
    }
}

#[cfg(test)]
mod tests;
