//! Fingerprints of specs in use, so that a spec that many devices share is hashed once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use toolway_core::ToolSpec;
use toolway_store::SpecFingerprint;

use super::document;

/// Maximum number of specs. Each entry takes about 100 bytes and the empty memory of its spec.
const MAX_SPECS: usize = 4096;

/// The cache. Specs are shared, so the address of one is its key.
#[derive(Debug, Default)]
pub(super) struct FingerprintCache(Mutex<HashMap<usize, CachedFingerprint>>);

#[derive(Debug)]
struct CachedFingerprint {
    /// Keeps the address from being used again.
    spec: Weak<ToolSpec>,
    fingerprint: SpecFingerprint,
}

impl FingerprintCache {
    /// Returns the fingerprint of a spec.
    pub(super) fn fingerprint(&self, spec: &Arc<ToolSpec>) -> SpecFingerprint {
        let address = Arc::as_ptr(spec).addr();
        if let Some(cached) = self.0.lock().get(&address) {
            return cached.fingerprint;
        }
        // Outside the lock, because a spec may be large.
        let fingerprint = document::fingerprint(spec);
        let mut cached = self.0.lock();
        if cached.len() >= MAX_SPECS {
            cached.retain(|_, entry| entry.spec.strong_count() > 0);
        }
        if cached.len() >= MAX_SPECS {
            cached.clear();
        }
        cached.insert(address, CachedFingerprint { spec: Arc::downgrade(spec), fingerprint });
        fingerprint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(number: usize) -> Arc<ToolSpec> {
        let document = format!(r#"{{"name":"tool_{number}"}}"#);
        Arc::new(ToolSpec::compile(serde_json::from_str(&document).unwrap()).unwrap())
    }

    #[test]
    fn every_spec_has_its_own_fingerprint_even_at_an_address_that_was_used_before() {
        let cache = FingerprintCache::default();
        for number in 0..3 * MAX_SPECS {
            let spec = spec(number);
            let expected = document::fingerprint(&spec);
            assert_eq!(cache.fingerprint(&spec), expected);
            assert_eq!(cache.fingerprint(&spec), expected, "from the cache");
        }
        assert!(cache.0.lock().len() <= MAX_SPECS);
    }
}
