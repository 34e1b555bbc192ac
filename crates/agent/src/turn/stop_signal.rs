//! Ending a turn from outside.

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Why a turn is ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Somebody wants it to end.
    Aborted,
    /// The gateway stops.
    ShuttingDown,
}

/// Ends a turn from outside; the first reason stands.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    token: CancellationToken,
    reason: Mutex<Option<StopReason>>,
}

impl StopSignal {
    /// Ends the turn.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.reason.lock().get_or_insert(reason);
        self.token.cancel();
    }

    /// Why it is to end, if it is.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        *self.reason.lock()
    }

    /// Is cancelled when the turn is to end.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}
