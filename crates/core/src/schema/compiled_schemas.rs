//! Memory of compiled schemas. All of a cache have a limit in total: beyond it, those that were not used for
//! the longest time are dropped, and compiled again when they are used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use jsonschema::Validator;
use parking_lot::Mutex;

/// Maximum size of all compiled schemas of a cache, in bytes.
const MAX_COMPILED_BYTES: u64 = 64 << 20;

/// The compiled schemas of a cache.
#[derive(Debug)]
pub(crate) struct CompiledSchemas {
    max_bytes: u64,
    bytes: AtomicU64,
    /// Twice the number of compilations so far, as a measure of time. Odd numbers are uses in between.
    age: AtomicU64,
    slots: Mutex<Vec<Weak<ValidatorSlot>>>,
}

impl Default for CompiledSchemas {
    fn default() -> Self {
        Self::with_limit(MAX_COMPILED_BYTES)
    }
}

impl CompiledSchemas {
    pub(super) fn with_limit(max_bytes: u64) -> Self {
        Self { max_bytes, bytes: AtomicU64::new(0), age: AtomicU64::new(0), slots: Mutex::default() }
    }

    /// Size of the compiled schemas, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts a slot that was just filled, and drops others if all together take too much.
    fn count(&self, filled: &Arc<ValidatorSlot>) {
        let age = self.age.fetch_add(2, Ordering::Relaxed) + 2;
        filled.last_used.store(age, Ordering::Relaxed);
        self.bytes.fetch_add(filled.bytes, Ordering::Relaxed);
        let mut slots = self.slots.lock();
        slots.retain(|slot| slot.upgrade().is_some_and(|slot| slot.is_compiled()));
        slots.push(Arc::downgrade(filled));
        if self.bytes() <= self.max_bytes {
            return;
        }
        let mut by_age: Vec<_> = slots.iter().filter_map(Weak::upgrade).collect();
        by_age.sort_by_key(|slot| slot.last_used.load(Ordering::Relaxed));
        for slot in by_age {
            if self.bytes() <= self.max_bytes {
                break;
            }
            if !Arc::ptr_eq(&slot, filled) {
                slot.clear();
            }
        }
    }
}

/// Place of a schema's compiled form.
#[derive(Debug)]
pub(super) struct ValidatorSlot {
    /// None if not compiled now; a validator of None if the schema does not compile.
    compiled: ArcSwapOption<Option<Validator>>,
    /// Locked while the schema is compiled, so that it is compiled once.
    compiling: Mutex<()>,
    bytes: u64,
    /// Age of the cache at the last use.
    last_used: AtomicU64,
    counted_in: Option<Arc<CompiledSchemas>>,
}

impl ValidatorSlot {
    /// Creates an empty slot for a compiled schema of this size. It is only emptied if its content counts in the
    /// memory of a cache.
    pub(super) fn new(bytes: u64, counted_in: Option<Arc<CompiledSchemas>>) -> Self {
        Self {
            compiled: ArcSwapOption::empty(),
            compiling: Mutex::new(()),
            bytes,
            last_used: AtomicU64::new(0),
            counted_in,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_compiled(&self) -> bool {
        self.compiled.load().is_some()
    }

    /// Returns the content, and compiles it if the slot is empty.
    pub(super) fn get_or_compile(
        self: &Arc<Self>,
        compile: impl FnOnce() -> Option<Validator>,
    ) -> Arc<Option<Validator>> {
        if let Some(compiled) = self.compiled.load_full() {
            self.note_use();
            return compiled;
        }
        let _compiling = self.compiling.lock();
        if let Some(compiled) = self.compiled.load_full() {
            return compiled;
        }
        let compiled = Arc::new(compile());
        self.compiled.store(Some(Arc::clone(&compiled)));
        if let Some(all) = &self.counted_in {
            all.count(self);
        }
        compiled
    }

    fn note_use(&self) {
        let Some(all) = &self.counted_in else { return };
        let age = all.age.load(Ordering::Relaxed) + 1;
        // Writing only what changes keeps the line shared between threads.
        if self.last_used.load(Ordering::Relaxed) != age {
            self.last_used.store(age, Ordering::Relaxed);
        }
    }

    fn clear(&self) {
        if self.compiled.swap(None).is_some()
            && let Some(all) = &self.counted_in
        {
            all.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for ValidatorSlot {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests;
