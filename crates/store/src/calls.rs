//! The call log: pages, single calls, and throwing away.

mod filter;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, QueryBuilder, Sqlite};
use toolway_types::CallId;

use crate::call_row::{COLUMNS, CallRow, CallStatus};
use crate::error::StoreError;
use crate::retention::{self, Removed};
use crate::store::Store;
use crate::writer::rows::key_of;

pub use filter::{CallFilter, Cursor, StatusFilter, ToolFilter, UnknownStatus};

/// Most calls of one page.
const MAX_PAGE: usize = 1000;
/// Most bytes of arguments and outcomes on one page, past which it ends early.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// Some of the recorded calls, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPage {
    /// The calls.
    pub calls: Vec<CallRow>,
    /// Where the next page starts; none where this was the last.
    pub next: Option<Cursor>,
}

/// The recorded calls.
#[derive(Debug, Clone, Copy)]
pub struct Calls<'s>(pub(crate) &'s Store);

impl Calls<'_> {
    /// A page of the calls that a filter lets through, newest first by the time they started. At most `limit`
    /// of them (1 to 1,000), and at most about 8 MiB; what comes after is on the next page.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn list(
        &self,
        filter: &CallFilter,
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<CallPage, StoreError> {
        self.0.catch_up().await;
        let limit = limit.clamp(1, MAX_PAGE);
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(COLUMNS).push(" FROM calls WHERE true");
        filter.push_to(&mut sql);
        if let Some(cursor) = cursor {
            sql.push(" AND (started_ms, seq) < (").push_bind(cursor.started_ms);
            sql.push(", ").push_bind(cursor.seq).push(")");
        }
        sql.push(" ORDER BY started_ms DESC, seq DESC LIMIT ").push_bind(as_number(limit + 1));

        let mut page = CallPage { calls: Vec::new(), next: None };
        let mut last = None;
        let mut bytes = 0;
        let mut rows = sql.build().fetch(self.0.readers());
        while let Some(row) = rows.try_next().await.map_err(StoreError::database("read of the calls"))? {
            if page.calls.len() == limit || bytes > MAX_PAGE_BYTES {
                page.next = last;
                break;
            }
            let (seq, call) = CallRow::read(&row)?;
            last = Some(Cursor { started_ms: call.started_ms, seq });
            bytes += call.weight();
            page.calls.push(call);
        }
        Ok(page)
    }

    /// One call; none where it is not recorded. One that has just ended is found.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn get(&self, id: CallId) -> Result<Option<CallRow>, StoreError> {
        let found = self.find(id).await?;
        if found.as_ref().is_some_and(|call| call.status != CallStatus::Open) {
            return Ok(found);
        }
        // Its record may still be on its way.
        self.0.catch_up().await;
        self.find(id).await
    }

    async fn find(&self, id: CallId) -> Result<Option<CallRow>, StoreError> {
        let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM calls WHERE id = ?"));
        let row = sqlx::query(sql)
            .bind(key_of(id))
            .fetch_optional(self.0.readers())
            .await
            .map_err(StoreError::database("read of a call"))?;
        Ok(row.map(|row| CallRow::read(&row)).transpose()?.map(|(_, call)| call))
    }

    /// Throws away the calls that started before a time, but not those that still run. Goes in small steps,
    /// between which other records are written.
    ///
    /// # Errors
    /// What SQLite says; what was thrown away until then stays so.
    pub async fn purge(&self, before_ms: i64) -> Result<Removed, StoreError> {
        self.0.catch_up().await;
        let mut removed = retention::remove_older(self.0, before_ms).await?;
        removed.freed_bytes = retention::give_back(self.0).await?;
        Ok(removed)
    }
}

pub(crate) fn as_number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
