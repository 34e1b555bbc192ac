//! What the writer does about a database that can't be written to: when it tries again, and what it says.

use std::time::Duration;

use tokio::time::Instant;

use crate::health::Counters;

/// Pause after a first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A fault that lasts is mentioned this often.
const SAY_EVERY: Duration = Duration::from_secs(30);

/// A run of failures, and what was said of them.
#[derive(Debug)]
pub(super) struct Faults {
    give_up_after: Duration,
    since: Option<Instant>,
    pause: Duration,
    retry_at: Option<Instant>,
    said_at: Option<Instant>,
    lost_said: u64,
    lost_said_at: Option<Instant>,
}

impl Faults {
    pub(super) fn new(give_up_after: Duration) -> Self {
        Self {
            give_up_after,
            since: None,
            pause: FIRST_PAUSE,
            retry_at: None,
            said_at: None,
            lost_said: 0,
            lost_said_at: None,
        }
    }

    /// The earliest moment for the next attempt.
    pub(super) fn not_before(&self, now: Instant) -> Instant {
        self.retry_at.unwrap_or(now)
    }

    /// Whether it has lasted so long that calls are no longer made to wait.
    pub(super) fn is_lasting(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= self.give_up_after)
    }

    /// An attempt that began at `began` failed.
    pub(super) fn failed(
        &mut self,
        began: Instant,
        error: &sqlx::Error,
        counters: &Counters,
        waiting: usize,
    ) {
        let now = Instant::now();
        self.since.get_or_insert(began);
        self.retry_at = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        counters.fault(error.to_string());
        counters.set_failing(true);
        if is_due(&mut self.said_at, now) {
            tracing::error!(
                %error, waiting, lost = counters.lost_so_far(),
                "call records can't be written; calls go on, and it is tried again"
            );
        }
    }

    /// A write succeeded. Answers whether that is news.
    pub(super) fn recovered(&mut self, counters: &Counters) -> bool {
        let Some(since) = self.since.take() else { return false };
        self.pause = FIRST_PAUSE;
        self.retry_at = None;
        self.said_at = None;
        counters.set_failing(false);
        tracing::info!(
            seconds = since.elapsed().as_secs(),
            lost = counters.lost_so_far(),
            "call records are written again"
        );
        true
    }

    /// Says that records were lost, where that is new and was not said just now.
    pub(super) fn say_lost(&mut self, counters: &Counters) {
        let lost = counters.lost_so_far();
        if lost > self.lost_said && is_due(&mut self.lost_said_at, Instant::now()) {
            tracing::error!(
                records = lost - self.lost_said,
                total = lost,
                "call records were lost: too many waited to be written, or the database refused them"
            );
            self.lost_said = lost;
        }
    }
}

/// Whether something may be said again; if so, notes that it is.
fn is_due(said_at: &mut Option<Instant>, now: Instant) -> bool {
    let due = said_at.is_none_or(|said| now.duration_since(said) >= SAY_EVERY);
    if due {
        *said_at = Some(now);
    }
    due
}

#[cfg(test)]
mod tests;
