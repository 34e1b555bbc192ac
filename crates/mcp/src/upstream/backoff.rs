//! Exponential backoff between connection attempts.

use std::time::Duration;

/// The first delay.
const INITIAL_DELAY: Duration = Duration::from_millis(500);

/// Delays that double, each reduced by up to a half at random, so that many servers don't reconnect at once.
#[derive(Debug)]
pub(super) struct ReconnectBackoff {
    longest: Duration,
    failures: u32,
}

impl ReconnectBackoff {
    /// Creates a backoff with this maximum delay.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, failures: 0 }
    }

    /// Starts again with the shortest delay.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Returns the next delay. A connection that was established is retried immediately.
    pub(super) fn next(&mut self, stood: bool) -> Duration {
        if stood && self.failures == 0 {
            self.failures = 1;
            return Duration::ZERO;
        }
        let whole = INITIAL_DELAY.saturating_mul(1 << self.failures.min(16)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        // Random enough to spread the attempts of several servers.
        let random = uuid::Uuid::new_v4().as_u128() % 1000;
        let cut = whole / 2 * u32::try_from(random).unwrap_or(0) / 1000;
        whole - cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut backoff = ReconnectBackoff::new(Duration::from_secs(4));
        for whole in [500, 1000, 2000, 4000, 4000, 4000] {
            let wait = backoff.next(false).as_millis();
            assert!((whole / 2..=whole).contains(&wait), "{wait} of {whole}");
        }
        backoff.reset();
        assert_eq!(backoff.next(true), Duration::ZERO);
        assert!(backoff.next(true) >= Duration::from_millis(500), "only once");
    }
}
