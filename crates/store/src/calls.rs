//! The call log: pages, single calls, exports and removal.

mod export;
mod filter;
mod page;
mod removal;
mod search_pattern;

use std::sync::Arc;
use std::time::Duration;

use sqlx::AssertSqlSafe;
use toolway_types::CallId;

use crate::call_row::{COLUMNS, CallRow, CallStatus};
use crate::database::Database;
use crate::error::StoreError;
use crate::writer::rows::key_of;

use page::{CallReader, PageLimits};

pub use filter::{CallCursor, CallFilter, StatusFilter, TextFilter, ToolFilter, UnknownStatus};
pub use page::CallOrder;
pub use removal::CallRemoval;

/// Maximum number of calls per page.
const MAX_PAGE: usize = 1000;
/// Size of arguments and outcomes at which a page ends early, in bytes.
const MAX_PAGE_BYTES: usize = 8 << 20;
/// Time limit of a text search for one page.
const SEARCH_TIME: Duration = Duration::from_millis(250);

/// A page of recorded calls, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallPage {
    /// Calls of the page.
    pub calls: Vec<CallRow>,
    /// Cursor of the next page. None if this is the last page.
    pub next: Option<CallCursor>,
}

/// The recorded calls.
#[derive(Debug, Clone, Copy)]
pub struct CallRepository<'s>(pub(crate) &'s Arc<Database>);

impl CallRepository<'_> {
    /// Lists the calls that match a filter, newest first by start time: at most `limit` calls (1 to 1,000)
    /// and about 8 MiB per page.
    ///
    /// A text search also ends the page after a quarter of a second. The page may then be empty although
    /// there is a next one.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(
        &self,
        filter: &CallFilter,
        cursor: Option<&CallCursor>,
        limit: usize,
    ) -> Result<CallPage, StoreError> {
        self.0.flush_before_read().await;
        let room = PageLimits { calls: limit.clamp(1, MAX_PAGE), bytes: MAX_PAGE_BYTES, time: SEARCH_TIME };
        let reading = CallReader { database: self.0, filter, order: CallOrder::NewestFirst, newest: None };
        reading.page(cursor.copied(), room).await
    }

    /// Finds a call by id. A call that has just ended is found too.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn get(&self, id: CallId) -> Result<Option<CallRow>, StoreError> {
        let found = self.find(id).await?;
        if found.as_ref().is_some_and(|call| call.status != CallStatus::Open) {
            return Ok(found);
        }
        // The record may still be in the queue.
        self.0.flush_before_read().await;
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
}

/// Sequence number of the newest row.
async fn newest_seq(database: &Database) -> Result<i64, StoreError> {
    let (newest,): (i64,) = sqlx::query_as("SELECT coalesce(max(seq), 0) FROM calls")
        .fetch_one(database.readers())
        .await
        .map_err(StoreError::database("read of the calls"))?;
    Ok(newest)
}

#[cfg(test)]
mod tests;
