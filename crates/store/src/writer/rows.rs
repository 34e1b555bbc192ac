//! Writes call records as rows, many per statement. The end of a call updates the row of its start, found by
//! the call's id; if there is none (both are in one batch, or the start was lost), it inserts a complete row.

use std::sync::{Arc, OnceLock};

use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, SqliteConnection};
use toolway_core::record::CallDurations;
use toolway_types::{CallId, Code, Outcome};

use super::queue::{QueueEntry, QueuedCall};
use crate::call_row::{ENTRY_POINTS, ROLES, StoredNotes, index_of};
use crate::outcome;

/// Columns bound for every row, in order.
const COLUMNS: &[&str] = &[
    "id",
    "started_ms",
    "status",
    "code",
    "name",
    "source",
    "tool",
    "principal",
    "role",
    "via",
    "session",
    "total_us",
    "user_wait_us",
    "queued_us",
    "running_us",
    "attempts",
    "arguments",
    "outcome",
];

/// Columns that are empty for most calls. They come after the others, and only in statements with a row that
/// needs one, because each column costs time.
const OPTIONAL_COLUMNS: &[&str] =
    &["agent", "turn", "approved_by", "notes", "effective_arguments", "idempotency_key", "idempotency_hash"];

/// Numbers of rows per statement, in ascending order. The smallest one that fits is used, and its surplus
/// rows stay unbound: a row without an id is ignored.
const SIZES: &[usize] = &[1, 8, 32, 64, 128];

/// Maximum number of rows per transaction, so that a long queue does not lock the database for long.
pub(super) const MAX_ROWS: usize = 1024;

/// Statements by number of rows, as in [`SIZES`]; each is created on first use.
type StatementCache = [OnceLock<Arc<str>>; SIZES.len()];

/// Writes records.
pub(super) struct RowWriter {
    plain: StatementCache,
    /// Statements that include [`OPTIONAL_COLUMNS`].
    full: StatementCache,
    /// Names of the codes, allocated once.
    codes: Vec<(Code, Arc<str>)>,
    record_bytes: usize,
}

impl RowWriter {
    pub(super) fn new(record_bytes: usize) -> Self {
        Self {
            plain: StatementCache::default(),
            full: StatementCache::default(),
            codes: Code::ALL.iter().map(|code| (*code, code.as_str().into())).collect(),
            record_bytes,
        }
    }

    /// True if a number of rows fits into one statement, which then needs no explicit transaction.
    pub(super) fn is_one_statement(rows: usize) -> bool {
        SIZES.last().is_some_and(|largest| rows <= *largest)
    }

    /// Writes the records, in order.
    pub(super) async fn write(
        &self,
        conn: &mut SqliteConnection,
        mut entries: &[QueueEntry],
    ) -> Result<(), sqlx::Error> {
        let most = SIZES.last().copied().unwrap_or(1);
        while !entries.is_empty() {
            let (now, rest) = entries.split_at(entries.len().min(most));
            let full = now.iter().any(|entry| has_optional_columns(&entry.record));
            let statements = if full { &self.full } else { &self.plain };
            let mut both = SIZES.iter().zip(statements);
            let Some((rows, sql)) = both.find(|(rows, _)| now.len() <= **rows) else { break };
            let sql = sql.get_or_init(|| statement(*rows, full).into());
            let mut arguments = SqliteArguments::default();
            arguments.reserve(now.len() * (COLUMNS.len() + if full { OPTIONAL_COLUMNS.len() } else { 0 }), 0);
            for entry in now {
                self.bind(&mut arguments, &entry.record).map_err(sqlx::Error::Encode)?;
                if full {
                    self.bind_optional(&mut arguments, &entry.record).map_err(sqlx::Error::Encode)?;
                }
            }
            sqlx::query_with(AssertSqlSafe(Arc::clone(sql)), arguments).execute(&mut *conn).await?;
            entries = rest;
        }
        Ok(())
    }

