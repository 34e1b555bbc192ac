//! One running call, shared by the tool, the connection and the call table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

use super::CallTable;

/// Maximum time per call that the gateway's clock may pause for a person.
const MAX_WAITING: Duration = Duration::from_secs(120);

/// Clock of one call, as far as the device knows it. The gateway decides; this is for tools that adapt to the remaining
/// time, and for calls whose gateway is gone.
#[derive(Debug, Default)]
pub(crate) struct CallTiming {
    pub(crate) deadline: Option<Instant>,
    pub(crate) waiting_since: Option<Instant>,
    pub(crate) waited: Duration,
    pub(crate) last_progress: f64,
    /// Frame to repeat after a reconnect while a person is being asked.
    pub(crate) waiting_frame: Option<Utf8Bytes>,
}

impl CallTiming {
    fn effective_deadline(&self, now: Instant) -> Option<Instant> {
        let running = self.waiting_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.deadline.map(|deadline| deadline + (self.waited + running).min(MAX_WAITING))
    }
}

/// A running call. The tool, the connection and the call table share it.
pub(crate) struct DeviceCall {
    pub(crate) id: Arc<str>,
    pub(crate) name: String,
    pub(crate) attempt: AtomicU32,
    pub(crate) cancel: CancellationToken,
    pub(crate) timing: Mutex<CallTiming>,
    pub(crate) calls: Arc<CallTable>,
}

impl DeviceCall {
    pub(crate) fn new(id: Arc<str>, name: String, calls: Arc<CallTable>) -> Self {
        Self {
            id,
            name,
            attempt: AtomicU32::new(1),
            cancel: CancellationToken::new(),
            timing: Mutex::default(),
            calls,
        }
    }

    /// Records the deadline of a request or of its repetition. Returns the frame to repeat if a person is being asked.
    pub(crate) fn record_request(
        &self,
        attempt: Option<u32>,
        deadline: Option<Instant>,
    ) -> Option<Utf8Bytes> {
        self.attempt.store(attempt.unwrap_or(1), Ordering::Relaxed);
        let mut timing = self.timing.lock();
        timing.deadline = deadline;
        timing.waited = Duration::ZERO;
        timing.waiting_frame.clone()
    }

    /// Time at which the gateway gives up.
    pub(crate) fn deadline(&self, now: Instant) -> Option<Instant> {
        self.timing.lock().effective_deadline(now)
    }
}
