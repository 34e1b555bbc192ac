//! `/api/sessions`: conversations. Times are milliseconds since the Unix epoch.

use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use crate::token_usage::TokenUsage;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionSummary {
    /// The session's id.
    pub id: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub title: Option<String>,
    /// Author of the title: `none`, `model` or `user`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub title_by: String,
    /// The agent that was last used in it.
    pub agent: String,
    /// Its owner: a token's id, or `owner`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub principal: String,
    /// Time of creation.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub created_ms: i64,
    /// Time of the last message.
    pub updated_ms: i64,
    /// Number of messages.
    pub message_count: u64,
    /// True if a turn is running.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub running: bool,
}

/// A page of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionList {
    /// The most recently used first.
    pub sessions: Vec<SessionSummary>,
    /// The `cursor` of the next page. Missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next_cursor: Option<String>,
}

/// A session with its newest messages and turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionDetail {
    /// The session.
    #[serde(flatten)]
    pub summary: SessionSummary,
    /// The newest messages, the oldest of them first.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub messages: Vec<SessionMessage>,
    /// True if there are older messages.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub has_more: bool,
    /// The newest turns, the oldest of them first.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub turns: Vec<TurnSummary>,
}

/// Messages of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageList {
    /// The oldest first.
    pub messages: Vec<SessionMessage>,
    /// True if there are older messages.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub has_more: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionMessage {
    /// Its number in the session, from 1.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub seq: u64,
    /// The turn of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub turn_id: Option<String>,
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// Time of the message.
    pub created_ms: i64,
    /// True if the message is incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The parts: objects with the `type` `text`, `image`, `thinking`, `tool_call`, `tool_result` or `summary`. See
    /// [`MessagePart`].
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Vec<Object>))]
    pub parts: RawJson,
}

impl SessionMessage {
    /// The parts.
    ///
    /// # Errors
    /// If a part has no type, or a known field has another type.
    pub fn read_parts(&self) -> Result<Vec<MessagePart>, serde_json::Error> {
        Ok(self.parts.to::<Option<Vec<MessagePart>>>()?.unwrap_or_default())
    }
}

/// A part of a message. Its `type` determines which fields it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePart {
    /// `text`, `image`, `thinking`, `tool_call`, `tool_result` or `summary`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Text, thinking or summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Image: the media type.
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Tool call and result: the id in the call records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Tool call and result: the tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tool call: the model's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Tool result: `success` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Tool result: the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Tool result: the code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Tool result: the error for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnSummary {
    /// The turn's id, which is also in the records of its calls.
    pub id: String,
    /// Number of the user message that the turn answers.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub user_message_seq: u64,
    /// `running`, `done`, `aborted`, `failed` or `interrupted`.
    pub status: String,
    /// True if another answer replaced this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
    /// Time of the start.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub started_ms: i64,
    /// Time of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ended_ms: Option<i64>,
    /// The code of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub code: Option<String>,
    /// The failure for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub message: Option<String>,
    /// Why the model's last response ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub finish_reason: Option<String>,
    /// Number of model requests.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub rounds: u32,
    /// Number of tool calls.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub calls: u32,
    /// Tokens of all model requests.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub usage: TokenUsage,
    /// The cost. Null if it is unknown.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cost: Option<f64>,
    /// The currency of `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub currency: Option<String>,
}

/// Query of `GET /api/sessions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ListSessionsQuery {
    /// A text in the title or in a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false, min_length = 1, max_length = 256))]
    pub search: Option<String>,
    /// Sessions with this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false))]
    pub agent: Option<String>,
    /// Sessions of this token's id. Only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false))]
    pub principal: Option<String>,
    /// Only the caller's own sessions, as for all other roles than the owner. Overrides `principal`.
    #[serde(default)]
    pub mine: bool,
    /// The `next_cursor` of the previous page, with the same filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false, pattern = "^[0-9]{1,18}[.].+$"))]
    pub cursor: Option<String>,
    /// Maximum number of sessions (50).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false, minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
}

/// Body of `PATCH /api/sessions/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RenameSessionRequest {
    /// The title. An empty title removes the title, and a model may write another one.
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub title: String,
}

/// Query of `DELETE /api/sessions/{id}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct RemoveSessionQuery {
    /// Removes the records of its calls too. Only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false))]
    pub calls: Option<bool>,
}

/// Query of `GET /api/sessions/{id}/messages`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ListMessagesQuery {
    /// Messages before this number; default: the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false, minimum = 0))]
    pub before_seq: Option<u64>,
    /// Maximum number of messages (50).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false, minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
}

/// The format of an exported session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum SessionExportFormat {
    /// For people.
    #[default]
    Markdown,
    /// For programs.
    Json,
}

/// Query of `GET /api/sessions/{id}/export`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ExportSessionQuery {
    /// The format; default: `markdown`.
    #[cfg_attr(feature = "openapi", param(inline))]
    #[serde(default)]
    pub format: SessionExportFormat,
}

/// Response of `POST /api/sessions/{id}/abort`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AbortTurnResponse {
    /// `aborting`, or `idle` if no turn runs.
    pub status: String,
}