    fn bind(&self, row: &mut SqliteArguments, record: &QueuedCall) -> Result<(), sqlx::error::BoxDynError> {
        let opened = record.opened();
        let (status, code, durations, attempts, outcome) = match record {
            QueuedCall::Opened(_) => (0, None, CallDurations::default(), 0, None),
            QueuedCall::Closed(closed) => {
                let code = closed.outcome.error().map(|error| error.code);
                let cap = if opened.key.is_some() { usize::MAX } else { self.record_bytes };
                let text = outcome::encode(&closed.outcome, cap);
                (status_of(&closed.outcome), code, closed.durations, closed.attempts, Some(text))
            }
        };
        row.add(key_of(opened.id))?;
        row.add(opened.started_ms)?;
        row.add(status)?;
        row.add(code.and_then(|code| self.code_text(code)))?;
        row.add(Arc::clone(&opened.name))?;
        row.add(opened.tool.as_ref().map(|tool| tool.source.shared()))?;
        row.add(opened.tool.as_ref().map(|tool| tool.tool.shared()))?;
        row.add(Arc::clone(&opened.principal.0))?;
        row.add(index_of(ROLES, opened.role))?;
        row.add(index_of(ENTRY_POINTS, opened.via))?;
        row.add(opened.session.clone())?;
        row.add(micros(durations.total))?;
        row.add(micros(durations.waiting))?;
        row.add(micros(durations.queued))?;
        row.add(micros(durations.running))?;
        row.add(i64::from(attempts))?;
        row.add(opened.arguments.as_ref().map(|text| outcome::truncate(text.get(), self.record_bytes)))?;
        row.add(outcome)
    }

    fn bind_optional(
        &self,
        row: &mut SqliteArguments,
        record: &QueuedCall,
    ) -> Result<(), sqlx::error::BoxDynError> {
        let (opened, notes) = (record.opened(), record.notes());
        let ran_with = notes.and_then(|notes| notes.ran_with.as_ref());
        row.add(opened.agent.clone())?;
        row.add(opened.turn.clone())?;
        row.add(notes.and_then(|notes| notes.approved_by.clone()))?;
        row.add(notes.and_then(StoredNotes::text_of))?;
        row.add(ran_with.map(|text| outcome::truncate(text.get(), self.record_bytes)))?;
        row.add(opened.key.as_ref().map(|key| Arc::clone(&key.key)))?;
        row.add(opened.key.as_ref().map(|key| key.hash.to_vec()))
    }

    fn code_text(&self, code: Code) -> Option<Arc<str>> {
        self.codes.iter().find(|(known, _)| *known == code).map(|(_, word)| Arc::clone(word))
    }
}

/// True if the record has a value for an optional column.
fn has_optional_columns(record: &QueuedCall) -> bool {
    let opened = record.opened();
    record.notes().is_some()
        || opened.key.is_some()
        || [&opened.agent, &opened.turn].into_iter().any(Option::is_some)
}

/// The number that represents an outcome's status in the database.
pub(crate) fn status_of(outcome: &Outcome) -> i64 {
    if outcome.is_success() { 1 } else { 2 }
}

/// Bytes of a call's id, the key of its row.
pub(crate) fn key_of(id: CallId) -> Vec<u8> {
    id.as_bytes().to_vec()
}

fn micros(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn statement(rows: usize, full: bool) -> String {
    let more = if full { OPTIONAL_COLUMNS } else { &[] };
    let columns = [COLUMNS, more].concat();
    let row = format!("({})", vec!["?"; columns.len()].join(","));
    let values = vec![row; rows].join(",");
    let columns = columns.join(", ");
    // Only the end of a call has these columns; a call without them has none in the row of its start either.
    let notes = if full {
        ", approved_by = excluded.approved_by, notes = excluded.notes, effective_arguments = excluded.effective_arguments"
    } else {
        ""
    };
    // A start never overwrites an end, in whatever order they arrive.
    format!(
        "INSERT OR IGNORE INTO calls ({columns}) VALUES {values} \
         ON CONFLICT (id) DO UPDATE SET \
         status = excluded.status, code = excluded.code, total_us = excluded.total_us, \
         user_wait_us = excluded.user_wait_us, queued_us = excluded.queued_us, running_us = excluded.running_us, \
         attempts = excluded.attempts, outcome = excluded.outcome{notes} \
         WHERE excluded.status <> 0"
    )
}
