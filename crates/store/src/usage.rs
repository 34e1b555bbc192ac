//! Model requests with their tokens and costs. They contain no conversation text: only numbers, and the names
//! by which these are summed. They stay when a session is removed.

mod model_request;
mod report;
mod tool_usage;

use crate::call_row::RowColumns;
use crate::database::Database;
use crate::error::StoreError;

pub use model_request::{ModelRequestRecord, RequestStatus};
pub use report::{ModelUsageGrouping, ModelUsageRow, UsageFilter};
pub use tool_usage::ToolUsageRow;

pub(crate) use model_request::push_request;

const READING: &str = "read of what was used";
const WRITING: &str = "writing of a request to a model";

/// The table of model requests.
#[derive(Debug, Clone, Copy)]
pub struct UsageRepository<'s>(pub(crate) &'s Database);

impl UsageRepository<'_> {
    /// Stores requests that belong to no running turn; requests of a turn are stored with its messages. They
    /// survive a crash of the program, but not of the computer.
    ///
    /// # Errors
    /// Fails if SQLite fails. Then no request is stored.
    pub async fn record(&self, requests: Vec<ModelRequestRecord>) -> Result<(), StoreError> {
        self.0
            .write(move |conn| Box::pin(async move { model_request::write_all(conn, &requests).await }))
            .await
    }

    /// Known cost of a principal's requests that started at a time or later, in one currency.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn spent(&self, principal: &str, since_ms: i64, currency: &str) -> Result<f64, StoreError> {
        const SPENT: &str = "SELECT coalesce(sum(cost), 0.0) FROM model_requests \
             WHERE principal = ? AND started_ms >= ? AND currency = ?";
        let row = sqlx::query(SPENT)
            .bind(principal)
            .bind(since_ms)
            .bind(currency)
            .fetch_one(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        Ok(RowColumns(&row).real_or_none(0)?.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests;
