//! Sessions, messages and turns as they are written and read back. Times are milliseconds since the Unix epoch.

use sqlx::sqlite::SqliteRow;
use toolway_types::RawJson;

use crate::call_row::{RowColumns, from_index, index_of};
use crate::error::StoreError;
use crate::token_counts::TokenCounts;

/// Author of a session's title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TitleBy {
    /// Nobody: it has none.
    #[default]
    Nobody,
    /// A model.
    Model,
    /// A person.
    Person,
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredRole {
    /// A person's.
    User,
    /// A model's.
    Assistant,
    /// Results of the model's tool calls.
    Tool,
}

/// State of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    /// It goes on.
    Running,
    /// The model said all it wanted.
    Done,
    /// Somebody stopped it.
    Aborted,
    /// It failed.
    Failed,
    /// The gateway stopped in the middle of it.
    Interrupted,
}

/// Every one of these; its place is the number that stands in the database, so new ones go to the end.
const TITLES: &[TitleBy] = &[TitleBy::Nobody, TitleBy::Model, TitleBy::Person];
const ROLES: &[StoredRole] = &[StoredRole::User, StoredRole::Assistant, StoredRole::Tool];
const STATES: &[TurnState] =
    &[TurnState::Running, TurnState::Done, TurnState::Aborted, TurnState::Failed, TurnState::Interrupted];

impl TitleBy {
    /// The name in REST and in exports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nobody => "none",
            Self::Model => "model",
            Self::Person => "user",
        }
    }

    pub(crate) fn number(self) -> i64 {
        index_of(TITLES, self)
    }
}

impl StoredRole {
    /// The role's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    pub(crate) fn number(self) -> i64 {
        index_of(ROLES, self)
    }
}

impl TurnState {
    /// The state's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    pub(crate) fn number(self) -> i64 {
        index_of(STATES, self)
    }
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id, which no other has.
    pub id: String,
    /// Owner of the session.
    pub principal: String,
    /// The agent that was last talked to in it.
    pub agent: String,
    /// Its title.
    pub title: Option<String>,
    /// Author of the title.
    pub title_by: TitleBy,
    /// When it began.
    pub created_ms: i64,
    /// When something was last said in it.
    pub updated_ms: i64,
    /// Number of messages. Messages are numbered from 1 to this.
    pub messages: u64,
    /// Bytes that they take.
    pub bytes: u64,
}

/// A message to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Author of the message.
    pub role: StoredRole,
    /// Its parts: a JSON array.
    pub parts: RawJson,
    /// Text for searches.
    pub text: String,
    /// True if the message ended before it was complete.
    pub is_cut: bool,
}

/// A message as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRecord {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// The turn in which it was said.
    pub turn: String,
    /// Author of the message.
    pub role: StoredRole,
    /// Its parts: a JSON array.
    pub parts: RawJson,
    /// True if the message ended before it was complete.
    pub is_cut: bool,
    /// When it was kept.
    pub created_ms: i64,
}

/// A turn: from a person's message to the end of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRecord {
    /// Its id, a UUIDv7, under which its calls are recorded.
    pub id: String,
    /// The session.
    pub session: String,
    /// The number of the message that it answers.
    pub answers: u64,
    /// State of the turn.
    pub state: TurnState,
    /// True if the response was replaced by another. Its cost remains.
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
    pub tokens: TokenCounts,
    /// Total cost. None if a price or a number of tokens is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
}

/// The columns that [`SessionRecord::read`] reads.
pub(super) const SESSION_COLUMNS: &str =
    "id, principal, agent, title, title_by, created_ms, updated_ms, message_count, bytes";
/// The columns that [`MessageRecord::read`] reads.
pub(super) const MESSAGE_COLUMNS: &str = "seq, turn, role, truncated, created_ms, parts";
/// The columns that [`TurnRecord::read`] reads.
pub(super) const TURN_COLUMNS: &str = "id, session, user_message_seq, status, replaced, started_ms, ended_ms, code, message, \
     finish_reason, rounds, calls, input, output, cached, cache_written, reasoning, cost, currency";

impl SessionRecord {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        let columns = RowColumns(row);
        Ok(Self {
            id: columns.required(0)?,
            principal: columns.required(1)?,
            agent: columns.required(2)?,
            title: columns.text(3)?,
            title_by: from_index("maker of a title", TITLES, columns.number(4)?)?,
            created_ms: columns.number(5)?,
            updated_ms: columns.number(6)?,
            messages: columns.count(7)?,
            bytes: columns.count(8)?,
        })
    }
}

impl MessageRecord {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        let columns = RowColumns(row);
        Ok(Self {
            seq: columns.count(0)?,
            turn: columns.required(1)?,
            role: from_index("role of a message", ROLES, columns.number(2)?)?,
            is_cut: columns.number(3)? != 0,
            created_ms: columns.number(4)?,
            parts: columns.json(5)?.unwrap_or_default(),
        })
    }
}

impl TurnRecord {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        let columns = RowColumns(row);
        Ok(Self {
            id: columns.required(0)?,
            session: columns.required(1)?,
            answers: columns.count(2)?,
            state: from_index("state of a turn", STATES, columns.number(3)?)?,
            is_replaced: columns.number(4)? != 0,
            started_ms: columns.number(5)?,
            ended_ms: columns.number_or_none(6)?,
            code: columns.text(7)?,
            message: columns.text(8)?,
            finish: columns.text(9)?,
            rounds: u32::try_from(columns.number(10)?).unwrap_or(u32::MAX),
            calls: u32::try_from(columns.number(11)?).unwrap_or(u32::MAX),
            tokens: TokenCounts::read(&columns, 12)?,
            cost: columns.real_or_none(17)?,
            currency: columns.text(18)?,
        })
    }
}

impl TokenCounts {
    /// Reads the five columns from a place on.
    pub(crate) fn read(columns: &RowColumns<'_>, from: usize) -> Result<Self, StoreError> {
        let count = |at| Ok(columns.number_or_none(at)?.and_then(|number| u64::try_from(number).ok()));
        Ok(Self {
            input: count(from)?,
            output: count(from + 1)?,
            cached: count(from + 2)?,
            cache_written: count(from + 3)?,
            reasoning: count(from + 4)?,
        })
    }

    /// The five numbers as they are bound, in the order of the columns.
    pub(crate) fn numbers(self) -> [Option<i64>; 5] {
        [self.input, self.output, self.cached, self.cache_written, self.reasoning]
            .map(|count| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

impl NewMessage {
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.parts.get().len().saturating_add(self.text.len())
    }
}
