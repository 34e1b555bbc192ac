//! A call as it is read from the database.

use serde::{Deserialize, Serialize, Serializer};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use toolway_core::caller::EntryPoint;
use toolway_core::record::CallNotes;
use toolway_types::{CallId, Code, ErrorKind, PrincipalId, RawJson, Role, ToolId};

use crate::error::StoreError;

/// All roles. The index is the number in the database, so new roles go to the end.
pub(crate) const ROLES: &[Role] = &[Role::Owner, Role::Client, Role::Device, Role::Companion];
/// All entry points. The index is the number in the database, so new ones go to the end.
pub(crate) const ENTRY_POINTS: &[EntryPoint] =
    &[EntryPoint::Rest, EntryPoint::WebSocket, EntryPoint::Agent, EntryPoint::Mcp, EntryPoint::Local];

/// The columns that [`CallRow::read`] reads, in its order.
pub(crate) const COLUMNS: &str = "seq, id, started_ms, status, code, name, source, tool, principal, role, via, \
     agent, session, turn, approved_by, notes, total_us, user_wait_us, queued_us, running_us, attempts, arguments, \
     effective_arguments, outcome";

/// State of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// The call is running, or was when the gateway stopped.
    Open,
    /// The call succeeded.
    Success,
    /// The call failed.
    Error,
}

impl CallStatus {
    /// The number that represents the status in the database.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Success => 1,
            Self::Error => 2,
        }
    }
}

/// A recorded call. Durations are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRow {
    /// Id of the call.
    pub call_id: CallId,
    /// Name of the tool as given by the caller.
    pub name: String,
    /// The called tool, if the name matched a tool that the caller may use.
    pub tool: Option<ToolId>,
    /// Principal that made the call.
    pub principal: PrincipalId,
    /// Role of the principal.
    pub role: Role,
    /// Entry point of the call, `via` in REST and exports.
    #[serde(serialize_with = "serialize_entry_point")]
    pub via: EntryPoint,
    /// Agent whose turn made the call.
    pub agent: Option<String>,
    /// Conversation of the call.
    pub session: Option<String>,
    /// Turn of the conversation that made the call.
    pub turn: Option<String>,
    /// Approver of the call: a principal, or `grant:` with a grant's id.
    pub approved_by: Option<String>,
    /// Hooks that changed or cancelled the call, in order.
    pub hooks: Vec<String>,
    /// Policy rule that refused the call.
    pub rule: Option<String>,
    /// Arguments with secrets masked; truncated if they are longer than a record may be.
    pub arguments: Option<RawJson>,
    /// Arguments as changed by hooks, masked and truncated in the same way.
    pub ran_with: Option<RawJson>,
    /// State of the call.
    pub status: CallStatus,
    /// Specific reason of a failure.
    pub code: Option<Code>,
    /// Result envelope of a finished call; truncated if it is longer than a record may be
    /// (`{"status","error_type"?,"code"?,"truncated":true,"kept_bytes","total_bytes","preview"}`).
    pub outcome: Option<RawJson>,
    /// Start of the call, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Time from acceptance to outcome; 0 if unknown.
    pub total_us: u64,
    /// Time spent waiting for a person, part of the total.
    pub waiting_us: u64,
    /// Time spent in the queue of a sequential source, part of the total.
    pub queued_us: u64,
    /// Time that the tool ran, part of the total.
    pub running_us: u64,
    /// Number of times that the request was sent to the tool.
    pub attempts: u32,
}

impl CallRow {
    /// Kind of the failure.
    #[must_use]
    pub fn error_type(&self) -> Option<ErrorKind> {
        self.code.map(Code::kind)
    }

    /// Reads a row of [`COLUMNS`] and its sequence number.
    pub(crate) fn read(row: &SqliteRow) -> Result<(i64, Self), StoreError> {
        let columns = RowColumns(row);
        let tool = match (columns.text(6)?, columns.text(7)?) {
            (Some(source), Some(tool)) => {
                let id = ToolId::new(parse_text("source name", &source)?, parse_text("tool name", &tool)?);
                Some(id)
            }
            _ => None,
        };
        let code = columns.text(4)?;
        let notes = columns.text(15)?.map(StoredNotes::read).transpose()?.unwrap_or_default();
        let known =
            |text: String| Code::from_name(&text).ok_or(StoreError::BadValue { what: "error code", text });
        Ok((
            columns.number(0)?,
            Self {
                call_id: call_id(&columns.blob(1)?)?,
                started_ms: columns.number(2)?,
                status: status(columns.number(3)?)?,
                code: code.map(known).transpose()?,
                name: columns.required(5)?,
                tool,
                principal: PrincipalId(columns.required(8)?.into()),
                role: from_index("role", ROLES, columns.number(9)?)?,
                via: from_index("entry point", ENTRY_POINTS, columns.number(10)?)?,
                agent: columns.text(11)?,
                session: columns.text(12)?,
                turn: columns.text(13)?,
                approved_by: columns.text(14)?,
                hooks: notes.hooks,
                rule: notes.rule,
                total_us: columns.micros(16)?,
                waiting_us: columns.micros(17)?,
                queued_us: columns.micros(18)?,
                running_us: columns.micros(19)?,
                attempts: u32::try_from(columns.number(20)?).unwrap_or(u32::MAX),
                arguments: columns.json(21)?,
                ran_with: columns.json(22)?,
                outcome: columns.json(23)?,
            },
        ))
    }

