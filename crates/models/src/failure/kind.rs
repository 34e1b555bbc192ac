//! Which kind of failure it is, told by status, codes, and, where providers have no code for it, by words of
//! theirs that are known.

use http::StatusCode;

use super::said::Said;
use crate::error::ModelErrorKind;

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) kind: ModelErrorKind,
    pub(super) topic: Topic,
    /// Whether the same request may succeed later.
    pub(super) again: bool,
}

/// What it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
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

impl Meaning {
    fn new(topic: Topic) -> Self {
        use ModelErrorKind as Kind;
        let (kind, again) = match topic {
            Topic::Key => (Kind::Auth, false),
            Topic::Quota => (Kind::RateLimited, false),
            Topic::Model => (Kind::ModelNotFound, false),
            Topic::Rate => (Kind::RateLimited, true),
            Topic::Overload => (Kind::Overloaded, true),
            Topic::Context => (Kind::ContextTooLong, false),
            Topic::Address | Topic::Size | Topic::Request => (Kind::InvalidRequest, false),
        };
        Self { kind, topic, again }
    }

    /// In words.
    pub(super) fn words(self, model: &str) -> String {
        let words = match self.topic {
            Topic::Key => "refused the key",
            Topic::Quota => "the credit or quota of the account is used up",
            Topic::Model if model.is_empty() => "does not have the model",
            Topic::Model => return format!("does not have the model {model:?}"),
            Topic::Address => "has nothing at this address",
            Topic::Rate => "wants fewer requests",
            Topic::Overload => "failed, or has too much to do",
            Topic::Context => "the conversation is longer than the model can read",
            Topic::Size => "the request is too large",
            Topic::Request => "refused the request",
        };
        words.to_owned()
    }
}

/// Words by which providers say that a conversation is too long, where they have no code for it (OpenAI and vLLM,
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
const ABSENT_CODES: &[&str] = &["not_found_error", "not_found"];

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

/// What a refusal means. The narrow meanings come first: their codes stand under several statuses.
pub(super) fn of(status: Option<StatusCode>, said: &Said) -> Meaning {
    let status = status.map_or(0, |status| status.as_u16());
    let message = said.message.to_ascii_lowercase();
    let coded = |codes: &[&str]| codes.iter().any(|code| said.has(code));
    let worded = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let topic = if coded(QUOTA_CODES) || status == 402 || worded(QUOTA_WORDS) {
        Topic::Quota
    } else if coded(RATE_CODES) || status == 429 {
        Topic::Rate
    } else if coded(CONTEXT_CODES) || worded(CONTEXT_WORDS) {
        Topic::Context
    } else if status == 401 || status == 403 || coded(KEY_CODES) || worded(KEY_WORDS) {
        Topic::Key
    } else if said.has("model_not_found")
        || (names_model(status, &message) && (worded(MODEL_WORDS) || coded(ABSENT_CODES)))
    {
        Topic::Model
    } else if status == 404 || status == 405 {
        Topic::Address
    } else if status == 413 || said.has("request_too_large") {
        Topic::Size
    } else if coded(OVERLOAD_CODES) || is_passing(status) || message.contains("overloaded") {
        Topic::Overload
    } else if status == 0 && said.codes.is_empty() {
        // In the middle of an answer, with nothing that says whose fault it is.
        Topic::Overload
    } else {
        Topic::Request
    };
    Meaning::new(topic)
}

fn names_model(status: u16, message: &str) -> bool {
    matches!(status, 0 | 400 | 404 | 422) && message.contains("model")
}

/// Whether a status is one of those that pass.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 409 | 425) || (status >= 500 && status != 501 && status != 505)
}
