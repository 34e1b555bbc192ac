//! Reading calls a page at a time, in either direction. Without a text to look for, one statement reads a page.
//! With one, calls are looked through in steps, each bounded in calls and bytes, and the page ends when it is full
//! or its time is up, wherever it got: so no reader is held for long, however many calls there are.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::{QueryBuilder, Sqlite};
use tokio::time::Instant;

use super::filter::{CallFilter, Cursor};
use super::needle::Needle;
use super::{CallPage, as_number};
use crate::call_row::{COLUMNS, CallRow, Columns};
use crate::error::StoreError;
use crate::store::Store;

/// Calls whose small columns one step looks at.
const STEP_ROWS: i64 = 4096;
/// Bytes of long texts that one statement looks through.
const STEP_BYTES: i64 = 4 << 20;

const READING: &str = "read of the calls";
const THESE: &str = " FROM calls WHERE seq IN (SELECT value FROM json_each(";

/// In which order calls are read, by the time they started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallOrder {
    /// The newest first.
    #[default]
    NewestFirst,
    /// The oldest first.
    OldestFirst,
}

impl CallOrder {
    fn clause(self) -> &'static str {
        match self {
            Self::NewestFirst => " ORDER BY started_ms DESC, seq DESC LIMIT ",
            Self::OldestFirst => " ORDER BY started_ms, seq LIMIT ",
        }
    }

    /// Compares so that it holds for what comes later.
    fn after(self) -> &'static str {
        match self {
            Self::NewestFirst => "<",
            Self::OldestFirst => ">",
        }
    }
}

/// What a page holds at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Calls.
    pub(super) calls: usize,
    /// Bytes of their long texts, past which it ends.
    pub(super) bytes: usize,
    /// How long a text is looked for.
    pub(super) time: Duration,
}

/// Which calls, in which order, up to which.
#[derive(Debug)]
pub(super) struct Reading<'s> {
    pub(super) store: &'s Store,
    pub(super) filter: &'s CallFilter,
    pub(super) order: CallOrder,
    /// No call that was first written after this one.
    pub(super) newest: Option<i64>,
}

/// A call that the small columns let through.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) at: Cursor,
    /// Of its long texts.
    pub(super) bytes: i64,
}

/// Some calls that follow each other.
#[derive(Debug)]
pub(super) struct Step {
    /// Those that the small columns let through, in order.
    pub(super) candidates: Vec<Candidate>,
    /// Where the next step starts; none where this was the last.
    pub(super) end: Option<Cursor>,
}

