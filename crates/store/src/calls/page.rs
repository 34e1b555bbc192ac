//! Reading calls a page at a time, in either direction. Where an index leads to them, one statement reads a page.
//! Else calls are looked through in steps, each bounded in calls and bytes, so that no reader is held for long,
//! however many calls there are; and where a text is looked for, the page ends when its time is up, wherever it got.

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

/// Calls whose small columns one step looks at.
const STEP_ROWS: i64 = 4096;
/// Bytes of long texts that one statement looks through.
const STEP_BYTES: i64 = 4 << 20;

const READING: &str = "read of the calls";
const FROM_CALLS_BY_SEQ: &str = " FROM calls WHERE seq IN (SELECT value FROM json_each(";

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
    /// Calls.
    pub(super) calls: usize,
    /// Bytes of their long texts, past which it ends.
    pub(super) bytes: usize,
    /// Time limit of a text search.
    pub(super) time: Duration,
}

/// Which calls, in which order, up to which.
#[derive(Debug)]
pub(super) struct CallReader<'s> {
    pub(super) database: &'s Database,
    pub(super) filter: &'s CallFilter,
    pub(super) order: CallOrder,
    /// No call that was first written after this one.
    pub(super) newest: Option<i64>,
}

/// A call that the small columns let through.
#[derive(Debug)]
pub(super) struct CallCandidate {
    pub(super) cursor: CallCursor,
    /// Of its long texts.
    pub(super) bytes: i64,
}

/// Some calls that follow each other.
#[derive(Debug)]
pub(super) struct ScanStep {
    /// Those that the small columns let through, in order.
    pub(super) candidates: Vec<CallCandidate>,
    /// Start of the next step. None if this is the last step.
    pub(super) end: Option<CallCursor>,
}

impl CallReader<'_> {
    /// The page from a place on.
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
        // Only where a text is looked for does a page end before it is full.
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

    /// The step from a place on; not more than so many candidates, where that is said.
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

    /// End of the step that starts at a place. None if the step takes all remaining calls. Read from an index alone.
    async fn end_of_step(&self, from: Option<CallCursor>) -> Result<Option<CallCursor>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT started_ms, seq FROM calls WHERE true");
        self.filter.push_times(&mut sql);
        self.push_start(&mut sql, from);
        sql.push(self.order.clause()).push("1 OFFSET ").push_bind(STEP_ROWS - 1);
        let rows = self.rows(sql).await?;
        rows.first().map(|row| cursor_from_columns(&RowColumns(row), 0, 1)).transpose()
    }

    /// The calls of a step that the filter lets through but for the text, in order.
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

    /// The places of those of these in which the text is, where one is looked for, in order.
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

    /// Calls by their places, in order.
    async fn calls_by_seq(&self, seqs: &[i64]) -> Result<Vec<(CallCursor, CallRow)>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(COLUMNS).push(FROM_CALLS_BY_SEQ).push_bind(json_list(seqs)).push("))");
        let rows = self.rows(sql).await?;
        let mut calls = rows.iter().map(cursor_and_call).collect::<Result<Vec<_>, _>>()?;
        // Put into order here: SQLite would write the long texts to a file to sort them.
        calls.sort_unstable_by_key(|(at, _)| (at.started_ms, at.seq));
        if self.order == CallOrder::NewestFirst {
            calls.reverse();
        }
        Ok(calls)
    }

    /// The rows of a statement that looks through calls. One such statement runs at a time, so that there are always
    /// readers for those who know what they want.
    async fn rows(&self, mut sql: QueryBuilder<Sqlite>) -> Result<Vec<SqliteRow>, StoreError> {
        let _alone = self.database.search_lock.lock().await;
        sql.build().fetch_all(self.database.readers()).await.map_err(StoreError::database(READING))
    }

    /// A statement for some columns of what the filter lets through but for the text, from a place on.
    fn select(&self, columns: &str, from: Option<CallCursor>) -> QueryBuilder<Sqlite> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(columns).push(" FROM calls WHERE true");
        self.filter.push_to(&mut sql);
        self.push_start(&mut sql, from);
        sql
    }

    fn push_start(&self, sql: &mut QueryBuilder<Sqlite>, from: Option<CallCursor>) {
        if let Some(newest) = self.newest {
            // Not to be looked up by it, but by the time.
            sql.push(" AND +seq <= ").push_bind(newest);
        }
        if let Some(from) = from {
            push_cursor_condition(sql, self.order.comparison(), from);
        }
    }
}

/// A page that is being filled.
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

    /// Number of calls still to find: one more than fits, to know whether there is a next page.
    fn remaining(&self) -> usize {
        self.limits.calls.saturating_sub(self.page.calls.len()).saturating_add(1)
    }

    /// Takes a call, if there is room for it. If not, the next page starts with it.
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

    /// The page as it is, after which it goes on from a place.
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

/// Number of these that one statement looks through, at least one.
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
