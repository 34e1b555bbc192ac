//! Reads calls page by page, in either direction. If an index finds the calls, one statement reads a page.
//! Otherwise calls are scanned in steps that are bounded in calls and bytes, so that no reader is busy for
//! long. A text search ends the page when its time is up.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};
use tokio::time::Instant;

use super::CallPage;
use super::filter::{CallCursor, CallFilter};
use super::search_pattern::SearchPattern;
use crate::call_row::{COLUMNS, CallRow, RowColumns};
use crate::database::Database;
use crate::error::StoreError;
use crate::integers::usize_to_i64;

/// Number of calls per scan step.
const STEP_ROWS: i64 = 4096;
/// Size of long texts that one statement searches, in bytes.
const STEP_BYTES: i64 = 4 << 20;

const READING: &str = "read of the calls";
const FROM_CALLS_BY_SEQ: &str = " FROM calls WHERE seq IN (SELECT value FROM json_each(";

/// Order of calls by start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallOrder {
    /// Newest first.
    #[default]
    NewestFirst,
    /// Oldest first.
    OldestFirst,
}

impl CallOrder {
    fn clause(self) -> &'static str {
        match self {
            Self::NewestFirst => " ORDER BY started_ms DESC, seq DESC LIMIT ",
            Self::OldestFirst => " ORDER BY started_ms, seq LIMIT ",
        }
    }

    /// Comparison operator that selects the calls after a cursor.
    fn comparison(self) -> &'static str {
        match self {
            Self::NewestFirst => "<",
            Self::OldestFirst => ">",
        }
    }
}

/// Limits of one page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLimits {
    /// Maximum number of calls.
    pub(super) calls: usize,
    /// Size of long texts at which the page ends, in bytes.
    pub(super) bytes: usize,
    /// Time limit of a text search.
    pub(super) time: Duration,
}

/// Reads the calls that match a filter, in one order.
#[derive(Debug)]
pub(super) struct CallReader<'s> {
    pub(super) database: &'s Database,
    pub(super) filter: &'s CallFilter,
    pub(super) order: CallOrder,
    /// Sequence number of the newest call to include.
    pub(super) newest: Option<i64>,
}

/// A call whose small columns match the filter.
#[derive(Debug)]
pub(super) struct CallCandidate {
    pub(super) cursor: CallCursor,
    /// Size of its long texts, in bytes.
    pub(super) bytes: i64,
}

/// Result of scanning a range of consecutive calls.
#[derive(Debug)]
pub(super) struct ScanStep {
    /// Calls whose small columns match, in order.
    pub(super) candidates: Vec<CallCandidate>,
    /// Start of the next step. None if this is the last step.
    pub(super) end: Option<CallCursor>,
}

