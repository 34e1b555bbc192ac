//! What to do when accepting fails: nothing where one connection was at fault, wait where the computer has
//! run out of something, and say so, but not with every attempt.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const SAY_EVERY: Duration = Duration::from_secs(10);

/// The recent failures of one listener.
#[derive(Debug, Default)]
pub(crate) struct AcceptFaults {
    wait: Duration,
    unsaid: u64,
    said: Option<Instant>,
}

impl AcceptFaults {
    /// A connection was accepted.
    pub(crate) fn clear(&mut self) {
        self.wait = Duration::ZERO;
    }

    /// Accepting failed; says how long to wait before the next attempt.
    pub(crate) fn failed(&mut self, error: &io::Error) -> Duration {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return Duration::ZERO;
        }
        self.wait = (self.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
        self.unsaid += 1;
        if self.said.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
            tracing::error!(%error, failures = self.unsaid, "connections can't be accepted (too many open files?)");
            self.said = Some(Instant::now());
            self.unsaid = 0;
        }
        self.wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_waits_longer_each_time_and_says_so_now_and_then() {
        let mut faults = AcceptFaults::default();
        let out_of_files = io::Error::from_raw_os_error(24);
        assert_eq!(faults.failed(&io::Error::from(io::ErrorKind::ConnectionAborted)), Duration::ZERO);
        assert_eq!(faults.failed(&out_of_files), FIRST_WAIT);
        assert_eq!(faults.failed(&out_of_files), FIRST_WAIT * 2);
        for _ in 0..20 {
            faults.failed(&out_of_files);
        }
        assert_eq!(faults.failed(&out_of_files), LONGEST_WAIT);
        assert_eq!(faults.unsaid, 22, "the first was said, the others wait");
        tokio::time::advance(SAY_EVERY).await;
        faults.failed(&out_of_files);
        assert_eq!(faults.unsaid, 0);
        faults.clear();
        assert_eq!(faults.failed(&out_of_files), FIRST_WAIT);
    }
}
