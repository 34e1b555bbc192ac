//! How long to wait between tries: doubling, never the same for two devices, so that a gateway that comes
//! back is not run down by all of them at once (pitfall R17).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// The bounds of the wait between two tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The shortest wait; the first one is between this and twice this.
    pub shortest: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Default for Backoff {
    /// From half a second to half a minute.
    fn default() -> Self {
        Self { shortest: Duration::from_millis(500), longest: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// The wait before try number `attempt` (0 is the first after a loss). `chance` in `0.0..1.0` says where
    /// between half and the whole of the doubled wait it falls.
    pub(crate) fn delay(self, attempt: u32, chance: f64) -> Duration {
        let doubled = self.shortest.saturating_mul(2u32.saturating_pow(attempt.saturating_add(1)));
        let whole = doubled.min(self.longest.max(self.shortest));
        whole.div_f64(2.0) + whole.div_f64(2.0).mul_f64(chance)
    }

    /// The same with the chance drawn.
    pub(crate) fn random_delay(self, attempt: u32) -> Duration {
        self.delay(attempt, random_fraction())
    }
}

/// A number in `0.0..1.0`. Each `RandomState` has keys of its own, which is random enough to spread tries.
fn random_fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
