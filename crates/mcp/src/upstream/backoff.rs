//! How long to wait before connecting anew.

use std::time::Duration;

/// The first wait that is one.
const INITIAL_DELAY: Duration = Duration::from_millis(500);

/// Waits that double, each cut by up to a half at random, so that many servers are not all tried at once.
#[derive(Debug)]
pub(super) struct ReconnectBackoff {
    longest: Duration,
    failures: u32,
}

impl ReconnectBackoff {
    /// None is longer than this.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, failures: 0 }
    }

    /// It has stood long enough: waits begin small again.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The next wait. What stood until now is tried again at once.
    pub(super) fn next(&mut self, stood: bool) -> Duration {
        if stood && self.failures == 0 {
            self.failures = 1;
            return Duration::ZERO;
        }
        let whole = INITIAL_DELAY.saturating_mul(1 << self.failures.min(16)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        // Random enough to part servers from each other.
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
