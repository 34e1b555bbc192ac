//! Requests to models, their tokens and costs. No conversation text is here: only numbers, and the names they
//! are added up by. They stay when a session is removed.

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

/// The requests to models.
#[derive(Debug, Clone, Copy)]
pub struct UsageRepository<'s>(pub(crate) &'s Database);

impl UsageRepository<'_> {
    /// Keeps requests that belong to no running turn; those of a turn are kept with what was said in it. It survives
    /// the program, not the computer.
    ///
    /// # Errors
    /// Fails if SQLite fails. Then no request is stored.
    pub async fn record(&self, requests: Vec<ModelRequestRecord>) -> Result<(), StoreError> {
        self.0
            .write(move |conn| Box::pin(async move { model_request::write_all(conn, &requests).await }))
            .await
    }

    /// Known cost of a principal's requests that began at a time or later, in one currency.
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
