//! Delay between connection attempts: exponential with jitter, so that devices do not all reconnect to a
//! restarted gateway at once (pitfall R17).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Bounds of the delay between two connection attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Shortest delay. The first delay is between this and twice this.
    pub shortest: Duration,
    /// Longest delay.
    pub longest: Duration,
}

impl Default for Backoff {
    /// Half a second to half a minute.
    fn default() -> Self {
        Self { shortest: Duration::from_millis(500), longest: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// Delay before attempt number `attempt` (0 is the first after a loss). `chance` in `0.0..1.0` selects a
    /// point between half of the doubled delay and all of it.
    pub(crate) fn delay(self, attempt: u32, chance: f64) -> Duration {
        let doubled = self.shortest.saturating_mul(2u32.saturating_pow(attempt.saturating_add(1)));
        let whole = doubled.min(self.longest.max(self.shortest));
        whole.div_f64(2.0) + whole.div_f64(2.0).mul_f64(chance)
    }

    /// Delay with a random `chance`.
    pub(crate) fn random_delay(self, attempt: u32) -> Duration {
        self.delay(attempt, random_fraction())
    }
}

/// Random number in `0.0..1.0`. Each `RandomState` has its own keys, which is random enough to spread
/// attempts.
fn random_fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
