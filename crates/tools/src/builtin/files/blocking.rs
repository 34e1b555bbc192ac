//! Work on files is done where it may block, and stops soon after its call has ended.

use std::sync::Arc;

use tokio::sync::Semaphore;
use toolway_core::CallContext;
use toolway_types::{Code, ToolError, ToolOutput};

use super::fault::Fault;

/// Tells whether the call has been ended, so that going on is of no use.
pub(super) type Stopped<'a> = &'a dyn Fn() -> bool;

/// How many threads may be at work on files, or stuck with a disk that does not answer.
pub(super) const THREADS: usize = 64;

/// Does the work on a thread that may block. `threads` bounds how many there are.
pub(super) async fn run<W>(cx: CallContext, threads: Arc<Semaphore>, work: W) -> Result<ToolOutput, ToolError>
where
    W: FnOnce(&CallContext, Stopped<'_>) -> Result<ToolOutput, ToolError> + Send + 'static,
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
pub(super) fn go_on(stopped: Stopped<'_>) -> Result<(), Fault> {
    if stopped() { Err(Fault::Stopped) } else { Ok(()) }
}
