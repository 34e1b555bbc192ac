//! The tool runs, in a task of its own, under the one deadline.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolway_types::{Code, ToolError, ToolOutput};

use super::lookup::Target;
use super::record::OpenRecord;
use crate::arguments::Arguments;
use crate::context::{CallContext, CancelReason};
use crate::deadline::{Expiry, RunClock};
use crate::engine::{Call, Engine, EngineSettings, Finished};
use crate::spec::ToolSpec;

type RunResult = Result<ToolOutput, ToolError>;

pub(super) async fn run(
    engine: &Arc<Engine>,
    settings: &EngineSettings,
    call: Call,
    target: Target,
    arguments: Arguments,
    mut open: OpenRecord,
) -> Finished {
    let spec = target.tool.spec().clone();
    let limit = limit(settings, &target, &spec, call.timeout);
    let clock = RunClock::start(limit, spec.progress_timeout(), settings.person_timeout);
    let cancel = call.cancel.unwrap_or_default();
    let context = CallContext::new(call.id, call.caller, clock, call.progress);
    open.runs_in(&context);
    let id = target.id.clone();
    let mut task = RunningTask::spawn(engine.clone(), target, arguments, context.clone());

    let result = tokio::select! {
        biased;
        result = task.result() => result,
        expiry = context.clock().expired() => {
            let reason = match expiry {
                Expiry::Deadline => CancelReason::Deadline,
                Expiry::Silence => CancelReason::Silence,
            };
            Err(task.stop(reason, limit, spec.progress_timeout()))
        }
        () = cancel.cancelled() => Err(task.stop(CancelReason::Caller, limit, None)),
        () = engine.stopping.cancelled() => Err(task.stop(CancelReason::Shutdown, limit, None)),
    };
    let result = result.and_then(|output| within_size(output, settings.output_bytes, &context));
    open.close(result, Some(id)).await
}

/// The least of the tool's limit (the owner's for it, else the spec's, else the default), the caller's and the
/// cap.
fn limit(settings: &EngineSettings, target: &Target, spec: &ToolSpec, caller: Option<Duration>) -> Duration {
    let owners = match settings.tool_timeouts.is_empty() {
        true => None,
        false => settings.tool_timeouts.get(&target.id.to_string()).copied(),
    };
    let tools = owners.or(spec.timeout()).unwrap_or(settings.default_timeout);
    tools.min(caller.unwrap_or(Duration::MAX)).min(settings.timeout_cap)
}

fn within_size(output: ToolOutput, limit: usize, context: &CallContext) -> RunResult {
    let size = output.size();
    if size <= limit {
        return Ok(output);
    }
    let message = format!("The tool gave {size} bytes, more than the {limit} allowed");
    Err(ToolError::new(Code::OutputTooLarge, message)
        .with_hint("Ask for less at a time; the limit is the setting limits.output_bytes")
        .dispatched(context.is_dispatched()))
}

/// The task that the tool runs in. Dropped before its end, it is told why and aborted.
struct RunningTask {
    handle: Option<JoinHandle<RunResult>>,
    context: CallContext,
    engine: Arc<Engine>,
}

impl RunningTask {
    fn spawn(engine: Arc<Engine>, target: Target, arguments: Arguments, context: CallContext) -> Self {
        let inner = context.clone();
        let span = tracing::Span::current();
        let work = async move {
            let _turn = take_turn(&target, &inner).await;
            if !target.tool.marks_dispatch() {
                inner.mark_dispatched();
            }
            let run = AssertUnwindSafe(target.tool.execute(arguments, &inner)).catch_unwind();
            match run.await {
                Ok(result) => result,
                Err(panic) => {
                    let error = ToolError::new(Code::ToolPanicked, panic_message(panic.as_ref()));
                    Err(error.dispatched(inner.is_dispatched()))
                }
            }
        };
        let handle = tokio::spawn(tracing::Instrument::instrument(work, span));
        Self { handle: Some(handle), context, engine }
    }

    /// What the tool gave.
    async fn result(&mut self) -> RunResult {
        let Some(handle) = &mut self.handle else { return std::future::pending().await };
        let result = handle.await;
        self.handle = None;
        // The task catches panics itself and nobody has aborted it, so the runtime is going down.
        result.unwrap_or_else(|_| Err(ToolError::new(Code::ShuttingDown, "The gateway is shutting down")))
    }

    /// Ends the run from outside and says how.
    fn stop(self, reason: CancelReason, limit: Duration, silence: Option<Duration>) -> ToolError {
        self.context.cancel(reason);
        let error = match reason {
            CancelReason::Deadline => {
                ToolError::new(Code::Timeout, format!("The tool did not answer within {}", words(limit)))
            }
            CancelReason::Silence => {
                let bound = words(silence.unwrap_or(limit));
                ToolError::new(Code::NoProgress, format!("The tool reported no progress for {bound}"))
            }
            CancelReason::Caller => ToolError::new(Code::Cancelled, "The call was cancelled"),
            CancelReason::Shutdown => ToolError::new(Code::ShuttingDown, "The gateway is shutting down"),
        };
        error.dispatched(self.context.is_dispatched())
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.context.cancel(CancelReason::Caller);
        handle.abort();
        if handle.is_finished() {
            return;
        }
        // An async tool ends at its next step. Code that blocks can't be aborted, so it is counted until it ends.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let engine = self.engine.clone();
        engine.flight.abandoned.fetch_add(1, Ordering::AcqRel);
        runtime.spawn(async move {
            let _ = handle.await;
            engine.flight.abandoned.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

/// Waits for this call's turn where its source has sequential tools: those run alone, others side by side.
async fn take_turn(target: &Target, context: &CallContext) -> Option<Turn> {
    let barrier = target.barrier.clone()?;
    let asked = Instant::now();
    let turn = match target.tool.spec().is_sequential() {
        true => Turn::Alone(barrier.write_owned().await),
        false => Turn::Shared(barrier.read_owned().await),
    };
    context.note_queued(asked.elapsed());
    Some(turn)
}

/// Held while a call of a source with sequential tools runs.
#[allow(dead_code, reason = "held for its drop")]
enum Turn {
    Alone(tokio::sync::OwnedRwLockWriteGuard<()>),
    Shared(tokio::sync::OwnedRwLockReadGuard<()>),
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("The tool crashed: {}", text.unwrap_or("it gave no reason"))
}

fn words(duration: Duration) -> String {
    if duration.as_millis().is_multiple_of(1000) {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
