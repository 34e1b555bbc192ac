//! Failures that a script can want, said by each API in its own form ([`crate::error`]).

use serde::{Deserialize, Serialize};

/// A failure, said as the API says it: as an answer with that status, or as an error event in the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    /// The HTTP status; it also decides the API's own word for the error.
    pub status: u16,
    /// What kind of failure it is, where the API words some of that status apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ScriptedFailureKind>,
    /// What it says; what the API usually says where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long to wait, in seconds: `Retry-After`; with Gemini `RetryInfo` in the body, which is what it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
    /// This body instead of the API's own form, as a proxy between may send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Failures that are worded apart from others of their status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedFailureKind {
    /// The conversation is longer than the model can read.
    ContextTooLong,
    /// The account's money is used up: waiting does not help.
    QuotaUsedUp,
}

impl ScriptedFailure {
    /// What the API usually says with this status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, kind: None, message: None, retry_after: None, body: None }
    }

    /// The conversation is longer than the model can read.
    #[must_use]
    pub fn context_too_long() -> Self {
        Self { kind: Some(ScriptedFailureKind::ContextTooLong), ..Self::status(400) }
    }

    /// The account's money is used up.
    #[must_use]
    pub fn quota_used_up() -> Self {
        Self { kind: Some(ScriptedFailureKind::QuotaUsedUp), ..Self::status(429) }
    }

    /// Saying this.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}
