//! Which tools there are. Each registration belongs to a [`Lease`] (invariant "a registration belongs to its lease"): dropping it removes exactly
//! what it added. Readers see immutable [`Snapshot`]s without locking; a change builds the next one, sharing
//! all that stayed.

mod lease;
mod lookup;
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
pub use snapshot::RegistrySnapshot;
pub use source::SourceSnapshot;

/// Tools by name.
pub type SortedTools = Arc<[Arc<dyn Tool>]>;

/// What stays of a source when its last lease is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRetention {
    /// Its name and the names of its tools, so that a bare name stays ambiguous while it is away.
    Names,
    /// Nothing.
    Nothing,
}

/// Which tools there are.
#[derive(Debug)]
pub struct Registry {
    snapshot: ArcSwap<RegistrySnapshot>,
    /// Held while the next snapshot is built.
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
    /// An empty registry.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// What is there now. Holding on to it keeps the old lists alive, so don't for long.
    #[must_use]
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        self.snapshot.load_full()
    }

    pub(crate) fn read(&self) -> arc_swap::Guard<Arc<RegistrySnapshot>> {
        self.snapshot.load()
    }

    /// Changes whenever a list changes.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Says that a source exists, though it may be away, and which tools it had.
    pub fn declare(&self, slug: &Slug, known: Vec<ToolName>) {
        self.change(|snapshot| snapshot.declare(slug, known));
    }

    /// Forgets a source: its name, and what its leases hold. Leases still held register nothing any more.
    pub fn forget(&self, slug: &Slug) {
        self.change(|snapshot| snapshot.forget(slug));
    }

    /// A registration for a source, holding nothing yet.
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
        // What only the last one had goes here, where no lock is held: it may be much.
        drop(last);
        self.generation.send_modify(|generation| *generation += 1);
    }
}

#[cfg(test)]
mod tests;