impl Reading<'_> {
    /// The page from a place on.
    pub(super) async fn page(&self, from: Option<Cursor>, room: Room) -> Result<CallPage, StoreError> {
        match &self.filter.text {
            None => self.read(from, room).await,
            Some(text) => self.search(&Needle::new(text), from, room).await,
        }
    }

    async fn read(&self, from: Option<Cursor>, room: Room) -> Result<CallPage, StoreError> {
        let mut sql = self.select(COLUMNS, from);
        sql.push(self.order.clause()).push_bind(as_number(room.calls.saturating_add(1)));
        let mut page = CallPage::default();
        let (mut last, mut bytes) = (None, 0);
        let mut rows = sql.build().fetch(self.store.readers());
        while let Some(row) = rows.try_next().await.map_err(StoreError::database(READING))? {
            if page.calls.len() == room.calls || bytes > room.bytes {
                page.next = last;
                break;
            }
            let (at, call) = place_and_call(&row)?;
            last = Some(at);
            bytes += call.weight();
            page.calls.push(call);
        }
        Ok(page)
    }

    async fn search(
        &self,
        needle: &Needle,
        from: Option<Cursor>,
        room: Room,
    ) -> Result<CallPage, StoreError> {
        let began = Instant::now();
        let mut page = CallPage::default();
        let (mut reached, mut bytes) = (from, 0);
        loop {
            let Step { candidates, end } = self.step(reached).await?;
            let mut rest = candidates.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(statement_takes(rest));
                for (at, call) in self.matching(needle, now, room.calls - page.calls.len()).await? {
                    bytes += call.weight();
                    page.calls.push(call);
                    if page.calls.len() == room.calls || bytes > room.bytes {
                        page.next = Some(at);
                        return Ok(page);
                    }
                }
                rest = later;
                if let Some(last) = now.last().filter(|_| began.elapsed() > room.time) {
                    page.next = Some(last.at);
                    return Ok(page);
                }
            }
            let Some(end) = end else { return Ok(page) };
            reached = Some(end);
            if began.elapsed() > room.time {
                page.next = Some(end);
                return Ok(page);
            }
        }
    }

    /// The step from a place on.
    pub(super) async fn step(&self, from: Option<Cursor>) -> Result<Step, StoreError> {
        let end = self.end_of_step(from).await?;
        Ok(Step { candidates: self.candidates(from, end).await?, end })
    }

    /// Where the step from a place on ends; none where it takes all that is left. Read from an index alone.
    async fn end_of_step(&self, from: Option<Cursor>) -> Result<Option<Cursor>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT started_ms, seq FROM calls WHERE true");
        self.filter.push_times(&mut sql);
        self.push_from(&mut sql, from);
        sql.push(self.order.clause()).push("1 OFFSET ").push_bind(STEP_ROWS - 1);
        let row = sql.build().fetch_optional(self.store.readers()).await;
        let row = row.map_err(StoreError::database(READING))?;
        row.map(|row| place(&Columns(&row), 0, 1)).transpose()
    }

    /// The calls of a step that the filter lets through but for the text, in order.
    async fn candidates(
        &self,
        from: Option<Cursor>,
        end: Option<Cursor>,
    ) -> Result<Vec<Candidate>, StoreError> {
        const WHAT: &str = "started_ms, seq, coalesce(octet_length(arguments), 0) \
             + coalesce(octet_length(ran_with), 0) + coalesce(octet_length(outcome), 0)";
        let mut sql = self.select(WHAT, from);
        if let Some(end) = end {
            let up_to = if self.order == CallOrder::NewestFirst { ">=" } else { "<=" };
            push_place(&mut sql, up_to, end);
        }
        sql.push(self.order.clause()).push_bind(STEP_ROWS);
        let rows =
            sql.build().fetch_all(self.store.readers()).await.map_err(StoreError::database(READING))?;
        let candidate = |row| {
            let columns = Columns(row);
            Ok(Candidate { at: place(&columns, 0, 1)?, bytes: columns.number(2)? })
        };
        rows.iter().map(candidate).collect()
    }

    /// The places of those of these in which the text is.
    pub(super) async fn matching_places(
        &self,
        needle: &Needle,
        candidates: &[Candidate],
    ) -> Result<HashSet<i64>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT seq");
        sql.push(THESE).push_bind(list(candidates.iter().map(|it| it.at.seq))).push("))");
        needle.push_to(&mut sql);
        let rows =
            sql.build().fetch_all(self.store.readers()).await.map_err(StoreError::database(READING))?;
        rows.iter().map(|row| Columns(row).number(0)).collect()
    }

    /// The first of these in which the text is, at most so many, in order.
    async fn matching(
        &self,
        needle: &Needle,
        candidates: &[Candidate],
        most: usize,
    ) -> Result<Vec<(Cursor, CallRow)>, StoreError> {
        let found = self.matching_places(needle, candidates).await?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        // Put into order here: SQLite would write the long texts to a file to sort them.
        let first = candidates.iter().map(|it| it.at.seq).filter(|seq| found.contains(seq)).take(most);
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(COLUMNS).push(THESE).push_bind(list(first)).push("))");
        let rows =
            sql.build().fetch_all(self.store.readers()).await.map_err(StoreError::database(READING))?;
        let mut calls = rows.iter().map(place_and_call).collect::<Result<Vec<_>, _>>()?;
        calls.sort_unstable_by_key(|(at, _)| (at.started_ms, at.seq));
        if self.order == CallOrder::NewestFirst {
            calls.reverse();
        }
        Ok(calls)
    }

    /// A statement for some columns of what the filter lets through but for the text, from a place on.
    fn select(&self, columns: &str, from: Option<Cursor>) -> QueryBuilder<Sqlite> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(columns).push(" FROM calls WHERE true");
        self.filter.push_to(&mut sql);
        self.push_from(&mut sql, from);
        sql
    }

    fn push_from(&self, sql: &mut QueryBuilder<Sqlite>, from: Option<Cursor>) {
        if let Some(newest) = self.newest {
            // Not to be looked up by it, but by the time.
            sql.push(" AND +seq <= ").push_bind(newest);
        }
        if let Some(from) = from {
            push_place(sql, self.order.after(), from);
        }
    }
}

fn push_place(sql: &mut QueryBuilder<Sqlite>, compares: &str, at: Cursor) {
    sql.push(" AND (started_ms, seq) ").push(compares).push(" (").push_bind(at.started_ms);
    sql.push(", ").push_bind(at.seq).push(")");
}

fn place(columns: &Columns<'_>, started_ms: usize, seq: usize) -> Result<Cursor, StoreError> {
    Ok(Cursor { started_ms: columns.number(started_ms)?, seq: columns.number(seq)? })
}

fn place_and_call(row: &sqlx::sqlite::SqliteRow) -> Result<(Cursor, CallRow), StoreError> {
    let (seq, call) = CallRow::read(row)?;
    Ok((Cursor { started_ms: call.started_ms, seq }, call))
}

/// How many of these one statement looks through: one at least.
pub(super) fn statement_takes(candidates: &[Candidate]) -> usize {
    let mut bytes = 0;
    let within = |it: &&Candidate| {
        bytes += it.bytes;
        bytes <= STEP_BYTES
    };
    candidates.iter().take_while(within).count().max(1).min(candidates.len())
}

fn list(seqs: impl Iterator<Item = i64>) -> String {
    serde_json::Value::from_iter(seqs).to_string()
}

#[cfg(test)]
mod tests;
