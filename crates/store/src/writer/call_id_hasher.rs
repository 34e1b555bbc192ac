//! A fast hash of call ids.

use std::hash::{BuildHasherDefault, Hasher};

/// Creates [`CallIdHasher`]s.
pub(super) type CallIdHashBuilder = BuildHasherDefault<CallIdHasher>;

/// Hashes a call's id by its last bytes, which are random. The gateway creates the ids itself, so nobody can choose ids
/// with equal hashes.
#[derive(Debug, Default)]
pub(super) struct CallIdHasher(u64);

impl Hasher for CallIdHasher {
    fn finish(&self) -> u64 {
        // The upper bits of the last bytes are a counter. The factor, that of Fibonacci hashing, mixes all bits.
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk() {
            self.0 = u64::from_ne_bytes(*last);
        }
    }
}
