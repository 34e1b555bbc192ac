//! What several tests need.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use toolway_types::Clock;

/// A clock that stands still until it is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct HandClock(Arc<AtomicI64>);

impl HandClock {
    pub(crate) fn at(now_ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(now_ms)))
    }

    pub(crate) fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
