//! Execution of one call: waits for a permit, catches panics, and drops cancelled tools.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, Semaphore};
use toolway_types::{Code, RawJson, ToolError, ToolOutput};

use crate::call_table::{CallTable, DeviceCall};
use crate::context::ToolContext;
use crate::result_frame::{self, FrameFormat};
use crate::tool::Tool;

/// Limits concurrent calls. A sequential tool runs alone; other tools share a fixed number of permits.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimiter {
    slots: Arc<Semaphore>,
    order: Arc<RwLock<()>>,
}

/// Permit held while a call runs.
enum ConcurrencyPermit {
    Shared { _order: OwnedRwLockReadGuard<()>, _slot: OwnedSemaphorePermit },
    Exclusive { _order: OwnedRwLockWriteGuard<()> },
}

impl ConcurrencyLimiter {
    pub(crate) fn new(concurrency: usize) -> Self {
        Self { slots: Arc::new(Semaphore::new(concurrency.max(1))), order: Arc::default() }
    }

    /// Waits for a permit; `None` if the call is cancelled first.
    async fn acquire(&self, sequential: bool, call: &DeviceCall) -> Option<ConcurrencyPermit> {
        let turn = async {
            if sequential {
                return Some(ConcurrencyPermit::Exclusive {
                    _order: Arc::clone(&self.order).write_owned().await,
                });
            }
            let order = Arc::clone(&self.order).read_owned().await;
            let slot = Arc::clone(&self.slots).acquire_owned().await.ok()?;
            Some(ConcurrencyPermit::Shared { _order: order, _slot: slot })
        };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => None,
            turn = turn => turn,
        }
    }
}

/// Runs a call and sends its result. `grace` is the time for a cancelled tool to end by itself.
pub(crate) async fn run(
    tool: Arc<Tool>,
    call: Arc<DeviceCall>,
    args: RawJson,
    turns: Arc<ConcurrencyLimiter>,
    calls: Arc<CallTable>,
    grace: Duration,
) {
    let Some(turn) = turns.acquire(tool.spec().sequential, &call).await else {
        return abandon(&calls, &call, "The call was cancelled before it started");
    };
    let mut work = Box::pin(AssertUnwindSafe(tool.call(args, ToolContext(Arc::clone(&call)))).catch_unwind());
    let overdue = async {
        call.cancel.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    let outcome = tokio::select! {
        biased;
        outcome = &mut work => Some(outcome.unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))),
        () = overdue => None,
    };
    if std::panic::catch_unwind(AssertUnwindSafe(|| drop(work))).is_err() {
        tracing::error!(id = %call.id, tool = %call.name, "a cancelled tool panicked while it was dropped");
    }
    match outcome {
        Some(outcome) => deliver(&calls, &call, outcome).await,
        None => abandon(&calls, &call, "The call was cancelled"),
    }
    drop(turn);
}

async fn deliver(calls: &CallTable, call: &DeviceCall, outcome: Result<ToolOutput, ToolError>) {
    if let Err(error) = &outcome {
        tracing::debug!(id = %call.id, tool = %call.name, code = %error.code, %error, "a tool failed");
    }
    let form = current_format(calls);
    if let Some((link, frame)) = calls.finish(call, result_frame::result_frame(&call.id, outcome, form)) {
        // If the connection ends before the frame is written, the next one sends it.
        let _ = link.send(frame).await;
    }
}

fn abandon(calls: &CallTable, call: &DeviceCall, why: &str) {
    let error = ToolError::new(Code::ToolFailed, why);
    calls.abandon(call, result_frame::result_frame(&call.id, Err(error), current_format(calls)));
}

/// Frame format of the current gateway; the newest format without a connection.
fn current_format(calls: &CallTable) -> FrameFormat {
    calls.link().map_or(
        FrameFormat {
            version: toolway_wire::VERSION,
            frame_limit: toolway_wire::limits::ConnectionLimits::default().frame_bytes,
        },
        |link| FrameFormat { version: link.version, frame_limit: link.frame_limit },
    )
}

fn panic_error(panic: &(dyn Any + Send)) -> ToolError {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "The tool panicked".to_owned());
    ToolError::new(Code::ToolPanicked, message)
}
