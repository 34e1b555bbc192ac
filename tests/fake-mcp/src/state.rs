//! The common state of all connections to one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::task_manager::TaskManager;

use crate::changes::ServerChanges;
use crate::options::FakeMcpOptions;
use crate::request_states::RequestStates;
use crate::sessions::ResumableSessions;

pub(crate) struct FakeMcpState {
    pub(crate) options: FakeMcpOptions,
    pub(crate) changes: ServerChanges,
    pub(crate) states: RequestStates,
    pub(crate) tasks: TaskManager,
    pub(crate) sessions: Arc<ResumableSessions>,
    cancelled: Arc<AtomicU64>,
}

impl FakeMcpState {
    pub(crate) fn new(options: FakeMcpOptions) -> Self {
        Self {
            options,
            changes: ServerChanges::default(),
            states: RequestStates::default(),
            tasks: TaskManager::new(),
            sessions: Arc::default(),
            cancelled: Arc::default(),
        }
    }

    pub(crate) fn count_cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the counter of cancelled calls, for a task.
    pub(crate) fn cancel_counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.cancelled)
    }

    pub(crate) fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Returns one page of a list, and the cursor of the next.
    pub(crate) fn page<T>(
        &self,
        all: Vec<T>,
        cursor: Option<&str>,
    ) -> Result<(Vec<T>, Option<String>), rmcp::ErrorData> {
        let from = match cursor.map(str::parse::<usize>) {
            None => 0,
            Some(Ok(from)) if from <= all.len() => from,
            Some(_) => return Err(rmcp::ErrorData::invalid_params("this cursor was not given here", None)),
        };
        let size = self.options.page_size.unwrap_or(usize::MAX).max(1);
        let next = from.saturating_add(size);
        let more = (next < all.len()).then(|| next.to_string());
        Ok((all.into_iter().skip(from).take(size).collect(), more))
    }
}
