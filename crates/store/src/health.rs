//! Health of recording, for metrics and `doctor`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use toolway_types::Clock;

/// Health of recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreHealth {
    /// Rows written since the store was opened. A call that lasts longer than the window is written twice.
    pub records_written: u64,
    /// Records of starts and ends of calls that were not written and never will be.
    pub records_lost: u64,
    /// Records of starts and ends of calls that wait to be written.
    pub records_waiting: usize,
    /// True if the last attempt to write failed.
    pub failing: bool,
    /// The last error, however old.
    pub last_error: Option<StoreFault>,
}

/// An error in recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreFault {
    /// Description of the error.
    pub text: String,
    /// Time of the error, in milliseconds since the Unix epoch.
    pub at_ms: i64,
}

/// The counters behind [`StoreHealth`].
#[derive(Debug)]
pub(crate) struct RecordingCounters {
    clock: Arc<dyn Clock>,
    written: AtomicU64,
    lost: AtomicU64,
    failing: AtomicBool,
    last_error: Mutex<Option<StoreFault>>,
}

impl RecordingCounters {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            last_error: Mutex::new(None),
        }
    }

    pub(crate) fn add_written(&self, rows: usize) {
        self.written.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_lost(&self, records: usize) {
        self.lost.fetch_add(records as u64, Ordering::Relaxed);
    }

    pub(crate) fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Sets the failing flag after the error text, so that a reader who sees the flag also sees the error.
    pub(crate) fn set_failing(&self, failing: bool) {
        self.failing.store(failing, Ordering::Release);
    }

    pub(crate) fn record_fault(&self, text: String) {
        *self.last_error.lock() = Some(StoreFault { text, at_ms: self.clock.now_ms() });
    }

    pub(crate) fn last_error_text(&self) -> Option<String> {
        self.last_error.lock().as_ref().map(|fault| fault.text.clone())
    }

    pub(crate) fn health(&self, records_waiting: usize) -> StoreHealth {
        StoreHealth {
            records_written: self.written.load(Ordering::Relaxed),
            records_lost: self.lost_count(),
            records_waiting,
            failing: self.failing.load(Ordering::Acquire),
            last_error: self.last_error.lock().clone(),
        }
    }
}
