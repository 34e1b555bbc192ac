//! Runs file operations on threads that may block, and stops them soon after the end of their call.

use std::sync::Arc;

use tokio::sync::Semaphore;
use toolway_core::CallContext;
use toolway_types::{Code, ToolError, ToolOutput};

use super::error::FileAccessError;

/// Tells whether the call has been ended, so that going on is of no use.
pub(super) type StopCheck<'a> = &'a dyn Fn() -> bool;

/// How many threads may be at work on files, or stuck with a disk that does not answer.
pub(super) const MAX_THREADS: usize = 64;

/// Does the work on a thread that may block. `threads` bounds how many there are.
pub(super) async fn run_blocking<W>(
    cx: CallContext,
    threads: Arc<Semaphore>,
    work: W,
) -> Result<ToolOutput, ToolError>
where
    W: FnOnce(&CallContext, StopCheck<'_>) -> Result<ToolOutput, ToolError> + Send + 'static,
{
    // Never closed.
    let turn = threads.acquire_owned().await.ok();
    let on_thread = move || {
        let _turn = turn;
        work(&cx, &|| cx.cancel_reason().is_some())
    };
    match tokio::task::spawn_blocking(on_thread).await {
        Ok(done) => done,
        Err(error) => Err(ToolError::new(Code::ToolPanicked, error.to_string())),
    }
}

/// Goes on, unless the call has been ended.
pub(super) fn check_not_stopped(stopped: StopCheck<'_>) -> Result<(), FileAccessError> {
    if stopped() { Err(FileAccessError::Stopped) } else { Ok(()) }
}
