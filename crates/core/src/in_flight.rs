//! The count of calls in flight: it limits them, and a shutdown waits until it is zero.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;
use toolway_types::{Code, ToolError};

/// The number of calls in flight. It admits calls until it is closed.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    count: AtomicUsize,
    is_closed: AtomicBool,
    drained: Notify,
    /// Number of runs that were aborted and have not ended yet.
    pub(crate) abandoned_runs: AtomicU64,
}

/// Counts one call until it is dropped.
pub(crate) struct InFlightGuard<'a>(&'a InFlight);

/// The reason why a call was not admitted.
pub(crate) enum AdmissionError {
    Closed,
    Full,
}

impl InFlight {
    /// Admits a call if fewer than `limit` are in flight.
    pub(crate) fn admit(&self, limit: usize) -> Result<InFlightGuard<'_>, AdmissionError> {
        let guard = {
            let count = self.count.fetch_add(1, Ordering::SeqCst);
            let guard = InFlightGuard(self);
            if count >= limit {
                return Err(AdmissionError::Full);
            }
            guard
        };
        // Ordered against the store in `close` and the count read after it: one of the two sees the other.
        if self.is_closed.load(Ordering::SeqCst) { Err(AdmissionError::Closed) } else { Ok(guard) }
    }

    /// Admits no calls from now on.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    pub(crate) async fn wait_until_drained(&self) {
        loop {
            let drained = self.drained.notified();
            if self.count() == 0 {
                return;
            }
            drained.await;
        }
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.drained.notify_waiters();
        }
    }
}

impl From<AdmissionError> for ToolError {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Closed => Self::new(Code::ShuttingDown, "The gateway is shutting down"),
            AdmissionError::Full => Self::new(Code::Overloaded, "The gateway has too many calls in flight")
                .with_hint("Wait for some of them to end; the limit is the setting limits.calls_in_flight"),
        }
    }
}
