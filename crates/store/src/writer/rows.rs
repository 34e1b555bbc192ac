//! Writes call records, many per statement. The end of a call inserts a complete row. If its start has a row, found by
//! the call's id, the end updates that row. Starts of one batch share a row of another table (`started_calls`).
//!
//! An ordinary call has few values. Their statements bind only those.

use std::sync::{Arc, OnceLock};

use sqlx::error::BoxDynError;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, Connection, SqliteConnection};
use toolway_core::record::{CallDurations, OpenedCall};
use toolway_types::{CallId, Code, Outcome};

use super::queue::QueuedCall;
use crate::call_row::{ENTRY_POINTS, ROLES, StoredNotes, index_of};
use crate::integers::usize_to_i64;
use crate::outcome;

/// Columns bound for every row, in order.
const COLUMNS: &[&str] = &[
    "id",
    "started_ms",
    "name",
    "source",
    "tool",
    "principal",
    "role",
    "via",
    "session",
    "total_us",
    "running_us",
    "arguments",
    "outcome",
];

/// Columns with their values in an ordinary row: a call that succeeded at its first attempt without waiting. They are
/// written into its statement, because each bound value costs time.
const ORDINARY_COLUMNS: &[(&str, &str)] =
    &[("status", "1"), ("user_wait_us", "0"), ("queued_us", "0"), ("attempts", "1")];

/// Columns that only other rows have.
const OTHER_COLUMNS: &[&str] = &[
    "status",
    "user_wait_us",
    "queued_us",
    "attempts",
    "code",
    "agent",
    "turn",
    "approved_by",
    "notes",
    "effective_arguments",
    "idempotency_key",
    "idempotency_hash",
];

/// Numbers of rows per statement, in ascending order. The smallest one that fits is used, and its surplus
/// rows stay unbound: a row without an id is ignored.
const SIZES: &[usize] = &[1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128];
const MAX_STATEMENT_ROWS: usize = 128;
/// Maximum number of rows in a text that also stores starts. Each such text is another prepared statement, and with
/// more rows it saves little.
const MAX_ROWS_WITH_STARTS: usize = 32;

/// Maximum number of rows per transaction, so that a long queue does not lock the database for long.
pub(super) const MAX_ROWS: usize = 1024;

/// Stores the starts of a batch in a slot. The condition is always true. It makes SQLite read the old row, and then a
/// text of the same length is written in its place.
const STORE_STARTS: &str = "INSERT INTO started_calls (slot, calls) VALUES (?, ?) \
     ON CONFLICT (slot) DO UPDATE SET calls = excluded.calls WHERE octet_length(calls) > 0";

/// Statements by number of rows, as in [`SIZES`]; each is created on first use.
type StatementCache = [OnceLock<Arc<str>>; SIZES.len()];

/// Starts of calls that share a row.
#[derive(Debug)]
pub(super) struct StartsRow {
    pub(super) slot: usize,
    /// The starts as JSON text.
    pub(super) text: String,
}

/// Records of one transaction.
#[derive(Debug, Default)]
pub(super) struct RecordBatch<'r> {
    pub(super) starts: Option<StartsRow>,
    ordinary: Vec<&'r QueuedCall>,
    others: Vec<&'r QueuedCall>,
    /// True if everything must be committed at once.
    pub(super) is_atomic: bool,
}

impl<'r> RecordBatch<'r> {
    pub(super) fn new(is_atomic: bool) -> Self {
        Self { is_atomic, ..Self::default() }
    }

    /// Adds a record that gets a row.
    pub(super) fn push(&mut self, record: &'r QueuedCall) {
        if is_ordinary(record) { self.ordinary.push(record) } else { self.others.push(record) }
    }

    /// Records that get rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'r QueuedCall> {
        self.ordinary.iter().chain(&self.others).copied()
    }
}

/// Writes records.
pub(super) struct RowWriter {
    ordinary: StatementCache,
    ordinary_with_starts: StatementCache,
    others: StatementCache,
    /// Names of the codes, allocated once.
    codes: Vec<(Code, Arc<str>)>,
    record_bytes: usize,
}

impl RowWriter {
    pub(super) fn new(record_bytes: usize) -> Self {
        Self {
            ordinary: StatementCache::default(),
            ordinary_with_starts: StatementCache::default(),
            others: StatementCache::default(),
            codes: Code::ALL.iter().map(|code| (*code, code.as_str().into())).collect(),
            record_bytes,
        }
    }

