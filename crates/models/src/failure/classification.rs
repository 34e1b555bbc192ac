//! Classification of errors by status, codes and, for providers without codes, known phrases.

use http::StatusCode;

use super::provider_error::ProviderErrorBody;
use crate::error::ModelErrorKind;

/// Class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FailureClass {
    pub(super) kind: ModelErrorKind,
    pub(super) cause: FailureCause,
    /// The same request may succeed later.
    pub(super) is_retryable: bool,
}

/// Cause of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureCause {
    Key,
    Quota,
    Model,
    Address,
    Rate,
    Overload,
    Context,
    Size,
    Request,
}

impl FailureClass {
    fn new(topic: FailureCause) -> Self {
        use ModelErrorKind as Kind;
        let (kind, again) = match topic {
            FailureCause::Key => (Kind::Auth, false),
            FailureCause::Quota => (Kind::RateLimited, false),
            FailureCause::Model => (Kind::ModelNotFound, false),
            FailureCause::Rate => (Kind::RateLimited, true),
            FailureCause::Overload => (Kind::Overloaded, true),
            FailureCause::Context => (Kind::ContextTooLong, false),
            FailureCause::Address | FailureCause::Size | FailureCause::Request => {
                (Kind::InvalidRequest, false)
            }
        };
        Self { kind, cause: topic, is_retryable: again }
    }

    /// Returns a description.
    pub(super) fn description(self, model: &str) -> String {
        let words = match self.cause {
            FailureCause::Key => "refused the key",
            FailureCause::Quota => "the credit or quota of the account is used up",
            FailureCause::Model if model.is_empty() => "does not have the model",
            FailureCause::Model => return format!("does not have the model {model:?}"),
            FailureCause::Address => "has no API at this address",
            FailureCause::Rate => "the rate limit is exceeded",
            FailureCause::Overload => "failed or is overloaded",
            FailureCause::Context => "the conversation exceeds the model's context window",
            FailureCause::Size => "the request is too large",
            FailureCause::Request => "refused the request",
        };
        words.to_owned()
    }
}

/// Parts of messages for a too long conversation, for providers without a code for this error (OpenAI and vLLM,
/// Anthropic twice, Gemini, xAI, Mistral, Groq, llama.cpp, LM Studio twice, Together).
const CONTEXT_WORDS: &[&str] = &[
    "maximum context length",
    "prompt is too long",
    "exceed context limit",
    "exceeds the maximum number of tokens allowed",
    "maximum prompt length is",
    "too large for model with",
    "reduce the length of the messages",
    "exceeds the available context size",
    "greater than the context length",
    "context size has been exceeded",
    "tokens + `max_new_tokens` must be",
];
const CONTEXT_CODES: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "model_context_window_exceeded",
];

const QUOTA_CODES: &[&str] =
    &["insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"];
const QUOTA_WORDS: &[&str] = &["credit balance is too low", "insufficient balance", "insufficient credits"];

const KEY_CODES: &[&str] = &[
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "unauthenticated",
    "permission_denied",
    "api_key_invalid",
];
const KEY_WORDS: &[&str] = &["api key not valid", "incorrect api key", "invalid api key", "api key expired"];

const MODEL_WORDS: &[&str] =
    &["not found", "does not exist", "not exist", "invalid model", "not a valid model", "no such model"];

/// Codes for whatever is not there.
const NOT_FOUND_CODES: &[&str] = &["not_found_error", "not_found"];

const RATE_CODES: &[&str] =
    &["rate_limit_exceeded", "rate_limit_error", "rate_limited", "resource_exhausted", "too_many_requests"];

const OVERLOAD_CODES: &[&str] = &[
    "overloaded_error",
    "overloaded",
    "server_error",
    "internal_server_error",
    "api_error",
    "timeout_error",
    "service_unavailable",
    "unavailable",
    "internal",
    "deadline_exceeded",
    "engine_overloaded",
    "vector_store_timeout",
];

/// Classifies an error. Specific causes come first, because their codes occur with several statuses.
pub(super) fn classify(status: Option<StatusCode>, said: &ProviderErrorBody) -> FailureClass {
    let status = status.map_or(0, |status| status.as_u16());
    let message = said.message.to_ascii_lowercase();
    let coded = |codes: &[&str]| codes.iter().any(|code| said.has_code(code));
    let worded = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let topic = if coded(QUOTA_CODES) || status == 402 || worded(QUOTA_WORDS) {
        FailureCause::Quota
    } else if coded(RATE_CODES) || status == 429 {
        FailureCause::Rate
    } else if coded(CONTEXT_CODES) || worded(CONTEXT_WORDS) {
        FailureCause::Context
    } else if status == 401 || status == 403 || coded(KEY_CODES) || worded(KEY_WORDS) {
        FailureCause::Key
    } else if said.has_code("model_not_found")
        || (names_model(status, &message) && (worded(MODEL_WORDS) || coded(NOT_FOUND_CODES)))
    {
        FailureCause::Model
    } else if status == 404 || status == 405 {
        FailureCause::Address
    } else if status == 413 || said.has_code("request_too_large") {
        FailureCause::Size
    } else if coded(OVERLOAD_CODES) || is_transient_status(status) || message.contains("overloaded") {
        FailureCause::Overload
    } else if status == 0 && said.codes.is_empty() {
        // In the middle of an answer, with nothing that says whose fault it is.
        FailureCause::Overload
    } else {
        FailureCause::Request
    };
    FailureClass::new(topic)
}

fn names_model(status: u16, message: &str) -> bool {
    matches!(status, 0 | 400 | 404 | 422) && message.contains("model")
}

/// Returns whether a status is temporary.
fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 409 | 425) || (status >= 500 && status != 501 && status != 505)
}
