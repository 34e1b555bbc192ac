//! Delays after failed `accept` calls. A fault of one connection needs no delay; exhausted resources need
//! one, and are logged, but not for every attempt.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The recent failures of one listener.
#[derive(Debug, Default)]
pub(crate) struct AcceptBackoff {
    wait: Duration,
    unlogged: u64,
    last_logged: Option<Instant>,
}

impl AcceptBackoff {
    /// Resets the failures after an accepted connection.
    pub(crate) fn reset(&mut self) {
        self.wait = Duration::ZERO;
    }

    /// Records a failure. Returns the delay before the next attempt.
    pub(crate) fn record_failure(&mut self, error: &io::Error) -> Duration {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return Duration::ZERO;
        }
        self.wait = (self.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
        self.unlogged += 1;
        if self.last_logged.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            tracing::error!(%error, failures = self.unlogged, "cannot accept connections (too many open files?)");
            self.last_logged = Some(Instant::now());
            self.unlogged = 0;
        }
        self.wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_waits_longer_each_time_and_says_so_now_and_then() {
        let mut faults = AcceptBackoff::default();
        let out_of_files = io::Error::from_raw_os_error(24);
        assert_eq!(faults.record_failure(&io::Error::from(io::ErrorKind::ConnectionAborted)), Duration::ZERO);
        assert_eq!(faults.record_failure(&out_of_files), FIRST_WAIT);
        assert_eq!(faults.record_failure(&out_of_files), FIRST_WAIT * 2);
        for _ in 0..20 {
            faults.record_failure(&out_of_files);
        }
        assert_eq!(faults.record_failure(&out_of_files), LONGEST_WAIT);
        assert_eq!(faults.unlogged, 22, "the first was said, the others wait");
        tokio::time::advance(LOG_INTERVAL).await;
        faults.record_failure(&out_of_files);
        assert_eq!(faults.unlogged, 0);
        faults.reset();
        assert_eq!(faults.record_failure(&out_of_files), FIRST_WAIT);
    }
}
