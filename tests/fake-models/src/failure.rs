//! Scripted failures, which each API reports in its own format ([`crate::error`]).

use serde::{Deserialize, Serialize};

/// A failure in the API's format: a response with this status, or an error event in the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    /// HTTP status, which also determines the API's error type.
    pub status: u16,
    /// Kind of failure, if the API distinguishes several with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ScriptedFailureKind>,
    /// Error message; by default a typical one of the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Time to wait in seconds: `Retry-After`; with Gemini `RetryInfo` in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
    /// Body to send instead of the API's format, as from a proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Failures that the API distinguishes from others with the same status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedFailureKind {
    /// The conversation exceeds the model's context.
    ContextTooLong,
    /// The account has no credit: waiting does not help.
    QuotaUsedUp,
}

impl ScriptedFailure {
    /// Creates a typical failure with this status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, kind: None, message: None, retry_after: None, body: None }
    }

    /// Creates a failure for a conversation that exceeds the model's context.
    #[must_use]
    pub fn context_too_long() -> Self {
        Self { kind: Some(ScriptedFailureKind::ContextTooLong), ..Self::status(400) }
    }

    /// Creates a failure for an account without credit.
    #[must_use]
    pub fn quota_used_up() -> Self {
        Self { kind: Some(ScriptedFailureKind::QuotaUsedUp), ..Self::status(429) }
    }

    /// Sets the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}
