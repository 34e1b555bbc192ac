//! Sequential ids in each API's format: the same script gives the same ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Generator of ids.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdSequence {
    last: Arc<AtomicU64>,
}

impl IdSequence {
    /// Returns the next id with this prefix.
    pub(crate) fn next(&self, prefix: &str) -> String {
        format!("{prefix}{:024}", self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
