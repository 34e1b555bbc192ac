//! Tests of ends from outside the tool, and of the reasons that the tool receives.

use std::sync::Arc;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ErrorKind, SpecDocument, ToolError, ToolOutput};

use super::timeouts::document_with_timeout;
use crate::testkit::{
    EngineHarness, answering_tool, assert_code, call, document, expect_error, millis, secs, slow_tool,
    success_text, tool, yield_to_tasks,
};
use crate::{CallContext, CallRequest, CancelReason, Tool};

/// Reasons of ended calls, in order.
type CancelReasons = Arc<Mutex<Vec<Option<CancelReason>>>>;

/// A tool that records the reason for its end when its future is dropped.
fn reason_noting_tool(document: SpecDocument) -> (Arc<dyn Tool>, CancelReasons) {
    struct CancelReasonGuard(CallContext, CancelReasons);
    impl Drop for CancelReasonGuard {
        fn drop(&mut self) {
            self.1.lock().push(self.0.cancel_reason());
        }
    }
    let reasons = CancelReasons::default();
    let noted = reasons.clone();
    let tool = tool(document, move |_, cx| {
        let guard = CancelReasonGuard(cx, noted.clone());
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    (tool, reasons)
}

#[tokio::test(start_paused = true)]
async fn a_caller_can_cancel_its_call() {
    let (noting, reasons) = reason_noting_tool(document("scan"));
    let world = EngineHarness::new(vec![noting]);
    let cancel = CancellationToken::new();
    let running = world.start(CallRequest { cancel: Some(cancel.clone()), ..call("scan", "{}") });
    sleep(secs(2)).await;
    cancel.cancel();
    let finished = running.await.unwrap();
    let cancelled = expect_error(&finished);
    assert_eq!((cancelled.code, cancelled.kind()), (Code::Cancelled, ErrorKind::ExecutionError));
    assert_eq!(cancelled.message, "The call was cancelled");
    assert!(cancelled.dispatched && cancelled.retryable);
    assert_eq!(finished.durations.total, secs(2));
    yield_to_tasks().await;
    assert_eq!(*reasons.lock(), [Some(CancelReason::Caller)]);
    assert_eq!((world.engine.in_flight(), world.engine.abandoned_runs()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_tool_receives_the_reason_for_its_end() {
    let (noting, reasons) =
        reason_noting_tool(SpecDocument { progress_timeout_ms: Some(3_000), ..document_with_timeout(10) });
    let world = EngineHarness::new(vec![noting]);
    world.engine.call(CallRequest { timeout: Some(secs(2)), ..call("scan", "{}") }).await;
    world.run("scan", "{}").await;
    let gone = world.start(call("scan", "{}"));
    sleep(secs(1)).await;
    gone.abort();
    let stopped = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    world.engine.shut_down(secs(1)).await;
    assert_code(&stopped.await.unwrap(), Code::ShuttingDown);
    yield_to_tasks().await;
    let expected =
        [CancelReason::Deadline, CancelReason::Silence, CancelReason::Caller, CancelReason::Shutdown];
    assert_eq!(*reasons.lock(), expected.map(Some));
}

/// A tool whose answer arrives after four seconds and is returned `handing` milliseconds later.
fn tool_answered_at_four(handing: u64) -> Arc<dyn Tool> {
    tool(document("scan"), move |_, cx| async move {
        sleep(secs(4)).await;
        assert!(cx.mark_answered());
        sleep(millis(handing)).await;
        Ok(ToolOutput::text("answer"))
    })
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_has_arrived_is_the_outcome() {
    let world = EngineHarness::new(vec![tool_answered_at_four(500)]);
    let in_time = |timeout| CallRequest { timeout: Some(timeout), ..call("scan", "{}") };
    let finished = world.engine.call(in_time(secs(4) + millis(100))).await;
    assert_eq!((success_text(&finished).as_str(), finished.durations.total), ("answer", millis(4500)));

    let cancel = CancellationToken::new();
    let running = world.start(CallRequest { cancel: Some(cancel.clone()), ..call("scan", "{}") });
    sleep(secs(4) + millis(100)).await;
    cancel.cancel();
    assert_eq!(success_text(&running.await.unwrap()), "answer");

    let running = world.start(call("scan", "{}"));
    sleep(secs(4) + millis(100)).await;
    world.engine.shut_down(secs(0)).await;
    assert_eq!(success_text(&running.await.unwrap()), "answer");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_announces_an_answer_and_returns_none_is_stopped() {
    let world = EngineHarness::new(vec![tool_answered_at_four(60_000)]);
    let finished = world.engine.call(CallRequest { timeout: Some(secs(5)), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
    assert_eq!(finished.durations.total, secs(6));
    yield_to_tasks().await;
    assert_eq!(world.engine.abandoned_runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_cancelled_before_its_start_does_not_run() {
    let (noting, reasons) = reason_noting_tool(document("scan"));
    let world = EngineHarness::new(vec![noting]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let finished = world.engine.call(CallRequest { cancel: Some(cancel), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Cancelled);
    assert!(!expect_error(&finished).dispatched);
    assert_eq!(world.engine.abandoned_runs(), 0, "there is not even a task to end");
    yield_to_tasks().await;
    assert!(reasons.lock().is_empty());
    assert_eq!(world.recorder.single_record().attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn a_device_disconnect_error_ends_the_call_at_once_r1() {
    let world = EngineHarness::new(vec![tool(document_with_timeout(3600), |_, cx| async move {
        sleep(secs(1)).await;
        Err(ToolError::new(Code::DeviceDisconnected, "phone went away").with_dispatched(cx.is_dispatched()))
    })]);
    let finished = world.run("scan", "{}").await;
    assert_code(&finished, Code::DeviceDisconnected);
    assert!(expect_error(&finished).dispatched);
    assert_eq!(finished.durations.total, secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_removed_tool_ends_its_calls_itself() {
    let world = EngineHarness::new(vec![slow_tool(document("scan"), secs(3))]);
    let running = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    world.phone.replace(Vec::new());
    assert_code(&world.run("scan", "{}").await, Code::ToolNotAvailable);
    assert_eq!(success_text(&running.await.unwrap()), "done");
}

#[tokio::test(start_paused = true)]
async fn a_result_wins_over_a_later_cancellation() {
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    let cancel = CancellationToken::new();
    let mut running =
        Box::pin(world.engine.call(CallRequest { cancel: Some(cancel.clone()), ..call("scan", "{}") }));
    assert!(running.as_mut().now_or_never().is_none(), "it has only been started");
    yield_to_tasks().await;
    cancel.cancel();
    assert_eq!(success_text(&running.await), "found");
}