    /// Total size of the long texts, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let length = |json: &Option<RawJson>| json.as_ref().map_or(0, |json| json.get().len());
        length(&self.arguments) + length(&self.ran_with) + length(&self.outcome)
    }
}

/// Notes of a call that are only read together with it. They share one column as JSON text.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoredNotes {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

impl StoredNotes {
    /// JSON text of the notes; `None` if there are none.
    pub(crate) fn text_of(notes: &CallNotes) -> Option<String> {
        if notes.hooks.is_empty() && notes.rule.is_none() {
            return None;
        }
        let stored = Self {
            hooks: notes.hooks.iter().map(ToString::to_string).collect(),
            rule: notes.rule.as_ref().map(ToString::to_string),
        };
        serde_json::to_string(&stored).ok()
    }

    fn read(text: String) -> Result<Self, StoreError> {
        serde_json::from_str(&text).map_err(|_| StoreError::BadValue { what: "note of a call", text })
    }
}

/// Reads columns by index.
pub(crate) struct RowColumns<'r>(pub(crate) &'r SqliteRow);

impl RowColumns<'_> {
    pub(crate) fn number(&self, at: usize) -> Result<i64, StoreError> {
        self.0.try_get(at).map_err(StoreError::database("read"))
    }

    pub(crate) fn number_or_none(&self, at: usize) -> Result<Option<i64>, StoreError> {
        self.0.try_get(at).map_err(StoreError::database("read"))
    }

    pub(crate) fn real_or_none(&self, at: usize) -> Result<Option<f64>, StoreError> {
        self.0.try_get(at).map_err(StoreError::database("read"))
    }

    /// Reads a number that is never negative.
    pub(crate) fn count(&self, at: usize) -> Result<u64, StoreError> {
        Ok(u64::try_from(self.number(at)?).unwrap_or(0))
    }

    pub(crate) fn micros(&self, at: usize) -> Result<u64, StoreError> {
        self.count(at)
    }

    pub(crate) fn text(&self, at: usize) -> Result<Option<String>, StoreError> {
        self.0.try_get(at).map_err(StoreError::database("read"))
    }

    pub(crate) fn required(&self, at: usize) -> Result<String, StoreError> {
        self.0.try_get(at).map_err(StoreError::database("read"))
    }

    pub(crate) fn blob(&self, at: usize) -> Result<Vec<u8>, StoreError> {
        self.0.try_get(at).map_err(StoreError::database("read"))
    }

    pub(crate) fn json(&self, at: usize) -> Result<Option<RawJson>, StoreError> {
        let json = |text: String| {
            RawJson::parse(&text).map_err(|_| StoreError::BadValue { what: "JSON text", text })
        };
        self.text(at)?.map(json).transpose()
    }
}

/// Parses a stored text.
pub(crate) fn parse_text<T: std::str::FromStr>(what: &'static str, text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| StoreError::BadValue { what, text: text.to_owned() })
}

/// Creates a call id from its stored bytes.
pub(crate) fn call_id(bytes: &[u8]) -> Result<CallId, StoreError> {
    let bytes: [u8; 16] = bytes
        .try_into()
        .map_err(|_| StoreError::BadValue { what: "call id", text: format!("{} bytes", bytes.len()) })?;
    Ok(CallId::from_bytes(bytes))
}

fn status(number: i64) -> Result<CallStatus, StoreError> {
    [CallStatus::Open, CallStatus::Success, CallStatus::Error]
        .into_iter()
        .find(|status| status.number() == number)
        .ok_or_else(|| StoreError::BadValue { what: "status", text: number.to_string() })
}

/// The number that represents a value in the database.
pub(crate) fn index_of<T: PartialEq>(all: &[T], one: T) -> i64 {
    all.iter().position(|known| *known == one).and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

pub(crate) fn from_index<T: Copy>(what: &'static str, all: &[T], number: i64) -> Result<T, StoreError> {
    let known = usize::try_from(number).ok().and_then(|at| all.get(at));
    known.copied().ok_or_else(|| StoreError::BadValue { what, text: number.to_string() })
}

fn serialize_entry_point<S: Serializer>(via: &EntryPoint, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(via.as_str())
}
