//! `/api/chat`: a turn with an agent.
//!
//! Except for [`SessionStart`], the data of the events are messages of the WebSocket protocol. The types here contain
//! the fields that a chat client shows.

use serde::{Deserialize, Serialize};
use toolway_types::{ContentPart, RawJson};

use crate::token_usage::TokenUsage;

/// Maximum length of a message or an attached text, in bytes.
pub const MAX_CONTENT: usize = 1 << 20;
/// Maximum number of attachments.
pub const MAX_ATTACHMENTS: usize = 32;

/// Body of `POST /api/chat`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// The session. An unknown id starts a session with this id; default: a new session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The agent; default: the session's agent, or `default` in a new session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Images and texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<ContentPart>>,
    /// Answers the last message again, instead of `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regenerate: Option<bool>,
    /// Requests the event `debug_prompt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<bool>,
    /// False for one response at the end instead of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Somebody can answer questions about the agent's calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
}

/// Response of `POST /api/chat` with `"stream": false`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatResponse {
    /// The session's id.
    pub session_id: String,
    /// The turn's id, which is also in the records of its calls.
    pub turn_id: String,
    /// The agent.
    pub agent: String,
    /// The model, as `NAME/ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub model: Option<String>,
    /// `done`, `aborted` or `error`.
    pub status: String,
    /// The model's whole text in this turn.
    pub full_response: String,
    /// Tokens of all model requests.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub usage: TokenUsage,
    /// The cost, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub cost: Option<f64>,
    /// The currency of `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub currency: Option<String>,
    /// Number of model requests.
    pub rounds: u32,
    /// Number of tool calls.
    pub tool_calls: u32,
    /// Why the model's last response ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub finish_reason: Option<String>,
    /// Notices for people, as in the event `notice`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<TurnNotice>,
    /// With the status `error`: the failure, as in the event `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub error: Option<TurnFailure>,
}

/// The data of the event `session_start`, the first event of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionStart {
    /// The session's id.
    pub session_id: String,
    /// The turn's id.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub turn_id: String,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub agent: Option<String>,
    /// The model, as `NAME/ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub model: Option<String>,
    /// True if the session existed before.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub resumed: bool,
    /// Number of messages before this turn.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub message_count: u64,
}

/// The data of the events `chunk` and `thinking`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextDelta {
    /// The text.
    pub content: String,
}

/// The data of the event `tool_call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnToolCall {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub args: RawJson,
}

/// The data of the event `tool_progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnToolProgress {
    /// The call's id.
    pub id: String,
    /// The progress so far.
    pub progress: f64,
    /// Total number of steps, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// The progress for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The data of the event `tool_result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnToolResult {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Total duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// `success` or `error`.
    pub status: String,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The error for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl TurnToolResult {
    /// True if the tool succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == "success"
    }
}

/// The data of the event `notice`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnNotice {
    /// The notice for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub code: Option<String>,
    /// The notice for people.
    pub message: String,
}

/// The data of the events `done` and `aborted`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnTotals {
    /// The model's whole text in this turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_response: Option<String>,
    /// Tokens of all model requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// The cost, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The currency of `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Why the model's last response ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
}

/// The data of the event `error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnFailure {
    /// The failure for people.
    pub message: String,
    /// The failure for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub code: Option<String>,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hint: Option<String>,
    /// A more precise code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub reason: Option<String>,
}
