//! The one clock of a call (invariant 2): fixed by the engine, stopped while a person is asked, moved by
//! nothing else. Progress only resets the bound on silence, which lies inside the deadline.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Why a run ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The deadline passed.
    Deadline,
    /// The tool was silent for longer than it may be.
    Silence,
}

/// The clock of one call.
#[derive(Debug)]
pub struct RunClock {
    started: Instant,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    deadline: Instant,
    silence: Option<Silence>,
    stopped_at: Option<Instant>,
    waited: Duration,
    person: Duration,
}

#[derive(Debug)]
struct Silence {
    limit: Duration,
    until: Instant,
}

/// Longer than any limit that means something, and short enough to be added to any moment: a hundred years.
const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Silence {
    fn bound(limit: Duration, now: Instant) -> Self {
        let limit = limit.min(FAR);
        Self { limit, until: now + limit }
    }
}

impl State {
    /// How much of the time for persons is left at the moment of stopping.
    fn person_left(&self) -> Duration {
        self.person.saturating_sub(self.waited)
    }

    /// Lets the clock run again, as of `at`, having stood at most for what was left for persons.
    fn resume(&mut self, at: Instant) {
        let Some(stopped_at) = self.stopped_at.take() else { return };
        let stood = at.saturating_duration_since(stopped_at).min(self.person_left());
        self.waited += stood;
        self.deadline += stood;
        if let Some(silence) = &mut self.silence {
            silence.until += stood;
        }
    }

    /// Where the clock is stopped and the time for persons is used up, lets it run again.
    fn settle(&mut self, now: Instant) {
        if let Some(stopped_at) = self.stopped_at {
            let ends = stopped_at + self.person_left();
            if now >= ends {
                self.resume(ends);
            }
        }
    }

    /// The next moment at which something happens, and what.
    fn next(&self) -> (Instant, Option<Expiry>) {
        if let Some(stopped_at) = self.stopped_at {
            return (stopped_at + self.person_left(), None);
        }
        match &self.silence {
            Some(silence) if silence.until < self.deadline => (silence.until, Some(Expiry::Silence)),
            _ => (self.deadline, Some(Expiry::Deadline)),
        }
    }
}

impl RunClock {
    /// A clock that runs out after `limit`; `silence` bounds the time between signs of life, `person` the
    /// time that persons may take in all.
    #[must_use]
    pub fn start(limit: Duration, silence: Option<Duration>, person: Duration) -> Self {
        let now = Instant::now();
        let limit = limit.min(FAR);
        let state = State {
            deadline: now + limit,
            silence: silence.map(|limit| Silence::bound(limit, now)),
            stopped_at: None,
            waited: Duration::ZERO,
            person: person.min(FAR),
        };
        Self { started: now, state: Mutex::new(state), changed: Notify::new() }
    }

    /// How long it has been since the clock was started, whether it stood or ran.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// From now on bounds the time between signs of life.
    pub(crate) fn bound_silence(&self, limit: Duration) {
        self.state.lock().silence = Some(Silence::bound(limit, Instant::now()));
        self.changed.notify_one();
    }

    /// The time that remains to the run; it stands still while a person is asked.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let mut state = self.state.lock();
        state.settle(Instant::now());
        state.deadline.saturating_duration_since(state.stopped_at.unwrap_or_else(Instant::now))
    }

    /// How long persons have taken so far.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let state = self.state.lock();
        match state.stopped_at {
            Some(at) => state.waited + at.elapsed().min(state.person_left()),
            None => state.waited,
        }
    }

    /// Stops the clock: a person is being asked. It runs again by itself when the time for persons is up.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.settle(now);
        if state.stopped_at.is_none() && !state.person_left().is_zero() {
            state.stopped_at = Some(now);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// A sign of life: the clock runs again if it was stopped, and the bound on silence starts anew.
    pub fn touch(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let was_stopped = state.stopped_at.is_some();
        state.resume(now);
        let has_silence = state.silence.is_some();
        if let Some(silence) = &mut state.silence {
            silence.until = now + silence.limit;
        }
        drop(state);
        if was_stopped || has_silence {
            self.changed.notify_one();
        }
    }

    /// Waits until the clock has run out.
    pub async fn expired(&self) -> Expiry {
        loop {
            let (at, expiry) = {
                let mut state = self.state.lock();
                let now = Instant::now();
                state.settle(now);
                state.next()
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
