//! Runs the tool under the deadline: in its own task, or inline if it only waits.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::RwLock;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_types::text::{MAX_MESSAGE, truncate};
use toolway_types::{Code, ToolError, ToolOutput};

use super::abandoned_task::abandon;
use super::consent_check;
use super::external_end::{external_end_error, wait_for_external_end};
use super::hooks::CallHooks;
use super::lookup::CallTarget;
use super::record::CallRecordGuard;
use super::run_limits::{RunLimits, run_timeout};
use crate::arguments::Arguments;
use crate::call_request::CallRequest;
use crate::context::{CallContext, CancelReason};
use crate::engine::Engine;
use crate::engine_settings::EngineSettings;
use crate::finished_call::FinishedCall;
use crate::run_clock::{ExpiryReason, RunClock};

type ToolRunResult = Result<ToolOutput, ToolError>;

/// Obtains consent if the rules require it, runs the hooks, and runs the tool.
pub(super) async fn run_call(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    call: CallRequest,
    target: CallTarget,
    arguments: Arguments,
    mut open: CallRecordGuard<'_>,
) -> FinishedCall {
    if consent_check::may_be_required(engine, &call, &target) {
        // Boxed, because few calls need it, so that the future of all other calls stays small.
        let consent =
            Box::pin(consent_check::obtain(engine, settings, &call, &target, &arguments, &mut open));
        let asked = tokio::select! {
            biased;
            consent = consent => consent,
            reason = wait_for_external_end(engine, call.cancel.as_ref()) => Err(external_end_error(reason)),
        };
        if let Err(refused) = asked {
            return open.close(Err(refused)).await;
        }
    }
    let spec = target.tool.spec();
    let limits = RunLimits { run: run_timeout(settings, &call, &target), silence: spec.progress_timeout() };
    let clock = RunClock::start(limits.run, None, settings.person_timeout);
    let context = CallContext::new(call.id, call.caller, clock, call.progress, call.extension);
    open.set_context(&context);
    let hooks = engine.hooks.load_full();
    let mut hooked = CallHooks::for_call(&hooks, &target, &context, &arguments);
    let result = {
        let mut stopped = pin!(wait_for_stop(engine, &context, call.cancel.as_ref()));
        let before = tokio::select! {
            biased;
            reason = &mut stopped => {
                let _ = context.cancel(reason);
                Err(limits.error(reason))
            }
            arguments = async {
                open.wait_until_committed().await;
                match &mut hooked {
                    None => Ok(arguments),
                    Some(hooked) => Box::pin(hooked.run_before(engine, settings, &target, &mut open)).await,
                }
            } => arguments,
        };
        match before {
            Err(error) => Err(error),
            Ok(arguments) => {
                let mut run = ToolRun::start(engine, target, arguments, &context, limits);
                tokio::select! {
                    biased;
                    result = run.wait_for_result() => result,
                    reason = &mut stopped => run.stop(reason).await,
                }
            }
        }
    };
    let result = match hooked {
        None => result,
        Some(hooked) => Box::pin(hooked.run_after(result, context.is_dispatched(), &mut open)).await,
    };
    let result = result.and_then(|output| check_output_size(output, settings.output_bytes, &context));
    open.close(result).await
}

/// Waits until something outside the tool ends the call.
async fn wait_for_stop(
    engine: &Engine,
    context: &CallContext,
    cancel: Option<&CancellationToken>,
) -> CancelReason {
    tokio::select! {
        biased;
        expiry = context.clock().wait_until_expired() => match expiry {
            ExpiryReason::Deadline => CancelReason::Deadline,
            ExpiryReason::Silence => CancelReason::Silence,
        },
        reason = wait_for_external_end(engine, cancel) => reason,
    }
}

fn check_output_size(output: ToolOutput, limit: usize, context: &CallContext) -> ToolRunResult {
    let size = output.size();
    if size <= limit {
        return Ok(output);
    }
    let message = format!("The tool returned {size} bytes; at most {limit} are allowed");
    Err(ToolError::new(Code::OutputTooLarge, message)
        .with_hint("Request less data at a time; the limit is the setting limits.output_bytes")
        .with_dispatched(context.is_dispatched()))
}

/// Time for a tool to return after it has reported that its answer has arrived.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(1);

