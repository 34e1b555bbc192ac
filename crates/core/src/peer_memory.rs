//! Memory that data of a principal takes for longer than one message: sessions, turns, definitions. The program that
//! serves peers decides how much each of them gets.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use toolway_types::Principal;

/// A limit on the memory of principals.
pub trait PeerMemory: fmt::Debug + Send + Sync {
    /// Reserves memory of a principal until the permit and its clones are dropped. Returns `None` if there is none for
    /// it.
    fn reserve(&self, principal: &Principal, bytes: usize) -> Option<MemoryPermit>;
}

/// Reserved memory. Clones share it.
#[derive(Clone)]
pub struct MemoryPermit(Arc<dyn Any + Send + Sync>);

impl MemoryPermit {
    /// Creates a permit that holds a value until it is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Arc::new(held))
    }
}

impl fmt::Debug for MemoryPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPermit").field("clones", &Arc::strong_count(&self.0)).finish()
    }
}

/// Memory without a limit, for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnlimitedMemory;

impl PeerMemory for UnlimitedMemory {
    fn reserve(&self, _: &Principal, _: usize) -> Option<MemoryPermit> {
        Some(MemoryPermit::new(()))
    }
}
