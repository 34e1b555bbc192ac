//! The clock of a call (invariant "one deadline"). The engine starts it, it pauses while a person is asked,
//! and nothing else moves the deadline. Progress only resets the limit on silence, which lies within the
//! deadline.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Reason why a run expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryReason {
    /// The deadline passed.
    Deadline,
    /// The tool sent no sign of life for too long.
    Silence,
}

/// The clock of one call.
#[derive(Debug)]
pub struct RunClock {
    started: Instant,
    state: Mutex<RunClockState>,
    changed: Notify,
}

#[derive(Debug)]
struct RunClockState {
    deadline: Instant,
    silence: Option<SilenceTimer>,
    paused_at: Option<Instant>,
    person_time_used: Duration,
    person_time_limit: Duration,
}

#[derive(Debug)]
struct SilenceTimer {
    limit: Duration,
    expires_at: Instant,
}

/// An upper bound of a hundred years: longer than any useful limit, and short enough to be added to any
/// instant.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl SilenceTimer {
    fn starting_at(limit: Duration, now: Instant) -> Self {
        let limit = limit.min(MAX_DURATION);
        Self { limit, expires_at: now + limit }
    }
}

impl RunClockState {
    /// Remaining time for persons at the start of the pause.
    fn remaining_person_time(&self) -> Duration {
        self.person_time_limit.saturating_sub(self.person_time_used)
    }

    /// Ends a pause at `at`. The pause counts at most as long as the remaining time for persons.
    fn resume(&mut self, at: Instant) {
        let Some(stopped_at) = self.paused_at.take() else { return };
        let stood = at.saturating_duration_since(stopped_at).min(self.remaining_person_time());
        self.person_time_used += stood;
        self.deadline += stood;
        if let Some(silence) = &mut self.silence {
            silence.expires_at += stood;
        }
    }

    /// Ends a pause if the time for persons is used up.
    fn resume_if_person_time_is_up(&mut self, now: Instant) {
        if let Some(stopped_at) = self.paused_at {
            let ends = stopped_at + self.remaining_person_time();
            if now >= ends {
                self.resume(ends);
            }
        }
    }

    /// Time of the next event, and its kind.
    fn next_event(&self) -> (Instant, Option<ExpiryReason>) {
        if let Some(stopped_at) = self.paused_at {
            return (stopped_at + self.remaining_person_time(), None);
        }
        match &self.silence {
            Some(silence) if silence.expires_at < self.deadline => {
                (silence.expires_at, Some(ExpiryReason::Silence))
            }
            _ => (self.deadline, Some(ExpiryReason::Deadline)),
        }
    }
}

impl RunClock {
    /// Starts a clock that expires after `limit`. `silence` limits the time between signs of life, `person`
    /// the total time for persons.
    #[must_use]
    pub fn start(limit: Duration, silence: Option<Duration>, person: Duration) -> Self {
        let now = Instant::now();
        let limit = limit.min(MAX_DURATION);
        let state = RunClockState {
            deadline: now + limit,
            silence: silence.map(|limit| SilenceTimer::starting_at(limit, now)),
            paused_at: None,
            person_time_used: Duration::ZERO,
            person_time_limit: person.min(MAX_DURATION),
        };
        Self { started: now, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Time since the start, including pauses.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sets the limit on the time between signs of life from now on.
    pub(crate) fn set_silence_limit(&self, limit: Duration) {
        self.state.lock().silence = Some(SilenceTimer::starting_at(limit, Instant::now()));
        self.changed.notify_one();
    }

    /// Remaining time of the run. It does not decrease while a person is asked.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let mut state = self.state.lock();
        state.resume_if_person_time_is_up(Instant::now());
        state.deadline.saturating_duration_since(state.paused_at.unwrap_or_else(Instant::now))
    }

    /// Total time that persons have taken.
    #[must_use]
    pub fn person_time_used(&self) -> Duration {
        let state = self.state.lock();
        match state.paused_at {
            Some(at) => state.person_time_used + at.elapsed().min(state.remaining_person_time()),
            None => state.person_time_used,
        }
    }

    /// Pauses the clock, because a person is being asked. It resumes by itself when the time for persons is
    /// used up.
    pub fn pause(&self) {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.resume_if_person_time_is_up(now);
        if state.paused_at.is_none() && !state.remaining_person_time().is_zero() {
            state.paused_at = Some(now);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Records a sign of life: ends a pause, and resets the limit on silence.
    pub fn note_activity(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let was_stopped = state.paused_at.is_some();
        state.resume(now);
        let has_silence = state.silence.is_some();
        if let Some(silence) = &mut state.silence {
            silence.expires_at = now + silence.limit;
        }
        drop(state);
        if was_stopped || has_silence {
            self.changed.notify_one();
        }
    }

    /// Waits until the clock expires.
    pub async fn wait_until_expired(&self) -> ExpiryReason {
        loop {
            let (at, expiry) = {
                let mut state = self.state.lock();
                let now = Instant::now();
                state.resume_if_person_time_is_up(now);
                state.next_event()
            };
            if let Some(expiry) = expiry
                && at <= Instant::now()
            {
                return expiry;
            }
            tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                () = self.changed.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
