//! Exports all matching calls as a stream of bounded pages. Each page is read on demand, and no transaction
//! stays open between pages.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};

use super::filter::{CallCursor, CallFilter};
use super::page::{CallOrder, CallReader, PageLimits};
use super::{CallRepository, newest_seq};
use crate::call_row::CallRow;
use crate::database::Database;
use crate::error::StoreError;

/// Limits of one page.
const PAGE_LIMITS: PageLimits = PageLimits { calls: 256, bytes: 1 << 20, time: Duration::from_millis(250) };

/// State of an export.
struct CallExport {
    database: Arc<Database>,
    filter: CallFilter,
    order: CallOrder,
    /// Sequence number of the newest call at the start of the export.
    newest: Option<i64>,
    from: Option<CallCursor>,
    ended: bool,
}

impl CallRepository<'_> {
    /// Exports the calls that match a filter, among those recorded when the first page is requested. Pages
    /// have at most 256 calls and about 1 MiB, and are never empty. Calls removed during the export are
    /// missing.
    ///
    /// # Errors
    /// Fails if SQLite fails. The stream ends with the error.
    pub fn export(
        &self,
        filter: CallFilter,
        order: CallOrder,
    ) -> impl Stream<Item = Result<Vec<CallRow>, StoreError>> + Send + use<> {
        let export = CallExport {
            database: Arc::clone(self.0),
            filter,
            order,
            newest: None,
            from: None,
            ended: false,
        };
        stream::try_unfold(export, async |mut export| {
            let page = export.next().await?;
            Ok(page.map(|page| (page, export)))
        })
    }
}

impl CallExport {
    async fn next(&mut self) -> Result<Option<Vec<CallRow>>, StoreError> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => {
                self.database.flush_before_read().await;
                newest_seq(&self.database).await?
            }
        };
        self.newest = Some(newest);
        while !self.ended {
            let reading = CallReader {
                database: &self.database,
                filter: &self.filter,
                order: self.order,
                newest: self.newest,
            };
            let page = reading.page(self.from, PAGE_LIMITS).await?;
            self.from = page.next;
            self.ended = page.next.is_none();
            if !page.calls.is_empty() {
                return Ok(Some(page.calls));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
