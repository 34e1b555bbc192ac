//! Types for reading sessions, messages, turns and usage, and filters for their lists. Times are in milliseconds
//! since the Unix epoch.

use std::fmt;
use std::str::FromStr;

use toolway_models::ModelUsage;
use toolway_store::{StoredRole, TitleBy, TurnState};
use toolway_types::RawJson;

/// Filter for a list of sessions. All conditions must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionListOptions {
    /// Text in the title or in a message.
    pub text: Option<String>,
    /// Agent that was used last in the session.
    pub agent: Option<String>,
    /// Principal of the sessions. Only an owner can set it. By default, an owner sees the sessions of all
    /// principals.
    pub principal: Option<String>,
    /// Cursor: [`SessionList::next`] of the previous page.
    pub before: Option<String>,
    /// Maximum number of sessions; by default 50, at most 1,000.
    pub limit: Option<usize>,
}

/// A page of sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionList {
    /// The sessions, the most recently used first.
    pub sessions: Vec<SessionSummary>,
    /// Cursor of the next page. `None` if this is the last page.
    pub next: Option<String>,
}

/// A session without its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// Id of the session.
    pub id: String,
    /// Title of the session. `None` if it has none yet.
    pub title: Option<String>,
    /// Author of the title.
    pub title_by: TitleBy,
    /// Agent that was used last.
    pub agent: String,
    /// Principal that the session belongs to.
    pub principal: String,
    /// Time of creation.
    pub created_ms: i64,
    /// Time of the last message.
    pub updated_ms: i64,
    /// Number of messages.
    pub messages: u64,
    /// True if a turn runs in the session.
    pub running: bool,
}

/// A session with its newest messages.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionDetail {
    /// The session without its messages.
    pub summary: SessionSummary,
    /// The newest messages, oldest first.
    pub history: Vec<MessageView>,
    /// True if there are older messages.
    pub has_more: bool,
    /// The newest turns, oldest first.
    pub turns: Vec<TurnSummary>,
}

/// A page of a session's messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageList {
    /// The messages, oldest first.
    pub messages: Vec<MessageView>,
    /// True if there are older messages.
    pub has_more: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageView {
    /// Number of the message in the session, from 1.
    pub seq: u64,
    /// Id of the turn that the message belongs to.
    pub turn: String,
    /// Author of the message.
    pub role: StoredRole,
    /// Time at which the message was stored.
    pub created_ms: i64,
    /// True if the message ended before it was complete.
    pub is_cut: bool,
    /// Parts of the message: a JSON array.
    pub parts: RawJson,
}

/// A turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSummary {
    /// Id of the turn. Its calls are recorded under this id.
    pub id: String,
    /// [`seq`](MessageView::seq) of the message that the turn answers.
    pub answers: u64,
    /// State of the turn.
    pub state: TurnState,
    /// True if a later turn answered the same message again.
    pub is_replaced: bool,
    /// Time of the start.
    pub started_ms: i64,
    /// Time of the end. `None` if the turn is running.
    pub ended_ms: Option<i64>,
    /// Code of the failure, for programs.
    pub code: Option<String>,
    /// Description of the failure.
    pub message: Option<String>,
    /// Reason why the model's last answer ended.
    pub finish: Option<String>,
    /// Number of requests to models.
    pub rounds: u32,
    /// Number of tool calls.
    pub calls: u32,
    /// Tokens of all requests of the turn.
    pub usage: ModelUsage,
    /// Total cost. `None` if it is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
}

/// Error for an unknown value of an enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not one of {known}")]
pub struct UnknownValue {
    /// The unknown value.
    pub value: String,
    /// The known values.
    pub known: &'static str,
}

/// Format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Markdown, for people.
    Markdown,
    /// JSON, for programs.
    Json,
}

impl FromStr for ExportFormat {
    type Err = UnknownValue;
    fn from_str(word: &str) -> Result<Self, UnknownValue> {
        match word {
            "markdown" => Ok(Self::Markdown),
            "json" => Ok(Self::Json),
            _ => Err(UnknownValue { value: word.to_owned(), known: "markdown, json" }),
        }
    }
}

/// Grouping of the rows of a usage report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageGrouping {
    /// By day.
    Day,
    /// By model, `NAME/ID`.
    Model,
    /// By agent.
    Agent,
    /// By tool, from the call records.
    Tool,
    /// By session.
    Session,
    /// By principal.
    Principal,
}

impl UsageGrouping {
    /// All groupings.
    pub const ALL: [Self; 6] =
        [Self::Day, Self::Model, Self::Agent, Self::Tool, Self::Session, Self::Principal];

    /// Returns the name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Session => "session",
            Self::Principal => "principal",
        }
    }
}

impl fmt::Display for UsageGrouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for UsageGrouping {
    type Err = UnknownValue;
    fn from_str(word: &str) -> Result<Self, UnknownValue> {
        let found = Self::ALL.into_iter().find(|by| by.as_str() == word);
        found.ok_or_else(|| UnknownValue {
            value: word.to_owned(),
            known: "day, model, agent, tool, session, principal",
        })
    }
}

/// Filter for a usage report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageQuery {
    /// Principal of the requests. Only an owner can set it. By default, an owner sees the usage of all
    /// principals.
    pub principal: Option<String>,
    /// Start of the period.
    pub from_ms: Option<i64>,
    /// End of the period, exclusive.
    pub to_ms: Option<i64>,
    /// UTC offset of the reader's time zone, in seconds. Days start at midnight in this time zone.
    pub zone_offset_s: i32,
}

/// A row of a usage report. Rows by tool contain calls, errors and durations. All other rows contain requests,
/// tokens and cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageReportRow {
    /// Key of the group: a day, model, agent, tool, session or principal. `None` if the usage has none.
    pub key: Option<String>,
    /// Number of requests to models.
    pub requests: Option<u64>,
    /// Number of failed requests.
    pub failed: Option<u64>,
    /// Tokens of the requests.
    pub usage: ModelUsage,
    /// Total cost of the requests with a known cost.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
    /// Number of requests without a known cost.
    pub unpriced: Option<u64>,
    /// Number of tool calls.
    pub calls: Option<u64>,
    /// Number of failed calls.
    pub errors: Option<u64>,
    /// Total duration of the requests or calls, in milliseconds.
    pub duration_ms: u64,
}
