//! Errors in each API's format: as a response, and as an event in a stream.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::api::ApiKind;
use crate::failure::{ScriptedFailure, ScriptedFailureKind};

/// An error of an API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProviderApiError {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// OpenAI: the invalid field.
    pub(crate) param: Option<String>,
    /// OpenAI: the code. Gemini: the reason in `details`.
    pub(crate) code: Option<String>,
    /// Anthropic and OpenAI: the type, if the status does not determine it.
    pub(crate) kind: Option<&'static str>,
    pub(crate) retry_after: Option<f64>,
}

impl ProviderApiError {
    /// Creates an error for an invalid request.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None, kind: None, retry_after: None }
    }

    pub(crate) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(crate) fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Creates the API's form of a scripted failure.
    pub(crate) fn scripted(api: ApiKind, failure: &ScriptedFailure) -> Self {
        let mut error = match failure.kind {
            Some(ScriptedFailureKind::ContextTooLong) => context_too_long(api),
            Some(ScriptedFailureKind::QuotaUsedUp) => quota_used_up(api),
            None => Self::new(failure.status, usual_message(api, failure.status)),
        };
        error.status = failure.status;
        if failure.kind.is_none() && matches!(api, ApiKind::Openai | ApiKind::OpenaiResponses) {
            error.code = match failure.status {
                401 => Some("invalid_api_key".to_owned()),
                404 => Some("model_not_found".to_owned()),
                429 => Some("rate_limit_exceeded".to_owned()),
                _ => None,
            };
        }
        if let Some(message) = &failure.message {
            error.message.clone_from(message);
        }
        error.retry_after = failure.retry_after;
        error
    }

    /// Returns the body of a response with this error.
    pub(crate) fn body(&self, api: ApiKind) -> Value {
        match api {
            ApiKind::Openai | ApiKind::OpenaiResponses | ApiKind::Compatible => json!({"error": {
                "message": self.message,
                "type": self.openai_type(),
                "param": self.param,
                "code": self.code,
            }}),
            ApiKind::Anthropic => {
                let error = json!({"type": self.anthropic_type(), "message": self.message});
                json!({"type": "error", "error": error, "request_id": "req_011CFakeModels"})
            }
            ApiKind::Gemini => {
                let mut error = json!({
                    "code": self.status, "message": self.message, "status": self.gemini_status()
                });
                let details = self.gemini_details();
                if !details.is_empty() {
                    error["details"] = Value::Array(details);
                }
                json!({"error": error})
            }
        }
    }

    /// Returns the stream event with this error.
    pub(crate) fn event(&self, api: ApiKind, sequence: u64) -> String {
        match api {
            ApiKind::Openai | ApiKind::Compatible => format!("data: {}\n\n", self.body(api)),
            ApiKind::OpenaiResponses => {
                let code = self.code.clone().unwrap_or_else(|| self.openai_type().to_owned());
                let event = json!({
                    "type": "error", "code": code, "message": self.message, "param": self.param,
                    "sequence_number": sequence,
                });
                format!("event: error\ndata: {event}\n\n")
            }
            ApiKind::Anthropic => format!("event: error\ndata: {}\n\n", self.body(api)),
            ApiKind::Gemini => format!("data: {}\r\n\r\n", self.body(api)),
        }
    }

    pub(crate) fn http_status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn openai_type(&self) -> &'static str {
        self.kind.unwrap_or(match self.status {
            429 => "requests",
            500.. => "server_error",
            _ => "invalid_request_error",
        })
    }

    fn anthropic_type(&self) -> &'static str {
        self.kind.unwrap_or(match self.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        })
    }

    fn gemini_status(&self) -> &'static str {
        match self.status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            499 => "CANCELLED",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            500.. => "INTERNAL",
            _ => "INVALID_ARGUMENT",
        }
    }

    fn gemini_details(&self) -> Vec<Value> {
        let mut details = Vec::new();
        if let Some(reason) = &self.code {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason, "domain": "googleapis.com",
                "metadata": {"service": "generativelanguage.googleapis.com"},
            }));
        }
        if let Some(seconds) = self.retry_after {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s"),
            }));
        }
        details
    }
}

fn context_too_long(api: ApiKind) -> ProviderApiError {
    match api {
        ApiKind::Openai | ApiKind::OpenaiResponses | ApiKind::Compatible => ProviderApiError::invalid(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        )
        .code("context_length_exceeded")
        .param(if api == ApiKind::OpenaiResponses { "input" } else { "messages" }),
        ApiKind::Anthropic => ProviderApiError::invalid("prompt is too long: 208310 tokens > 200000 maximum"),
        ApiKind::Gemini => ProviderApiError::invalid(
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
    }
}

fn quota_used_up(api: ApiKind) -> ProviderApiError {
    match api {
        ApiKind::Openai | ApiKind::OpenaiResponses | ApiKind::Compatible => {
            let mut error = ProviderApiError::new(
                429,
                "You exceeded your current quota, please check your plan and billing details.",
            )
            .code("insufficient_quota");
            error.kind = Some("insufficient_quota");
            error
        }
        ApiKind::Anthropic => {
            ProviderApiError::invalid("Your credit balance is too low to access the Anthropic API.")
        }
        ApiKind::Gemini => ProviderApiError::new(
            429,
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    }
}

fn usual_message(api: ApiKind, status: u16) -> &'static str {
    match (api, status) {
        (ApiKind::Anthropic, 529) => "Overloaded",
        (ApiKind::Anthropic, 500) => "Internal server error",
        (ApiKind::Anthropic, 429) => "This request would exceed your organization's rate limit.",
        (ApiKind::Anthropic, 401) => "invalid x-api-key",
        (ApiKind::Gemini, 503) => "The model is overloaded. Please try again later.",
        (ApiKind::Gemini, 429) => "Resource has been exhausted (e.g. check quota).",
        (ApiKind::Gemini, 401) => "Request had invalid authentication credentials.",
        (ApiKind::Gemini, 500) => "An internal error has occurred. Please retry.",
        (_, 401) => "Incorrect API key provided.",
        (_, 403) => "You are not allowed to do this.",
        (_, 404) => "The model does not exist or you do not have access to it.",
        (_, 429) => "Rate limit reached for requests.",
        (_, 500..) => "The server had an error while processing your request. Sorry about that!",
        _ => "The request could not be used.",
    }
}
