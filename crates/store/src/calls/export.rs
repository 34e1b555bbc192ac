//! All calls that a filter lets through, as a stream of bounded pages: the next is read when it is asked for, and
//! nothing is held between two.

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
    /// The newest call when it began.
    newest: Option<i64>,
    from: Option<CallCursor>,
    ended: bool,
}

impl CallRepository<'_> {
    /// The calls that a filter lets through, of those that are recorded when the first page is asked for, in pages
    /// of at most 256 calls and about 1 MiB, none of them empty. What is thrown away meanwhile is missing.
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
