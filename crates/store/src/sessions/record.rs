//! Records of sessions, messages and turns. Times are in milliseconds since the Unix epoch.

use sqlx::sqlite::SqliteRow;
use toolway_types::RawJson;

use crate::call_row::{RowColumns, from_index, index_of};
use crate::error::StoreError;
use crate::token_counts::TokenCounts;

/// Author of a session's title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TitleBy {
    /// The session has no title.
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
    /// A person.
    User,
    /// A model.
    Assistant,
    /// Results of tool calls.
    Tool,
}

/// State of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    /// The turn is running.
    Running,
    /// The model finished its answer.
    Done,
    /// The turn was aborted.
    Aborted,
    /// The turn failed.
    Failed,
    /// The gateway stopped during the turn.
    Interrupted,
}

/// All values. The index is the number in the database, so new values go to the end.
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
    /// Name of the role.
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
    /// Name of the state.
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
    /// Unique id of the session.
    pub id: String,
    /// Owner of the session.
    pub principal: String,
    /// Agent that was used last in the session.
    pub agent: String,
    /// Title of the session.
    pub title: Option<String>,
    /// Author of the title.
    pub title_by: TitleBy,
    /// Time of creation.
    pub created_ms: i64,
    /// Time of the last message.
    pub updated_ms: i64,
    /// Number of messages. Messages are numbered from 1 to this.
    pub messages: u64,
    /// Total size of the messages, in bytes.
    pub bytes: u64,
}

/// A message to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Author of the message.
    pub role: StoredRole,
    /// Parts of the message, as a JSON array.
    pub parts: RawJson,
    /// Text for searches.
    pub text: String,
    /// True if the message ended before it was complete.
    pub is_cut: bool,
}

/// A stored message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRecord {
    /// Number of the message in its session, from 1.
    pub seq: u64,
    /// Turn in which the message was written.
    pub turn: String,
    /// Author of the message.
    pub role: StoredRole,
    /// Parts of the message, as a JSON array.
    pub parts: RawJson,
    /// True if the message ended before it was complete.
    pub is_cut: bool,
    /// Time at which the message was stored.
    pub created_ms: i64,
}

/// A turn: from a person's message to the end of the model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRecord {
    /// Id of the turn, a UUIDv7. Its calls are recorded under this id.
    pub id: String,
    /// Session of the turn.
    pub session: String,
    /// Number of the message that the turn answers.
    pub answers: u64,
    /// State of the turn.
    pub state: TurnState,
    /// True if the response was replaced by another. Its cost remains.
    pub is_replaced: bool,
    /// Time of the start.
    pub started_ms: i64,
    /// Time of the end.
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
    pub tokens: TokenCounts,
    /// Total cost. None if a price or a number of tokens is not known.
    pub cost: Option<f64>,
    /// Currency of `cost`.
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
    /// Reads five columns, starting at an index.
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

    /// Values of the five columns, in order.
    pub(crate) fn numbers(self) -> [Option<i64>; 5] {
        [self.input, self.output, self.cached, self.cache_written, self.reasoning]
            .map(|count| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

impl NewMessage {
    /// Size of the message, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.get().len().saturating_add(self.text.len())
    }
}
