//! Signal to end a turn from outside.

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Reason to end a turn from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The turn was aborted.
    Aborted,
    /// The gateway is shutting down.
    ShuttingDown,
}

/// Signal to end a turn from outside. The first reason wins.
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

    /// Returns the reason, if the turn must end.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        *self.reason.lock()
    }

    /// Returns a token that is cancelled when the turn must end.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}
