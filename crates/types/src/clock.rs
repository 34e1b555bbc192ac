//! Wall-clock time as something handed in, so that libraries never read it themselves and tests can move
//! it. Durations and deadlines use the runtime's monotonic clock instead, which a wrong wall clock can't hurt.

use std::fmt::Debug;

/// Tells the wall-clock time. Used for labels (when a call started, when a token ends), never to measure.
pub trait Clock: Debug + Send + Sync {
    /// Now, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Now, as a timestamp; the epoch where the clock is out of range.
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.now_ms()).unwrap_or_default()
    }
}

/// The computer's own clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    fn now_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond()
    }
}
