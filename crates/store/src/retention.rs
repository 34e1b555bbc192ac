//! Keeps the call log within its time and size limits. The oldest calls are removed first, in small steps so
//! that the writer is never blocked for long. Empty pages are returned to the file system in small steps too.

use crate::call_log_size::{
    DatabasePages, RemovedCalls, conversation_bytes, release_pages, remove_older, remove_step,
};
use crate::error::StoreError;
use crate::grants;
use crate::specs;
use crate::store::Store;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Store {
    /// Removes calls that are older than the limit, and the oldest calls while the database is too large.
    /// Conversations do not count, because only people remove them. Running calls are kept. Expired grants of
    /// the same age and unused specs are removed too. Call this from time to time: it returns at once if
    /// there is nothing to do.
    ///
    /// # Errors
    /// Fails if SQLite fails. The calls removed until then stay removed.
    pub async fn enforce_retention(&self) -> Result<RemovedCalls, StoreError> {
        // Stored starts of ended calls must not outlive the calls.
        self.database().flush_before_read().await;
        let options = &self.database().options;
        let mut removed = RemovedCalls::default();
        let mut limit = i64::MAX;
        if options.retention_bytes > 0 {
            let calls = i64::try_from(options.retention_bytes).unwrap_or(i64::MAX);
            limit = calls.saturating_add(conversation_bytes(self.database()).await?);
        }
        if options.retention_days > 0 {
            let oldest = self.database().clock.now_ms() - i64::from(options.retention_days) * DAY_MS;
            removed = remove_older(self.database(), oldest).await?;
            grants::remove_ended(self.database(), oldest).await?;
        }
        while DatabasePages::read(self.database()).await?.used_bytes() > limit {
            let calls = remove_step(self.database(), i64::MAX).await?;
            if calls == 0 {
                break;
            }
            removed.calls += calls;
        }
        specs::remove_unused_documents(self.database()).await?;
        removed.freed_bytes = release_pages(self.database()).await?;
        Ok(removed)
    }
}

#[cfg(test)]
mod tests;
