//! Reading calls a page at a time, in either direction. Where an index leads to them, one statement reads a page.
//! Else calls are looked through in steps, each bounded in calls and bytes, so that no reader is held for long,
//! however many calls there are; and where a text is looked for, the page ends when its time is up, wherever it got.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteRow;
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
        let needle = self.filter.text.as_ref().map(Needle::new);
        if needle.is_none() && self.filter.is_found_by_an_index() {
            self.read(from, room).await
        } else {
            self.look_through(needle.as_ref(), from, room).await
        }
    }

    async fn read(&self, from: Option<Cursor>, room: Room) -> Result<CallPage, StoreError> {
        let mut sql = self.select(COLUMNS, from);
        sql.push(self.order.clause()).push_bind(as_number(room.calls.saturating_add(1)));
        let mut page = Filling::new(room);
        let mut rows = sql.build().fetch(self.store.readers());
        while let Some(row) = rows.try_next().await.map_err(StoreError::database(READING))? {
            let (at, call) = place_and_call(&row)?;
            if !page.takes(at, call) {
                break;
            }
        }
        Ok(page.page)
    }

    async fn look_through(
        &self,
        needle: Option<&Needle>,
        from: Option<Cursor>,
        room: Room,
    ) -> Result<CallPage, StoreError> {
        let began = Instant::now();
        // Only where a text is looked for does a page end before it is full.
        let in_time = || needle.is_none() || began.elapsed() <= room.time;
        let mut page = Filling::new(room);
        let mut reached = from;
        loop {
            let wanted = page.wanted();
            let Step { candidates, end } = self.step(reached, needle.is_none().then_some(wanted)).await?;
            let mut rest = candidates.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(statement_takes(rest));
                let found = self.found(needle, now).await?;
                let mut left = found.as_slice();
                while !left.is_empty() {
                    let (first, others) = left.split_at(page.wanted().min(left.len()));
                    for (at, call) in self.whole(first).await? {
                        if !page.takes(at, call) {
                            return Ok(page.page);
                        }
                    }
                    left = others;
                }
                if let Some(last) = now.last().filter(|_| !in_time()) {
                    return Ok(page.up_to(last.at));
                }
                rest = later;
            }
            let Some(end) = end else { return Ok(page.page) };
            if !in_time() {
                return Ok(page.up_to(end));
            }
            reached = Some(end);
        }
    }

    /// The step from a place on; not more than so many candidates, where that is said.
    pub(super) async fn step(&self, from: Option<Cursor>, most: Option<usize>) -> Result<Step, StoreError> {
        let end = self.end_of_step(from).await?;
        let most = most.map_or(STEP_ROWS, |most| as_number(most).min(STEP_ROWS));
        let candidates = self.candidates(from, end, most).await?;
        let last = candidates.last().filter(|_| as_number(candidates.len()) == most);
        let end = last.map(|last| last.at).or(end);
        Ok(Step { candidates, end })
    }

    /// Where the step from a place on ends; none where it takes all that is left. Read from an index alone.
    async fn end_of_step(&self, from: Option<Cursor>) -> Result<Option<Cursor>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT started_ms, seq FROM calls WHERE true");
        self.filter.push_times(&mut sql);
        self.push_from(&mut sql, from);
        sql.push(self.order.clause()).push("1 OFFSET ").push_bind(STEP_ROWS - 1);
        let rows = self.rows(sql).await?;
        rows.first().map(|row| place(&Columns(row), 0, 1)).transpose()
    }

    /// The calls of a step that the filter lets through but for the text, in order.
    async fn candidates(
        &self,
        from: Option<Cursor>,
        end: Option<Cursor>,
        most: i64,
    ) -> Result<Vec<Candidate>, StoreError> {
        const WHAT: &str = "started_ms, seq, coalesce(octet_length(arguments), 0) \
             + coalesce(octet_length(ran_with), 0) + coalesce(octet_length(outcome), 0)";
        let mut sql = self.select(WHAT, from);
        if let Some(end) = end {
            let up_to = if self.order == CallOrder::NewestFirst { ">=" } else { "<=" };
            push_place(&mut sql, up_to, end);
        }
        sql.push(self.order.clause()).push_bind(most);
        let rows = self.rows(sql).await?;
        let candidate = |row| {
            let columns = Columns(row);
            Ok(Candidate { at: place(&columns, 0, 1)?, bytes: columns.number(2)? })
        };
        rows.iter().map(candidate).collect()
    }

    /// The places of those of these in which the text is, where one is looked for, in order.
    pub(super) async fn found(
        &self,
        needle: Option<&Needle>,
        candidates: &[Candidate],
    ) -> Result<Vec<i64>, StoreError> {
        let mut seqs: Vec<i64> = candidates.iter().map(|it| it.at.seq).collect();
        if let Some(needle) = needle {
            let mut sql = QueryBuilder::<Sqlite>::new("SELECT seq");
            sql.push(THESE).push_bind(list(&seqs)).push("))");
            needle.push_to(&mut sql);
            let rows = self.rows(sql).await?;
            let found = rows.iter().map(|row| Columns(row).number(0)).collect::<Result<HashSet<_>, _>>()?;
            seqs.retain(|seq| found.contains(seq));
        }
        Ok(seqs)
    }

    /// Calls by their places, in order.
    async fn whole(&self, seqs: &[i64]) -> Result<Vec<(Cursor, CallRow)>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(COLUMNS).push(THESE).push_bind(list(seqs)).push("))");
        let rows = self.rows(sql).await?;
        let mut calls = rows.iter().map(place_and_call).collect::<Result<Vec<_>, _>>()?;
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
        let _alone = self.store.inner().looking_through.lock().await;
        sql.build().fetch_all(self.store.readers()).await.map_err(StoreError::database(READING))
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

/// A page that is being filled.
struct Filling {
    page: CallPage,
    room: Room,
    bytes: usize,
    last: Option<Cursor>,
}

impl Filling {
    fn new(room: Room) -> Self {
        Self { page: CallPage::default(), room, bytes: 0, last: None }
    }

    /// How many more calls to look for: one more than fits, to know whether there is a next page.
    fn wanted(&self) -> usize {
        self.room.calls.saturating_sub(self.page.calls.len()).saturating_add(1)
    }

    /// Takes a call, if there is room for it. If not, the next page starts with it.
    fn takes(&mut self, at: Cursor, call: CallRow) -> bool {
        if self.page.calls.len() >= self.room.calls || self.bytes > self.room.bytes {
            self.page.next = self.last;
            return false;
        }
        self.last = Some(at);
        self.bytes += call.weight();
        self.page.calls.push(call);
        true
    }

    /// The page as it is, after which it goes on from a place.
    fn up_to(mut self, reached: Cursor) -> CallPage {
        self.page.next = Some(reached);
        self.page
    }
}

fn push_place(sql: &mut QueryBuilder<Sqlite>, compares: &str, at: Cursor) {
    sql.push(" AND (started_ms, seq) ").push(compares).push(" (").push_bind(at.started_ms);
    sql.push(", ").push_bind(at.seq).push(")");
}

fn place(columns: &Columns<'_>, started_ms: usize, seq: usize) -> Result<Cursor, StoreError> {
    Ok(Cursor { started_ms: columns.number(started_ms)?, seq: columns.number(seq)? })
}

fn place_and_call(row: &SqliteRow) -> Result<(Cursor, CallRow), StoreError> {
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

fn list(seqs: &[i64]) -> String {
    serde_json::Value::from(seqs).to_string()
}

#[cfg(test)]
mod tests;
