//! Sessions, messages, turns and usage as they are shown. Times are milliseconds since the Unix epoch.

use std::fmt;
use std::str::FromStr;

use toolway_models::ModelUsage;
use toolway_store::{StoredRole, TitleBy, TurnState};
use toolway_types::RawJson;

/// Which sessions are asked for: those that fit everything that is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionListOptions {
    /// With this text in the title or in a message.
    pub text: Option<String>,
    /// In which this agent was last talked to.
    pub agent: Option<String>,
    /// Of this principal; an owner's alone to say. An owner sees everybody's where nothing is said.
    pub principal: Option<String>,
    /// After an earlier page: its [`SessionList::next`].
    pub before: Option<String>,
    /// Most of them; 50 where nothing is said, 1,000 at most.
    pub limit: Option<usize>,
}

/// A page of sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionList {
    /// The sessions, those in which something was said last first.
    pub sessions: Vec<SessionSummary>,
    /// Cursor of the next page. None if this is the last page.
    pub next: Option<String>,
}

/// A session without what was said in it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Author of the title.
    pub title_by: TitleBy,
    /// The agent that was last talked to in it.
    pub agent: String,
    /// Owner of the session.
    pub principal: String,
    /// When it began.
    pub created_ms: i64,
    /// When something was last said in it.
    pub updated_ms: i64,
    /// Number of messages.
    pub messages: u64,
    /// True if a turn runs in the session.
    pub running: bool,
}

/// A session with what was said in it last.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionDetail {
    /// The session without its messages.
    pub summary: SessionSummary,
    /// The newest messages, the oldest of them first.
    pub history: Vec<MessageView>,
    /// True if there are older ones.
    pub has_more: bool,
    /// The newest turns, the oldest of them first.
    pub turns: Vec<TurnSummary>,
}

/// Some of a session's messages, the oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageList {
    /// The messages.
    pub messages: Vec<MessageView>,
    /// True if there are older ones.
    pub has_more: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageView {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// The turn in which it was said.
    pub turn: String,
    /// Author of the message.
    pub role: StoredRole,
    /// When it was kept.
    pub created_ms: i64,
    /// True if the message ended before it was complete.
    pub is_cut: bool,
    /// Its parts: a JSON array.
    pub parts: RawJson,
}

/// A turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSummary {
    /// Its id, under which its calls are recorded.
    pub id: String,
    /// The number of the message that it answers.
    pub answers: u64,
    /// State of the turn.
    pub state: TurnState,
    /// True if the response was replaced by another.
    pub is_replaced: bool,
    /// When it began.
    pub started_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// Why it failed, for programs.
    pub code: Option<String>,
    /// Why it failed, in words.
    pub message: Option<String>,
    /// Why the model's last answer ended.
    pub finish: Option<String>,
    /// Number of requests to models.
    pub rounds: u32,
    /// Number of tool calls.
    pub calls: u32,
    /// Tokens of all its requests.
    pub usage: ModelUsage,
    /// Total cost. Null if it is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
}

/// A word that is none of those that can be said there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not one of {known}")]
pub struct UnknownValue {
    /// The word.
    pub value: String,
    /// Those that can be said.
    pub known: &'static str,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// For people.
    Markdown,
    /// For programs.
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

/// By what usage is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageGrouping {
    /// The day.
    Day,
    /// The model, `NAME/ID`.
    Model,
    /// The agent.
    Agent,
    /// The tool, from the records of calls.
    Tool,
    /// The session.
    Session,
    /// By principal.
    Principal,
}

impl UsageGrouping {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Day, Self::Model, Self::Agent, Self::Tool, Self::Session, Self::Principal];

    /// The word.
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

/// Of which requests usage is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageQuery {
    /// Of this principal; an owner's alone to say. An owner sees everybody's where nothing is said.
    pub principal: Option<String>,
    /// Begun at this time or later.
    pub from_ms: Option<i64>,
    /// Begun before this time.
    pub to_ms: Option<i64>,
    /// Offset of the reader's clock from UTC in seconds. It determines the start of days.
    pub zone_offset_s: i32,
}

/// A line of a report on usage. By tool: calls, errors and the time they took; otherwise requests, tokens and cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageReportRow {
    /// Key of the group. Null for usage without a key.
    pub key: Option<String>,
    /// Number of requests to models.
    pub requests: Option<u64>,
    /// Number of failed requests.
    pub failed: Option<u64>,
    /// Their tokens.
    pub usage: ModelUsage,
    /// Known cost.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
    /// Of how many requests the cost is not known.
    pub unpriced: Option<u64>,
    /// Number of tool calls.
    pub calls: Option<u64>,
    /// Number of failed calls.
    pub errors: Option<u64>,
    /// Total duration in milliseconds.
    pub duration_ms: u64,
}