/// A running tool.
enum RunningTool {
    /// In its own task, because it may block a thread.
    Spawned(JoinHandle<ToolRunResult>),
    /// Inline in its caller's task, because it only waits.
    Inline(BoxFuture<'static, Result<ToolRunResult, Box<dyn Any + Send>>>),
}

impl RunningTool {
    /// Waits for the result. A panic is a failure.
    async fn wait(&mut self, context: &CallContext) -> ToolRunResult {
        let crashed =
            |panic: Box<dyn Any + Send>| ToolError::new(Code::ToolPanicked, panic_message(panic.as_ref()));
        let ended = match self {
            Self::Inline(work) => work.await.map_err(crashed),
            Self::Spawned(task) => task.await.map_err(|error| match error.try_into_panic() {
                Ok(panic) => crashed(panic),
                // The task was not aborted, so the runtime is shutting down.
                Err(_) => ToolError::new(Code::ShuttingDown, "The gateway is shutting down"),
            }),
        };
        ended.unwrap_or_else(|error| Err(error.with_dispatched(context.is_dispatched())))
    }
}

/// The run of a tool. Dropping it early cancels the tool with a reason.
struct ToolRun<'a> {
    running: Option<RunningTool>,
    context: &'a CallContext,
    engine: &'a Arc<Engine>,
    limits: RunLimits,
}

impl<'a> ToolRun<'a> {
    fn start(
        engine: &'a Arc<Engine>,
        target: CallTarget,
        arguments: Arguments,
        context: &'a CallContext,
        limits: RunLimits,
    ) -> Self {
        let inner = context.clone();
        // Requested here and not in the task, so that calls get the barrier in the order of their arrival.
        let mut turn = target.barrier.clone().map(|barrier| {
            let alone = target.tool.spec().is_sequential();
            Box::pin(tokio::task::unconstrained(acquire_sequence_guard(barrier, alone, context.clone())))
        });
        let taken = turn.as_mut().and_then(|turn| turn.now_or_never());
        let only_waits = target.tool.can_run_inline();
        let work = async move {
            let _turn = match (taken, turn) {
                (None, Some(turn)) => Some(turn.await),
                (taken, _) => taken,
            };
            inner.mark_running();
            if let Some(silence) = limits.silence {
                inner.clock().set_silence_limit(silence);
            }
            if !target.tool.marks_dispatch() {
                inner.mark_dispatched();
            }
            target.tool.execute(arguments, &inner).await
        };
        let running = if only_waits {
            // The future is not used after a panic.
            RunningTool::Inline(AssertUnwindSafe(work).catch_unwind().boxed())
        } else {
            let span = tracing::Span::current();
            RunningTool::Spawned(tokio::spawn(tracing::Instrument::instrument(work, span)))
        };
        Self { running: Some(running), context, engine, limits }
    }

    /// Waits for the tool's result.
    async fn wait_for_result(&mut self) -> ToolRunResult {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let result = running.wait(self.context).await;
        self.running = None;
        result
    }

    /// Ends the run from outside and returns its result. A result that arrives at the moment of the deadline
    /// wins, and so does an answer that has arrived but was not returned yet.
    async fn stop(mut self, reason: CancelReason) -> ToolRunResult {
        if matches!(reason, CancelReason::Deadline | CancelReason::Silence) {
            tokio::task::yield_now().await;
            if let Some(result) = self.wait_for_result().now_or_never() {
                return result;
            }
        }
        if !self.context.cancel(reason) {
            // The answer has arrived and only has to be returned. A tool that then continues is stopped
            // nevertheless.
            if let Ok(result) = tokio::time::timeout(HANDOVER_TIMEOUT, self.wait_for_result()).await {
                return result;
            }
        }
        Err(self.limits.error(reason).with_dispatched(self.context.is_dispatched()))
    }
}

impl Drop for ToolRun<'_> {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        // An earlier reason has priority. An answer that has arrived is lost with its caller.
        let _ = self.context.cancel(CancelReason::Caller);
        match running {
            RunningTool::Spawned(task) => abandon(self.engine, task),
            // A panic in the tool's cleanup must not reach the caller.
            RunningTool::Inline(work) => drop(std::panic::catch_unwind(AssertUnwindSafe(|| drop(work)))),
        }
    }
}

/// Waits for the barrier of a source that has sequential tools: these run alone, others in parallel.
async fn acquire_sequence_guard(
    barrier: Arc<RwLock<()>>,
    alone: bool,
    context: CallContext,
) -> SequenceGuard {
    let asked = Instant::now();
    let turn = match alone {
        true => SequenceGuard::Exclusive(barrier.write_owned().await),
        false => SequenceGuard::Shared(barrier.read_owned().await),
    };
    context.set_queue_time(asked.elapsed());
    turn
}

/// Held while a call of a source with sequential tools runs.
#[allow(dead_code, reason = "held for its drop")]
enum SequenceGuard {
    Exclusive(tokio::sync::OwnedRwLockWriteGuard<()>),
    Shared(tokio::sync::OwnedRwLockReadGuard<()>),
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("The tool crashed: {}", truncate(text.unwrap_or("no reason is known"), MAX_MESSAGE))
}
