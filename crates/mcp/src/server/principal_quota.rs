//! Limits on the size of something that waits: in total, and for each principal.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::PrincipalId;

/// Maximum total size, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// Maximum size for one principal, in bytes.
const MAX_BYTES_PER_PRINCIPAL: usize = 16 << 20;
/// Bytes that each item counts in addition to its own.
const OVERHEAD_BYTES: usize = 1 << 10;

/// The sizes of the items that wait, such as unread responses or open questions.
#[derive(Debug, Default)]
pub(crate) struct PrincipalQuota(Mutex<HashMap<PrincipalId, usize>>);

/// The permit of one item. It counts until it is dropped.
#[derive(Debug)]
pub(crate) struct QuotaPermit {
    all: Arc<PrincipalQuota>,
    principal: PrincipalId,
    bytes: usize,
}

impl PrincipalQuota {
    /// Acquires a permit for an item of this size. `None` if a limit is reached.
    pub(crate) fn acquire(self: &Arc<Self>, principal: &PrincipalId, bytes: usize) -> Option<QuotaPermit> {
        let bytes = bytes.saturating_add(OVERHEAD_BYTES);
        let mut sizes = self.0.lock();
        let all: usize = sizes.values().sum();
        let own = sizes.get(principal).copied().unwrap_or_default();
        if all.saturating_add(bytes) > MAX_BYTES || own.saturating_add(bytes) > MAX_BYTES_PER_PRINCIPAL {
            return None;
        }
        sizes.insert(principal.clone(), own + bytes);
        Some(QuotaPermit { all: Arc::clone(self), principal: principal.clone(), bytes })
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        let mut sizes = self.all.0.lock();
        let Some(size) = sizes.get_mut(&self.principal) else { return };
        *size = size.saturating_sub(self.bytes);
        if *size == 0 {
            sizes.remove(&self.principal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_principal_gets_a_part_and_all_together_the_whole() {
        let quota = Arc::<PrincipalQuota>::default();
        let acquire = |name: &str, mib: usize| quota.acquire(&PrincipalId::from(name), mib << 20);
        let first = acquire("a", 15);
        assert!(first.is_some() && acquire("a", 1).is_none(), "one principal has 16 MiB");
        let others: Vec<_> = ["b", "c", "d"].iter().filter_map(|name| acquire(name, 15)).collect();
        assert_eq!(others.len(), 3);
        assert!(acquire("e", 15).is_none(), "all have 64 MiB");
        drop(first);
        assert!(acquire("e", 15).is_some());
    }
}
