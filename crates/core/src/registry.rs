//! The registered tools. Each registration belongs to a [`Lease`] (invariant "a registration belongs to its
//! lease"): dropping the lease removes exactly its tools. Readers use immutable [`RegistrySnapshot`]s without
//! locking; a change builds the next snapshot, which shares all unchanged parts.

mod lease;
mod lookup;
mod similar_names;
mod snapshot;
mod source;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;
use toolway_types::{Slug, ToolName};

use crate::lease_id::LeaseId;
use crate::tool::Tool;

pub use lease::Lease;
pub use lookup::ToolLookup;
pub use similar_names::suggestion_hint;
pub use snapshot::RegistrySnapshot;
pub use source::SourceSnapshot;

/// Tools, sorted by name.
pub type SortedTools = Arc<[Arc<dyn Tool>]>;

/// Data of a source that remain after its last lease is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRetention {
    /// Names of the source and its tools, so that a bare name stays ambiguous while the source is offline.
    Names,
    /// Nothing.
    Nothing,
}

/// The registry of tools.
#[derive(Debug)]
pub struct Registry {
    snapshot: ArcSwap<RegistrySnapshot>,
    /// Locked while the next snapshot is built.
    writing: Mutex<()>,
    next_lease: AtomicU64,
    generation: watch::Sender<u64>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            snapshot: ArcSwap::default(),
            writing: Mutex::new(()),
            next_lease: AtomicU64::new(1),
            generation: watch::Sender::new(0),
        }
    }
}

impl Registry {
    /// Creates an empty registry.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Current snapshot. Do not keep it for long, because it keeps old lists alive.
    #[must_use]
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        self.snapshot.load_full()
    }

    pub(crate) fn read(&self) -> arc_swap::Guard<Arc<RegistrySnapshot>> {
        self.snapshot.load()
    }

    /// Receiver whose value changes with every change of a list.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Declares a source that may be offline, with the names of its tools.
    pub fn declare(&self, slug: &Slug, known: Vec<ToolName>) {
        self.change(|snapshot| snapshot.declare(slug, known));
    }

    /// Removes a source, its names, and the tools of its leases. Existing leases can register no more tools.
    pub fn forget(&self, slug: &Slug) {
        self.change(|snapshot| snapshot.forget(slug));
    }

    /// Creates a registration for a source, without tools.
    #[must_use]
    pub fn lease(self: &Arc<Self>, slug: Slug, keep: SourceRetention) -> Lease {
        let id = LeaseId(self.next_lease.fetch_add(1, Ordering::Relaxed));
        self.change(|snapshot| snapshot.add_lease(&slug, id));
        Lease::new(self.clone(), slug, id, keep)
    }

    fn set_lease(&self, slug: &Slug, id: LeaseId, tools: SortedTools) {
        self.change(|snapshot| snapshot.set_lease(slug, id, tools));
    }

    fn drop_lease(&self, slug: &Slug, id: LeaseId, keep: SourceRetention) {
        self.change(|snapshot| snapshot.drop_lease(slug, id, keep));
    }

    fn change(&self, change: impl FnOnce(&mut RegistrySnapshot)) {
        let last = {
            let _writing = self.writing.lock();
            let mut next = RegistrySnapshot::clone(&self.snapshot.load());
            change(&mut next);
            self.snapshot.swap(Arc::new(next))
        };
        // Tools that only the last snapshot had are dropped here, without a lock, because there may be many.
        drop(last);
        self.generation.send_modify(|generation| *generation += 1);
    }
}

#[cfg(test)]
mod tests;