impl CallReader<'_> {
    /// Reads a page that starts at a cursor.
    pub(super) async fn page(
        &self,
        from: Option<CallCursor>,
        room: PageLimits,
    ) -> Result<CallPage, StoreError> {
        let needle = self.filter.text.as_ref().map(SearchPattern::new);
        if needle.is_none() && self.filter.is_indexed() {
            self.read(from, room).await
        } else {
            self.search(needle.as_ref(), from, room).await
        }
    }

    async fn read(&self, from: Option<CallCursor>, room: PageLimits) -> Result<CallPage, StoreError> {
        let mut sql = self.select(COLUMNS, from);
        sql.push(self.order.clause()).push_bind(usize_to_i64(room.calls.saturating_add(1)));
        let mut page = PageBuilder::new(room);
        let mut rows = sql.build().fetch(self.database.readers());
        while let Some(row) = rows.try_next().await.map_err(StoreError::database(READING))? {
            let (at, call) = cursor_and_call(&row)?;
            if !page.try_push(at, call) {
                break;
            }
        }
        Ok(page.page)
    }

    async fn search(
        &self,
        needle: Option<&SearchPattern>,
        from: Option<CallCursor>,
        room: PageLimits,
    ) -> Result<CallPage, StoreError> {
        let began = Instant::now();
        // Only a text search may end a page before it is full.
        let in_time = || needle.is_none() || began.elapsed() <= room.time;
        let mut page = PageBuilder::new(room);
        let mut reached = from;
        loop {
            let wanted = page.remaining();
            let ScanStep { candidates, end } = self.step(reached, needle.is_none().then_some(wanted)).await?;
            let mut rest = candidates.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(statement_capacity(rest));
                let found = self.matching_seqs(needle, now).await?;
                let mut left = found.as_slice();
                while !left.is_empty() {
                    let (first, others) = left.split_at(page.remaining().min(left.len()));
                    for (at, call) in self.calls_by_seq(first).await? {
                        if !page.try_push(at, call) {
                            return Ok(page.page);
                        }
                    }
                    left = others;
                }
                if let Some(last) = now.last().filter(|_| !in_time()) {
                    return Ok(page.finish_at(last.cursor));
                }
                rest = later;
            }
            let Some(end) = end else { return Ok(page.page) };
            if !in_time() {
                return Ok(page.finish_at(end));
            }
            reached = Some(end);
        }
    }

    /// Scans a step that starts at a cursor, for at most a given number of candidates.
    pub(super) async fn step(
        &self,
        from: Option<CallCursor>,
        most: Option<usize>,
    ) -> Result<ScanStep, StoreError> {
        let end = self.end_of_step(from).await?;
        let most = most.map_or(STEP_ROWS, |most| usize_to_i64(most).min(STEP_ROWS));
        let candidates = self.candidates(from, end, most).await?;
        let last = candidates.last().filter(|_| usize_to_i64(candidates.len()) == most);
        let end = last.map(|last| last.cursor).or(end);
        Ok(ScanStep { candidates, end })
    }

    /// End of the step that starts at a cursor. None if the step takes all remaining calls. Reads only an
    /// index.
    async fn end_of_step(&self, from: Option<CallCursor>) -> Result<Option<CallCursor>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT started_ms, seq FROM calls WHERE true");
        self.filter.push_times(&mut sql);
        self.push_start(&mut sql, from);
        sql.push(self.order.clause()).push("1 OFFSET ").push_bind(STEP_ROWS - 1);
        let rows = self.rows(sql).await?;
        rows.first().map(|row| cursor_from_columns(&RowColumns(row), 0, 1)).transpose()
    }

    /// Calls of a step that match the filter except for the text, in order.
    async fn candidates(
        &self,
        from: Option<CallCursor>,
        end: Option<CallCursor>,
        most: i64,
    ) -> Result<Vec<CallCandidate>, StoreError> {
        const WHAT: &str = "started_ms, seq, coalesce(octet_length(arguments), 0) \
             + coalesce(octet_length(effective_arguments), 0) + coalesce(octet_length(outcome), 0)";
        let mut sql = self.select(WHAT, from);
        if let Some(end) = end {
            let up_to = if self.order == CallOrder::NewestFirst { ">=" } else { "<=" };
            push_cursor_condition(&mut sql, up_to, end);
        }
        sql.push(self.order.clause()).push_bind(most);
        let rows = self.rows(sql).await?;
        let candidate = |row| {
            let columns = RowColumns(row);
            Ok(CallCandidate { cursor: cursor_from_columns(&columns, 0, 1)?, bytes: columns.number(2)? })
        };
        rows.iter().map(candidate).collect()
    }

    /// Sequence numbers of the candidates that contain the text, or of all of them if there is no text, in
    /// order.
    pub(super) async fn matching_seqs(
        &self,
        needle: Option<&SearchPattern>,
        candidates: &[CallCandidate],
    ) -> Result<Vec<i64>, StoreError> {
        let mut seqs: Vec<i64> = candidates.iter().map(|it| it.cursor.seq).collect();
        if let Some(needle) = needle {
            let mut sql = QueryBuilder::<Sqlite>::new("SELECT seq");
            sql.push(FROM_CALLS_BY_SEQ).push_bind(json_list(&seqs)).push("))");
            needle.push_to(&mut sql);
            let rows = self.rows(sql).await?;
            let found =
                rows.iter().map(|row| RowColumns(row).number(0)).collect::<Result<HashSet<_>, _>>()?;
            seqs.retain(|seq| found.contains(seq));
        }
        Ok(seqs)
    }

    /// Reads calls by sequence number, in order.
    async fn calls_by_seq(&self, seqs: &[i64]) -> Result<Vec<(CallCursor, CallRow)>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(COLUMNS).push(FROM_CALLS_BY_SEQ).push_bind(json_list(seqs)).push("))");
        let rows = self.rows(sql).await?;
        let mut calls = rows.iter().map(cursor_and_call).collect::<Result<Vec<_>, _>>()?;
        // Sorted here, because SQLite would write the long texts to a file to sort them.
        calls.sort_unstable_by_key(|(at, _)| (at.started_ms, at.seq));
        if self.order == CallOrder::NewestFirst {
            calls.reverse();
        }
        Ok(calls)
    }

    /// Runs a statement that scans calls. Only one such statement runs at a time, so that readers remain free
    /// for indexed queries.
    async fn rows(&self, mut sql: QueryBuilder<Sqlite>) -> Result<Vec<SqliteRow>, StoreError> {
        let _alone = self.database.search_lock.lock().await;
        sql.build().fetch_all(self.database.readers()).await.map_err(StoreError::database(READING))
    }

    /// Selects columns of calls that match the filter except for the text, from a cursor on.
    fn select(&self, columns: &str, from: Option<CallCursor>) -> QueryBuilder<Sqlite> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(columns).push(" FROM calls WHERE true");
        self.filter.push_to(&mut sql);
        self.push_start(&mut sql, from);
        sql
    }

    fn push_start(&self, sql: &mut QueryBuilder<Sqlite>, from: Option<CallCursor>) {
        if let Some(newest) = self.newest {
            // `+` keeps SQLite from using this column's index instead of the one on time.
            sql.push(" AND +seq <= ").push_bind(newest);
        }
        if let Some(from) = from {
            push_cursor_condition(sql, self.order.comparison(), from);
        }
    }
}

