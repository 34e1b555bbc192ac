//! Events of a turn, as viewers get them.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolway_core::ProgressReport;
use toolway_models::{FinishReason, ModelError, ModelUsage};
use toolway_types::{CallId, Outcome, RawJson};

/// One thing that happened in a turn. [`TurnEvent::Ended`] comes exactly once and last, but for
/// [`TurnEvent::Titled`], which may follow.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// More text of the model.
    Chunk(String),
    /// More of its thinking.
    Thinking(String),
    /// The text shown so far in this turn does not count: the request is made again.
    ChunkReset,
    /// A tool starts.
    ToolCall {
        /// The call's id.
        id: CallId,
        /// The tool's name as the model knows it.
        name: String,
        /// Always an object; `{}` where what the model wrote is none.
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
    /// A request to the model failed before anything came of it, and is made again.
    Retrying {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// Time until the next attempt.
        wait: Duration,
        /// Why it failed.
        error: ModelError,
    },
    /// Something that a person should know: history was shortened, the context is nearly full, a budget too.
    Notice {
        /// For programs.
        code: NoticeCode,
        /// In words.
        message: String,
    },
    /// The request to the model, if requested: one JSON object for each message, whose `content` is a string.
    DebugPrompt(Vec<RawJson>),
    /// The turn is over.
    Ended(TurnEnd),
    /// The session has a title, which the model made.
    TitleGenerated(String),
}

/// Kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    /// Old tool results, or old messages, were replaced by a summary.
    ContextCompacted,
    /// The conversation nears what the model can read.
    ContextNearlyFull,
    /// The same call failed in the same way several times; the model was told.
    RepeatedFailure,
    /// Tools were left out of the request: too many, or not expressible for this model.
    ToolsLeftOut,
    /// The day's budget is used up, or nearly.
    Budget,
    /// The answer stopped at the limit of tokens that the model may write.
    Truncated,
    /// The model, or its provider's filter, refused to go on.
    Refused,
    /// The model ended its answer without having said anything.
    Empty,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// In which way.
    pub status: TurnStatus,
    /// All text of the model in this turn.
    pub full_response: String,
    /// Tokens of all its requests together.
    pub usage: ModelUsage,
    /// Total cost. None if a price or a number of tokens is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
    /// Number of requests to the model.
    pub rounds: u32,
    /// Number of tool calls.
    pub tool_calls: u32,
    /// Why the model's last answer ended; none where it was cut off.
    pub finish: Option<FinishReason>,
    /// Calls of tools that only the caller can run, with which a stateless turn ends.
    pub client_calls: Vec<toolway_models::ToolCall>,
}

/// In which way a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnStatus {
    /// The model said all it wanted.
    Done,
    /// Somebody stopped it. What was said stays.
    Aborted,
    /// It failed. What was said stays, and is marked.
    Failed(TurnFailure),
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TurnFailure {
    /// For programs.
    pub code: TurnFailureCode,
    /// In words.
    pub message: String,
    /// The next step for a person.
    pub hint: Option<String>,
}

/// Why a turn failed, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFailureCode {
    /// No model is set up.
    NoModel,
    /// The model provider refused the key: `AUTH_ERROR` on the socket.
    Auth,
    /// The model provider failed: `PROVIDER_ERROR`.
    Provider,
    /// A limit of the agent ended it (rounds, cost, seconds): `AGENT_ERROR`.
    LimitReached,
    /// The day's budget is used up: `AGENT_ERROR`.
    BudgetExceeded,
    /// The conversation does not fit the model, however much is left out: `AGENT_ERROR`.
    ContextTooLong,
    /// The gateway stops: `AGENT_ERROR`.
    ShuttingDown,
    /// Something in the gateway failed: `AGENT_ERROR`.
    Internal,
}

impl NoticeCode {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextCompacted => "context_compacted",
            Self::ContextNearlyFull => "context_nearly_full",
            Self::RepeatedFailure => "repeated_failure",
            Self::ToolsLeftOut => "tools_left_out",
            Self::Budget => "budget",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Empty => "empty_response",
        }
    }
}

impl TurnFailureCode {
    /// The word in records of turns.
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
