//! Ids as each API writes them, counted up: the same script gives the same ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where ids come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdSequence {
    last: Arc<AtomicU64>,
}

impl IdSequence {
    /// The next one, with what this kind of thing's ids begin with.
    pub(crate) fn next(&self, prefix: &str) -> String {
        format!("{prefix}{:024}", self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
