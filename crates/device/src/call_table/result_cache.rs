//! Results of finished calls, kept for ten minutes and bounded in number and bytes. If space runs out, bodies
//! are dropped before ids, and acknowledged bodies before others. A call without a body is still not run
//! again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Bounds of the cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultCacheBounds {
    pub(crate) age: Duration,
    pub(crate) ids: usize,
    pub(crate) bytes: usize,
}

impl Default for ResultCacheBounds {
    fn default() -> Self {
        Self { age: Duration::from_secs(600), ids: 16_384, bytes: 16 << 20 }
    }
}

#[derive(Debug)]
struct CachedResult {
    frame: Option<Utf8Bytes>,
    acknowledged: bool,
    ended: Instant,
}

#[derive(Debug, Default)]
pub(super) struct ResultCache {
    bounds: ResultCacheBounds,
    entries: HashMap<Arc<str>, CachedResult>,
    /// Ids in the order in which the calls ended.
    order: VecDeque<Arc<str>>,
    /// Ids that still have a body, oldest first.
    bodies: VecDeque<Arc<str>>,
    bytes: usize,
}

impl ResultCache {
    pub(super) fn new(bounds: ResultCacheBounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Looks up a finished call: `Some(None)` if it finished but its result was dropped.
    pub(super) fn recall(&mut self, id: &str, now: Instant) -> Option<Option<Utf8Bytes>> {
        self.prune(now);
        self.entries.get(id).map(|entry| entry.frame.clone())
    }

    pub(super) fn remember(&mut self, id: Arc<str>, frame: Utf8Bytes, acknowledged: bool, now: Instant) {
        self.bytes += frame.len();
        self.order.push_back(Arc::clone(&id));
        self.bodies.push_back(Arc::clone(&id));
        self.entries.insert(id, CachedResult { frame: Some(frame), acknowledged, ended: now });
        self.prune(now);
        self.shrink();
    }

    pub(super) fn acknowledge(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.acknowledged = true;
        }
    }

    pub(super) fn acknowledge_all(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.acknowledged = true);
    }

    /// Unacknowledged results, oldest first.
    pub(super) fn unacknowledged(&self) -> Vec<Utf8Bytes> {
        let entries = self.bodies.iter().filter_map(|id| self.entries.get(id));
        entries.filter(|entry| !entry.acknowledged).filter_map(|entry| entry.frame.clone()).collect()
    }

    /// Removes entries that are too old or too many.
    pub(super) fn prune(&mut self, now: Instant) {
        while let Some(id) = self.order.front() {
            let fresh = |entry: &CachedResult| now.saturating_duration_since(entry.ended) < self.bounds.age;
            if self.order.len() <= self.bounds.ids && self.entries.get(id).is_some_and(fresh) {
                break;
            }
            if let Some(entry) = self.order.pop_front().and_then(|id| self.entries.remove(&id)) {
                self.bytes -= entry.frame.map_or(0, |frame| frame.len());
            }
        }
        while self.bodies.front().is_some_and(|id| !self.entries.contains_key(id)) {
            self.bodies.pop_front();
        }
    }

    /// Drops bodies until the rest fits. Few results are unacknowledged at a time, so the linear search for
    /// an acknowledged one is short.
    fn shrink(&mut self) {
        while self.bytes > self.bounds.bytes {
            let settled = |id: &Arc<str>| self.entries.get(id).is_none_or(|entry| entry.acknowledged);
            let at = self.bodies.iter().position(settled).unwrap_or_default();
            let Some(id) = self.bodies.remove(at) else { return };
            let body = self.entries.get_mut(&id).and_then(|entry| entry.frame.take());
            self.bytes -= body.map_or(0, |frame| frame.len());
        }
    }
}

#[cfg(test)]
mod tests;
