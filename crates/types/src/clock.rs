//! Wall-clock time as a parameter: libraries never read it themselves, and tests can set it.
//!
//! Durations and deadlines use the runtime's monotonic clock instead, so a wrong wall clock cannot affect
//! them.

use std::fmt::Debug;

/// Source of wall-clock time. Used for labels (start of a call, expiry of a token), never for measuring.
pub trait Clock: Debug + Send + Sync {
    /// Current time, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Current time as a timestamp; the Unix epoch if the clock is out of range.
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.now_ms()).unwrap_or_default()
    }
}

/// The operating system's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    fn now_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond()
    }
}
