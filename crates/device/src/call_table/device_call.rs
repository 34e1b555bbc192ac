//! One running call, shared by the tool, the connection and the call table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

use super::CallTable;

/// How long the gateway's clock stops for a person, in all of one call.
const MAX_WAITING: Duration = Duration::from_secs(120);

/// The clock of one call, as far as the device knows it. The gateway decides; this is for tools that want
/// to be done in time, and for calls whose gateway is gone.
#[derive(Debug, Default)]
pub(crate) struct CallTiming {
    pub(crate) deadline: Option<Instant>,
    pub(crate) waiting_since: Option<Instant>,
    pub(crate) waited: Duration,
    pub(crate) last_progress: f64,
    /// What is said again after a reconnect while a person is asked.
    pub(crate) waiting_frame: Option<Utf8Bytes>,
}

impl CallTiming {
    fn effective_deadline(&self, now: Instant) -> Option<Instant> {
        let running = self.waiting_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.deadline.map(|deadline| deadline + (self.waited + running).min(MAX_WAITING))
    }
}

/// One running call. Shared by the tool, the connection and the call memory.
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

    /// Notes what the gateway said with the request, the first time or again. Gives back what it must be
    /// told once more: that a person is being asked.
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

    /// When the gateway will have given up.
    pub(crate) fn deadline(&self, now: Instant) -> Option<Instant> {
        self.timing.lock().effective_deadline(now)
    }
}
