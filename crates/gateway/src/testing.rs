//! Test helpers.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use toolway_types::Clock;

/// A clock that changes only when it is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    pub(crate) fn new(now_ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(now_ms)))
    }

    pub(crate) fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
