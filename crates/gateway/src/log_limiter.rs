//! Limits the log lines that peers cause: a device could fill the disk with answers to calls that do not exist.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolway_types::PrincipalId;

/// Number of lines of one principal within [`WINDOW`].
const LINES: u32 = 20;
/// Time after which a principal has all its lines again.
const WINDOW: Duration = Duration::from_secs(60);
/// Number of principals that are counted. Beyond it, all counts start again.
const MAX_PRINCIPALS: usize = 4096;

/// Counts the lines of each principal.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter(Mutex<HashMap<PrincipalId, LogWindow>>);

#[derive(Debug)]
struct LogWindow {
    since: Instant,
    lines: u32,
    omitted: u64,
}

/// A line that may be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AdmittedLine {
    /// Number of lines of this principal that were omitted before, if any were.
    pub(crate) omitted: Option<u64>,
}

impl LogLimiter {
    /// Counts a line that a principal causes. Returns `None` if it must be omitted.
    pub(crate) fn admit(&self, principal: &PrincipalId) -> Option<AdmittedLine> {
        let now = Instant::now();
        let mut windows = self.0.lock();
        if windows.len() >= MAX_PRINCIPALS && !windows.contains_key(principal) {
            windows.clear();
        }
        let new = || LogWindow { since: now, lines: 0, omitted: 0 };
        let window = windows.entry(principal.clone()).or_insert_with(new);
        if now.duration_since(window.since) >= WINDOW {
            (window.since, window.lines) = (now, 0);
        }
        if window.lines >= LINES {
            window.omitted += 1;
            return None;
        }
        window.lines += 1;
        let omitted = std::mem::take(&mut window.omitted);
        Some(AdmittedLine { omitted: (omitted > 0).then_some(omitted) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_principal_has_twenty_lines_a_minute_and_the_next_one_says_how_many_were_omitted() {
        let limiter = LogLimiter::default();
        let (noisy, quiet) = (PrincipalId::from("noisy"), PrincipalId::from("quiet"));
        let plain = Some(AdmittedLine { omitted: None });
        for _ in 0..20 {
            assert_eq!(limiter.admit(&noisy), plain);
        }
        assert_eq!((limiter.admit(&noisy), limiter.admit(&noisy)), (None, None));
        assert_eq!(limiter.admit(&quiet), plain, "others have their own");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(limiter.admit(&noisy), Some(AdmittedLine { omitted: Some(2) }));
        assert_eq!(limiter.admit(&noisy), plain);
    }
}
