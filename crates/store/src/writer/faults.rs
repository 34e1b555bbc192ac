//! Handling of a database that can't be written to: retries and log messages.

use std::time::Duration;

use tokio::time::Instant;

use crate::health::RecordingCounters;

/// Pause after the first failure; it doubles after each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Interval of log messages about a lasting failure.
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// A series of failures, and the time of its log messages.
#[derive(Debug)]
pub(super) struct WriteFaults {
    give_up_after: Duration,
    since: Option<Instant>,
    pause: Duration,
    retry_at: Option<Instant>,
    logged_at: Option<Instant>,
    lost_logged: u64,
    lost_logged_at: Option<Instant>,
}

impl WriteFaults {
    pub(super) fn new(give_up_after: Duration) -> Self {
        Self {
            give_up_after,
            since: None,
            pause: FIRST_PAUSE,
            retry_at: None,
            logged_at: None,
            lost_logged: 0,
            lost_logged_at: None,
        }
    }

    /// Earliest time of the next attempt.
    pub(super) fn next_attempt(&self, now: Instant) -> Instant {
        self.retry_at.unwrap_or(now)
    }

    /// True if the failure has lasted so long that calls no longer wait.
    pub(super) fn is_lasting(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= self.give_up_after)
    }

    /// Records a failed attempt that started at `began`.
    pub(super) fn record_failure(
        &mut self,
        began: Instant,
        error: &sqlx::Error,
        counters: &RecordingCounters,
        waiting: usize,
    ) {
        let now = Instant::now();
        self.since.get_or_insert(began);
        self.retry_at = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        counters.record_fault(error.to_string());
        counters.set_failing(true);
        if is_due(&mut self.logged_at, now) {
            tracing::error!(
                %error, waiting, lost = counters.lost_count(),
                "call records can't be written; calls continue, and writing is retried"
            );
        }
    }

    /// Records a successful write. Returns true if it ends a series of failures.
    pub(super) fn record_recovery(&mut self, counters: &RecordingCounters) -> bool {
        let Some(since) = self.since.take() else { return false };
        self.pause = FIRST_PAUSE;
        self.retry_at = None;
        self.logged_at = None;
        counters.set_failing(false);
        tracing::info!(
            seconds = since.elapsed().as_secs(),
            lost = counters.lost_count(),
            "call records are written again"
        );
        true
    }

    /// Logs newly lost records, at most once per interval.
    pub(super) fn log_lost(&mut self, counters: &RecordingCounters) {
        let lost = counters.lost_count();
        if lost > self.lost_logged && is_due(&mut self.lost_logged_at, Instant::now()) {
            tracing::error!(
                records = lost - self.lost_logged,
                total = lost,
                "call records were lost: too many were waiting, or the database refused them"
            );
            self.lost_logged = lost;
        }
    }
}

/// True if a message is due; then also notes that it was logged.
fn is_due(said_at: &mut Option<Instant>, now: Instant) -> bool {
    let due = said_at.is_none_or(|said| now.duration_since(said) >= LOG_INTERVAL);
    if due {
        *said_at = Some(now);
    }
    due
}

#[cfg(test)]
mod tests;
