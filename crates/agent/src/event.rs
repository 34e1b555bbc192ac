//! Events of a turn, as viewers get them.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolway_core::ProgressReport;
use toolway_models::{FinishReason, ModelError, ModelUsage};
use toolway_types::{CallId, Outcome, RawJson};

/// An event of a turn. [`TurnEvent::Ended`] occurs exactly once and comes last, except for
/// [`TurnEvent::TitleGenerated`], which may follow.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// More text of the answer.
    Chunk(String),
    /// More text of the model's thinking.
    Thinking(String),
    /// The text so far in this turn is discarded: the request is made again.
    ChunkReset,
    /// A tool starts.
    ToolCall {
        /// The call's id.
        id: CallId,
        /// The tool's name as the model knows it.
        name: String,
        /// Arguments of the call. Always an object; `{}` if the model wrote none.
        arguments: RawJson,
    },
    /// Progress of a running tool.
    ToolProgress {
        /// The call's id.
        id: CallId,
        /// The tool's name as the model knows it.
        name: String,
        /// The progress.
        progress: ProgressReport,
    },
    /// A call waits for a person's approval that the chat itself can't give.
    WaitingForApproval {
        /// The call's id.
        id: CallId,
        /// The tool's name as the model knows it.
        name: String,
        /// The question and where to answer it, for people.
        message: String,
    },
    /// A tool ended.
    ToolResult {
        /// The call's id.
        id: CallId,
        /// The tool's name as the model knows it.
        name: String,
        /// Outcome, in the form that the model gets.
        outcome: Arc<Outcome>,
        /// Duration, including waiting.
        duration: Duration,
    },
    /// A request to the model failed before it gave an answer, and is made again.
    Retrying {
        /// Number of the failed attempt, from 1.
        attempt: u32,
        /// Time until the next attempt.
        wait: Duration,
        /// Error of the attempt.
        error: ModelError,
    },
    /// Notice for the person: the history was shortened, or the context or a budget is nearly used up.
    Notice {
        /// Code for programs.
        code: NoticeCode,
        /// Text for people.
        message: String,
    },
    /// The request to the model, if requested: one JSON object for each message, whose `content` is a string.
    DebugPrompt(Vec<RawJson>),
    /// The turn has ended.
    Ended(TurnEnd),
    /// The model has generated a title for the session.
    TitleGenerated(String),
}

/// Kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    /// Old tool results, or old messages, were replaced by a summary.
    ContextCompacted,
    /// The conversation nearly fills the model's context.
    ContextNearlyFull,
    /// The same call failed in the same way several times; the model was told.
    RepeatedFailure,
    /// Tools were omitted from the request: too many, or not expressible for this model.
    ToolsLeftOut,
    /// The model's provider refuses parts of the conversation, such as a picture. Descriptions replace them.
    PartsReplaced,
    /// The daily budget is used up, or nearly.
    Budget,
    /// The answer reached the maximum number of output tokens.
    Truncated,
    /// The model, or its provider's filter, refused to continue.
    Refused,
    /// The model ended its answer without any text.
    Empty,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// Way in which the turn ended.
    pub status: TurnStatus,
    /// All text of the model in this turn.
    pub full_response: String,
    /// Tokens of all requests.
    pub usage: ModelUsage,
    /// Total cost. None if a price or a number of tokens is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
    /// Number of requests to the model.
    pub rounds: u32,
    /// Number of tool calls.
    pub tool_calls: u32,
    /// Reason why the model's last answer ended; `None` if it was interrupted.
    pub finish: Option<FinishReason>,
    /// Calls of the caller's own tools, with which a stateless turn ends.
    pub client_calls: Vec<toolway_models::ToolCall>,
}

/// Way in which a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnStatus {
    /// The model finished its answer.
    Done,
    /// The turn was aborted. Its messages stay.
    Aborted,
    /// The turn failed. Its messages stay, and are marked.
    Failed(TurnFailure),
}

/// Failure of a turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TurnFailure {
    /// Code for programs.
    pub code: TurnFailureCode,
    /// Description for people.
    pub message: String,
    /// The next step for a person.
    pub hint: Option<String>,
}

/// Code of a turn's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFailureCode {
    /// No model is configured.
    NoModel,
    /// The model provider refused the key: `AUTH_ERROR` on the socket.
    Auth,
    /// The model provider failed: `PROVIDER_ERROR`.
    Provider,
    /// A limit of the agent ended it (rounds, cost, seconds): `AGENT_ERROR`.
    LimitReached,
    /// The daily budget is used up: `AGENT_ERROR`.
    BudgetExceeded,
    /// The conversation does not fit the model, even if shortened: `AGENT_ERROR`.
    ContextTooLong,
    /// The gateway is shutting down: `AGENT_ERROR`.
    ShuttingDown,
    /// The gateway failed: `AGENT_ERROR`.
    Internal,
}

impl NoticeCode {
    /// Returns the name in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextCompacted => "context_compacted",
            Self::ContextNearlyFull => "context_nearly_full",
            Self::RepeatedFailure => "repeated_failure",
            Self::ToolsLeftOut => "tools_left_out",
            Self::PartsReplaced => "parts_replaced",
            Self::Budget => "budget",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Empty => "empty_response",
        }
    }
}

impl TurnFailureCode {
    /// Returns the name in records of turns.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoModel => "no_model",
            Self::Auth => "auth",
            Self::Provider => "provider",
            Self::LimitReached => "limit_reached",
            Self::BudgetExceeded => "budget_exceeded",
            Self::ContextTooLong => "context_too_long",
            Self::ShuttingDown => "shutting_down",
            Self::Internal => "internal",
        }
    }
}
