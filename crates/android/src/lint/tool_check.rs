//! The result of checking one tool: what ran, and what did not.

use serde::Serialize;

/// Result of the calls of a tool, the most telling last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCheckResult {
    /// It was not called.
    NotCalled,
    /// The app has limited the number of calls.
    RateLimited,
    /// The app refused this caller.
    Denied,
    /// The app requires authorization by its user first.
    AuthorizationRequired,
    /// It rejected the arguments of every call, so only its check of arguments ran.
    ArgumentsRejected,
    /// It was called and failed.
    Failed,
    /// It ran at least once.
    Ran,
}

impl ToolCheckResult {
    /// Returns true if a call reached the tool.
    #[must_use]
    pub fn is_checked(self) -> bool {
        self >= Self::ArgumentsRejected
    }
}

/// A tool with the result of its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCheck {
    /// Name of the tool in the app.
    pub tool: String,
    /// Result of its calls.
    pub result: ToolCheckResult,
    /// Reason why it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ToolCheck {
    pub(super) fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), result: ToolCheckResult::NotCalled, reason: None }
    }

    /// Adds the result of a call.
    pub(super) fn add(&mut self, result: ToolCheckResult, reason: Option<String>) {
        if result > self.result {
            (self.result, self.reason) = (result, reason);
        }
    }

    /// Sets the reason why it was not called.
    pub(super) fn skip(&mut self, reason: impl Into<String>) {
        self.reason = Some(reason.into());
    }
}