/// A page under construction.
struct PageBuilder {
    page: CallPage,
    limits: PageLimits,
    bytes: usize,
    last: Option<CallCursor>,
}

impl PageBuilder {
    fn new(room: PageLimits) -> Self {
        Self { page: CallPage::default(), limits: room, bytes: 0, last: None }
    }

    /// Number of calls still to find: one more than fits, to detect a next page.
    fn remaining(&self) -> usize {
        self.limits.calls.saturating_sub(self.page.calls.len()).saturating_add(1)
    }

    /// Adds a call if it fits. Otherwise the next page starts with it.
    fn try_push(&mut self, at: CallCursor, call: CallRow) -> bool {
        if self.page.calls.len() >= self.limits.calls || self.bytes > self.limits.bytes {
            self.page.next = self.last;
            return false;
        }
        self.last = Some(at);
        self.bytes += call.weight();
        self.page.calls.push(call);
        true
    }

    /// Finishes the page; the next one continues at a cursor.
    fn finish_at(mut self, reached: CallCursor) -> CallPage {
        self.page.next = Some(reached);
        self.page
    }
}

fn push_cursor_condition(sql: &mut QueryBuilder<Sqlite>, compares: &str, at: CallCursor) {
    sql.push(" AND (started_ms, seq) ").push(compares).push(" (").push_bind(at.started_ms);
    sql.push(", ").push_bind(at.seq).push(")");
}

fn cursor_from_columns(
    columns: &RowColumns<'_>,
    started_ms: usize,
    seq: usize,
) -> Result<CallCursor, StoreError> {
    Ok(CallCursor { started_ms: columns.number(started_ms)?, seq: columns.number(seq)? })
}

fn cursor_and_call(row: &SqliteRow) -> Result<(CallCursor, CallRow), StoreError> {
    let (seq, call) = CallRow::read(row)?;
    Ok((CallCursor { started_ms: call.started_ms, seq }, call))
}

/// Number of candidates that one statement may search, at least one.
pub(super) fn statement_capacity(candidates: &[CallCandidate]) -> usize {
    let mut bytes = 0;
    let within = |it: &&CallCandidate| {
        bytes += it.bytes;
        bytes <= STEP_BYTES
    };
    candidates.iter().take_while(within).count().max(1).min(candidates.len())
}

fn json_list(seqs: &[i64]) -> String {
    serde_json::Value::from(seqs).to_string()
}

#[cfg(test)]
mod tests;