    /// Writes a batch. Each of its records can be written again if a later one fails.
    pub(super) async fn write(
        &self,
        conn: &mut SqliteConnection,
        batch: &RecordBatch<'_>,
    ) -> Result<(), sqlx::Error> {
        let RecordBatch { starts, ordinary, others, is_atomic } = batch;
        let statements = |rows: &[_]| rows.len().div_ceil(MAX_STATEMENT_ROWS);
        let row_statements = statements(ordinary) + statements(others);
        // SQLite copies every page that a statement changes if more statements are in its transaction. So the few
        // statements of a usual batch have transactions of their own.
        let is_one_transaction =
            row_statements > 1 || (*is_atomic && row_statements == 1 && starts.is_some());
        if is_one_transaction {
            let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
            if let Some(starts) = starts {
                store_starts(&mut transaction, starts).await?;
            }
            self.write_rows(&mut transaction, batch).await?;
            return transaction.commit().await;
        }
        match starts {
            // SQLite's thread runs a text of two statements in one trip.
            Some(starts) if others.is_empty() && (1..=MAX_ROWS_WITH_STARTS).contains(&ordinary.len()) => {
                self.write_ordinary(conn, Some(starts), ordinary).await
            }
            Some(starts) => {
                store_starts(conn, starts).await?;
                self.write_rows(conn, batch).await
            }
            None => self.write_rows(conn, batch).await,
        }
    }

    /// Writes the rows of a batch. If they need several statements, the caller has begun a transaction.
    pub(super) async fn write_rows(
        &self,
        conn: &mut SqliteConnection,
        batch: &RecordBatch<'_>,
    ) -> Result<(), sqlx::Error> {
        for records in batch.ordinary.chunks(MAX_STATEMENT_ROWS) {
            self.write_ordinary(conn, None, records).await?;
        }
        for records in batch.others.chunks(MAX_STATEMENT_ROWS) {
            self.write_others(conn, records).await?;
        }
        Ok(())
    }

    async fn write_ordinary(
        &self,
        conn: &mut SqliteConnection,
        starts: Option<&StartsRow>,
        records: &[&QueuedCall],
    ) -> Result<(), sqlx::Error> {
        let cache = if starts.is_some() { &self.ordinary_with_starts } else { &self.ordinary };
        let sql = statement_of(cache, records.len(), |rows| {
            let insert = ordinary_statement(rows);
            // The rows come last, because surplus ones have no values that another statement could skip.
            if starts.is_some() { format!("{STORE_STARTS}; {insert}") } else { insert }
        });
        let mut arguments = SqliteArguments::default();
        arguments.reserve(2 + records.len() * COLUMNS.len(), 0);
        if let Some(starts) = starts {
            starts.bind(&mut arguments)?;
        }
        for record in records {
            self.bind(&mut arguments, record).map_err(sqlx::Error::Encode)?;
        }
        sqlx::query_with(AssertSqlSafe(sql), arguments).execute(conn).await.map(drop)
    }

    async fn write_others(
        &self,
        conn: &mut SqliteConnection,
        records: &[&QueuedCall],
    ) -> Result<(), sqlx::Error> {
        let sql = statement_of(&self.others, records.len(), other_statement);
        let mut arguments = SqliteArguments::default();
        arguments.reserve(records.len() * (COLUMNS.len() + OTHER_COLUMNS.len()), 0);
        for record in records {
            self.bind(&mut arguments, record).map_err(sqlx::Error::Encode)?;
            self.bind_other(&mut arguments, record).map_err(sqlx::Error::Encode)?;
        }
        sqlx::query_with(AssertSqlSafe(sql), arguments).execute(conn).await.map(drop)
    }

    /// Binds [`COLUMNS`].
    fn bind(&self, row: &mut SqliteArguments, record: &QueuedCall) -> Result<(), BoxDynError> {
        let opened = record.opened();
        let (durations, outcome) = match record {
            QueuedCall::Opened(_) => (CallDurations::default(), None),
            QueuedCall::Closed(closed) => {
                let cap = if opened.key.is_some() { usize::MAX } else { self.record_bytes };
                (closed.durations, Some(outcome::encode(&closed.outcome, cap)))
            }
        };
        row.add(key_of(opened.id))?;
        row.add(opened.started_ms)?;
        row.add(Arc::clone(&opened.name))?;
        row.add(opened.tool.as_ref().map(|tool| tool.source.shared()))?;
        row.add(opened.tool.as_ref().map(|tool| tool.tool.shared()))?;
        row.add(Arc::clone(&opened.principal.0))?;
        row.add(index_of(ROLES, opened.role))?;
        row.add(index_of(ENTRY_POINTS, opened.via))?;
        row.add(opened.session.clone())?;
        row.add(micros(durations.total))?;
        row.add(micros(durations.running))?;
        row.add(opened.arguments.as_ref().map(|text| outcome::truncate(text.get(), self.record_bytes)))?;
        row.add(outcome)
    }

