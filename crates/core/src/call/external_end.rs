//! The end of a call by its caller or by the gateway's shutdown.

use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ToolError};

use crate::context::CancelReason;
use crate::engine::Engine;

/// Waits until the caller or the gateway ends the call.
pub(super) async fn wait_for_external_end(
    engine: &Engine,
    cancel: Option<&CancellationToken>,
) -> CancelReason {
    let cancelled = async {
        match cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancelled => CancelReason::Caller,
        () = engine.stopping.cancelled() => CancelReason::Shutdown,
    }
}

/// The error of a call that the caller or the gateway ended.
pub(super) fn external_end_error(reason: CancelReason) -> ToolError {
    match reason {
        CancelReason::Shutdown => ToolError::new(Code::ShuttingDown, "The gateway is shutting down"),
        _ => ToolError::new(Code::Cancelled, "The call was cancelled"),
    }
}
