//! Removes one call, or all calls that match a filter, in small steps so that other records are written in
//! between. Running calls are not removed, because their outcome is still to be recorded.

use toolway_types::CallId;

use super::filter::CallFilter;
use super::page::{CallCandidate, CallOrder, CallReader, ScanStep, statement_capacity};
use super::search_pattern::SearchPattern;
use super::{CallRepository, newest_seq};
use crate::call_log_size::{self, RemovedCalls};
use crate::error::StoreError;
use crate::writer::rows::key_of;

/// Result of removing a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRemoval {
    /// The call was removed.
    Removed,
    /// The call is still running and was not removed.
    Running,
    /// The call does not exist.
    Unknown,
}

/// Maximum number of calls per statement.
const BATCH_SIZE: usize = 500;

impl CallRepository<'_> {
    /// Removes a call, unless it is running.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn remove(&self, id: CallId) -> Result<CallRemoval, StoreError> {
        const REMOVE: &str = "DELETE FROM calls WHERE id = ? AND status <> 0";
        self.0.flush_before_read().await;
        if self.0.change("removal of a call", sqlx::query(REMOVE).bind(key_of(id))).await? {
            return Ok(CallRemoval::Removed);
        }
        Ok(if self.find(id).await?.is_some() { CallRemoval::Running } else { CallRemoval::Unknown })
    }

    /// Removes the calls that match a filter, among those recorded at the start of the removal, except
    /// running ones.
    ///
    /// # Errors
    /// Fails if SQLite fails. The calls removed so far stay removed.
    pub async fn remove_all(&self, filter: &CallFilter) -> Result<RemovedCalls, StoreError> {
        self.0.flush_before_read().await;
        let reading = CallReader {
            database: self.0,
            filter,
            order: CallOrder::OldestFirst,
            newest: Some(newest_seq(self.0).await?),
        };
        let needle = filter.text.as_ref().map(SearchPattern::new);
        let mut removed = RemovedCalls::default();
        let mut from = None;
        loop {
            let ScanStep { candidates, end } = reading.step(from, None).await?;
            let mut rest = candidates.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(statement_capacity(rest).min(BATCH_SIZE));
                removed.calls += self.remove_some(&reading, needle.as_ref(), now).await?;
                rest = later;
            }
            if end.is_none() {
                break;
            }
            from = end;
        }
        removed.freed_bytes = call_log_size::release_pages(self.0).await?;
        Ok(removed)
    }

    async fn remove_some(
        &self,
        reading: &CallReader<'_>,
        needle: Option<&SearchPattern>,
        candidates: &[CallCandidate],
    ) -> Result<u64, StoreError> {
        let seqs = reading.matching_seqs(needle, candidates).await?;
        if seqs.is_empty() { Ok(0) } else { call_log_size::remove_by_seq(self.0, &seqs).await }
    }
}

#[cfg(test)]
mod tests;