    /// Binds [`OTHER_COLUMNS`].
    fn bind_other(&self, row: &mut SqliteArguments, record: &QueuedCall) -> Result<(), BoxDynError> {
        let (opened, notes) = (record.opened(), record.notes());
        let (status, durations, attempts, code) = match record {
            QueuedCall::Opened(_) => (0, CallDurations::default(), 0, None),
            QueuedCall::Closed(closed) => {
                let code = closed.outcome.error().map(|error| error.code);
                (status_of(&closed.outcome), closed.durations, closed.attempts, code)
            }
        };
        let ran_with = notes.and_then(|notes| notes.ran_with.as_ref());
        row.add(status)?;
        row.add(micros(durations.waiting))?;
        row.add(micros(durations.queued))?;
        row.add(i64::from(attempts))?;
        row.add(code.and_then(|code| self.code_text(code)))?;
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

impl StartsRow {
    fn bind(&self, arguments: &mut SqliteArguments) -> Result<(), sqlx::Error> {
        arguments.add(usize_to_i64(self.slot)).map_err(sqlx::Error::Encode)?;
        arguments.add(self.text.clone()).map_err(sqlx::Error::Encode)
    }
}

/// True if the other columns of the record's row have the values in [`ORDINARY_COLUMNS`], or none.
fn is_ordinary(record: &QueuedCall) -> bool {
    let QueuedCall::Closed(closed) = record else { return false };
    let OpenedCall { agent, turn, key, .. } = &*closed.opened;
    closed.outcome.is_success()
        && closed.attempts == 1
        && micros(closed.durations.waiting) == 0
        && micros(closed.durations.queued) == 0
        && closed.notes.is_none()
        && key.is_none()
        && agent.is_none()
        && turn.is_none()
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

async fn store_starts(conn: &mut SqliteConnection, starts: &StartsRow) -> Result<(), sqlx::Error> {
    let mut arguments = SqliteArguments::default();
    starts.bind(&mut arguments)?;
    sqlx::query_with(STORE_STARTS, arguments).execute(conn).await.map(drop)
}

/// The smallest statement for a number of rows, at most [`MAX_STATEMENT_ROWS`].
fn statement_of(cache: &StatementCache, rows: usize, create: impl Fn(usize) -> String) -> Arc<str> {
    let known = SIZES.iter().zip(cache).find(|(size, _)| rows <= **size);
    known.map(|(size, sql)| Arc::clone(sql.get_or_init(|| create(*size).into()))).unwrap_or_default()
}

fn ordinary_statement(rows: usize) -> String {
    let (names, values): (Vec<_>, Vec<_>) = ORDINARY_COLUMNS.iter().copied().unzip();
    insert_statement(rows, &names, &values, ", code = NULL")
}

fn other_statement(rows: usize) -> String {
    insert_statement(
        rows,
        OTHER_COLUMNS,
        &["?"; OTHER_COLUMNS.len()],
        ", code = excluded.code, approved_by = excluded.approved_by, notes = excluded.notes, \
         effective_arguments = excluded.effective_arguments",
    )
}

/// Inserts rows with [`COLUMNS`] and more columns. If a row of the call's start exists, its end updates that row.
fn insert_statement(rows: usize, more: &[&str], more_values: &[&str], more_updates: &str) -> String {
    let columns = [COLUMNS, more].concat().join(", ");
    let row = format!("({})", [&vec!["?"; COLUMNS.len()], more_values].concat().join(","));
    let values = vec![row; rows].join(",");
    // A start never overwrites an end, in whatever order they arrive.
    format!(
        "INSERT OR IGNORE INTO calls ({columns}) VALUES {values} \
         ON CONFLICT (id) DO UPDATE SET \
         status = excluded.status, total_us = excluded.total_us, user_wait_us = excluded.user_wait_us, \
         queued_us = excluded.queued_us, running_us = excluded.running_us, attempts = excluded.attempts, \
         outcome = excluded.outcome{more_updates} WHERE excluded.status <> 0"
    )
}
