//! Running: the one deadline, the ways to end, turns.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ErrorKind, SpecDocument, ToolError, ToolOutput};

use crate::testkit::{
    RunResult, World, answering, assert_code, call, document, endless, error, lasting, millis, scripted,
    secs, settle, text, tool,
};
use crate::{
    Arguments, Call, CallContext, CancelReason, Durations, EngineSettings, Progress, Tool, ToolSpec,
};

fn within(seconds: u64) -> SpecDocument {
    SpecDocument { timeout_ms: Some(seconds * 1000), ..document("scan") }
}

/// How long a call of an endless tool lasts.
async fn lasts(settings: EngineSettings, spec: SpecDocument, callers: Option<Duration>) -> Duration {
    let world = World::with(settings, vec![endless(spec)]);
    let started = Instant::now();
    let finished = world.engine.call(Call { timeout: callers, ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
    let lasted = started.elapsed();
    assert_eq!(finished.durations.total, lasted);
    lasted
}

fn owner_allows(seconds: u64) -> EngineSettings {
    let tool_timeouts = [("phone/scan".to_owned(), secs(seconds)), ("phone/other".to_owned(), secs(1))];
    EngineSettings { tool_timeouts: tool_timeouts.into(), ..EngineSettings::default() }
}

#[tokio::test(start_paused = true)]
async fn r14_the_deadline_is_the_least_of_the_tools_the_callers_and_the_cap() {
    let default = EngineSettings::default;
    assert_eq!(lasts(default(), document("scan"), None).await, secs(30));
    assert_eq!(lasts(default(), document("scan"), Some(secs(5))).await, secs(5));
    assert_eq!(lasts(default(), document("scan"), Some(secs(90))).await, secs(30));
    assert_eq!(lasts(default(), within(300), None).await, secs(300), "long tools can run");
    assert_eq!(lasts(default(), within(300), Some(secs(90))).await, secs(90));
    assert_eq!(lasts(default(), within(2), Some(secs(90))).await, secs(2));
    assert_eq!(lasts(owner_allows(60), within(300), None).await, secs(60), "the owner's word stands before");
    assert_eq!(lasts(owner_allows(600), within(300), None).await, secs(600), "also where it allows more");
    assert_eq!(lasts(owner_allows(600), within(300), Some(secs(7))).await, secs(7));
    assert_eq!(lasts(default(), within(100_000), None).await, secs(3600), "nothing passes the cap");
    let capped = EngineSettings { timeout_cap: secs(10), ..owner_allows(600) };
    assert_eq!(lasts(capped, within(300), Some(secs(400))).await, secs(10));
    let forever = SpecDocument { timeout_ms: Some(u64::MAX), ..document("scan") };
    assert_eq!(lasts(default(), forever, Some(Duration::MAX)).await, secs(3600));
    let quick = EngineSettings { default_timeout: millis(1500), ..default() };
    assert_eq!(lasts(quick, document("scan"), None).await, millis(1500));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_says_how_long_it_was() {
    let world = World::new(vec![endless(document("scan"))]);
    for (timeout, words) in [(secs(5), "5 s"), (millis(1500), "1500 ms"), (secs(120), "30 s")] {
        let finished = world.engine.call(Call { timeout: Some(timeout), ..call("scan", "{}") }).await;
        let timeout = error(&finished);
        assert_eq!(timeout.message, format!("The tool did not answer within {words}"));
        assert_eq!((timeout.code, timeout.kind()), (Code::Timeout, ErrorKind::Timeout));
        assert!(timeout.dispatched && timeout.retryable);
    }
}

#[tokio::test(start_paused = true)]
async fn the_tool_is_told_the_time_that_remains() {
    let world = World::new(vec![tool(within(20), |_, cx| async move {
        let first = cx.remaining();
        sleep(secs(3)).await;
        Ok(ToolOutput::text(format!("{} {}", first.as_secs(), cx.remaining().as_secs())))
    })]);
    assert_eq!(text(&world.run("scan", "{}").await), "20 17");
    let finished = world.engine.call(Call { timeout: Some(secs(8)), ..call("scan", "{}") }).await;
    assert_eq!(text(&finished), "8 5");
}

#[tokio::test(start_paused = true)]
async fn r15_a_result_at_the_moment_of_the_deadline_wins() {
    let world = World::new(vec![lasting(document("scan"), secs(5))]);
    let finished = world.engine.call(Call { timeout: Some(secs(5)), ..call("scan", "{}") }).await;
    assert_eq!(text(&finished), "done");
    assert_eq!(finished.durations.total, secs(5));
    let finished = world.engine.call(Call { timeout: Some(secs(5) - millis(1)), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_the_caller_and_does_not_move_the_deadline() {
    let world = World::new(vec![tool(within(10), |_, cx| async move {
        for step in 0..100 {
            cx.progress(Progress {
                progress: f64::from(step),
                total: None,
                message: None,
                content: Vec::new(),
            });
            sleep(secs(3)).await;
        }
        Ok(ToolOutput::default())
    })]);
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let sink = seen.clone();
    let progress: crate::ProgressSink = Arc::new(move |report| sink.lock().push(report.progress));
    let finished = world.engine.call(Call { progress: Some(progress), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
    assert_eq!(finished.durations.total, secs(10));
    assert_eq!(*seen.lock(), [0.0, 1.0, 2.0, 3.0]);
}

#[tokio::test(start_paused = true)]
async fn r14_silence_is_bounded_within_the_deadline() {
    let spec = SpecDocument { progress_timeout_ms: Some(4_000), ..within(60) };
    let world = World::new(vec![tool(spec, |_, cx| async move {
        for _ in 0..3 {
            sleep(secs(3)).await;
            cx.resume();
        }
        std::future::pending().await
    })]);
    let finished = world.run("scan", "{}").await;
    let silent = error(&finished);
    assert_eq!((silent.code, silent.kind()), (Code::NoProgress, ErrorKind::Timeout));
    assert_eq!(silent.message, "The tool reported no progress for 4 s");
    assert!(silent.dispatched && silent.retryable);
    assert_eq!(finished.durations.total, secs(13));
}

#[tokio::test(start_paused = true)]
async fn time_spent_asking_a_person_is_not_the_tools() {
    let asking = |wait: u64| {
        tool(within(10), move |_, cx| async move {
            sleep(secs(4)).await;
            cx.wait_for_person();
            sleep(secs(wait)).await;
            cx.resume();
            sleep(secs(5)).await;
            Ok(ToolOutput::text("allowed"))
        })
    };
    let world = World::new(vec![asking(100)]);
    let finished = world.run("scan", "{}").await;
    assert_eq!(text(&finished), "allowed");
    assert_eq!((finished.durations.total, finished.durations.waiting), (secs(109), secs(100)));

    world.phone.replace(vec![asking(1000)]);
    let finished = world.run("scan", "{}").await;
    assert_code(&finished, Code::Timeout);
    assert_eq!(finished.durations.total, secs(130), "two minutes for the person, then its own ten seconds");
    assert_eq!((finished.durations.waiting, finished.durations.running), (secs(120), secs(10)));
    assert_eq!(error(&finished).message, "The tool did not answer within 10 s");
}

#[tokio::test(start_paused = true)]
async fn an_error_is_passed_on_as_the_tool_gave_it() {
    let given =
        ToolError::new(Code::FileNotFound, "File not found: /x").with_hint("Look elsewhere").dispatched(true);
    let expected = given.clone();
    let world = World::new(vec![tool(document("scan"), move |_, _| std::future::ready(Err(given.clone())))]);
    let finished = world.run("scan", "{}").await;
    assert_eq!(*error(&finished), expected);
    assert_eq!(world.recorder.only().outcome, finished.outcome);
}

/// A tool whose code fails before there is a future.
struct FailsAtOnce(Arc<ToolSpec>);

impl Tool for FailsAtOnce {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn execute<'a, 'b, 'c>(
        &'a self,
        _: Arguments,
        _: &'b CallContext,
    ) -> Pin<Box<dyn Future<Output = RunResult> + Send + 'c>>
    where
        'a: 'c,
        'b: 'c,
    {
        panic!("not even started")
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_outcome() {
    struct FailsWhenDropped;
    impl Drop for FailsWhenDropped {
        fn drop(&mut self) {
            panic!("while cleaning up")
        }
    }
    let at_once = FailsAtOnce(Arc::new(ToolSpec::compile(document("at_once")).unwrap()));
    let world = World::new(vec![
        tool(document("text"), |_, _| async { panic!("out of paper") }),
        tool(document("formatted"), |_, _| async { panic!("{} sheets left", 0) }),
        tool(document("other"), |_, _| async { std::panic::panic_any(7) }),
        tool(document("later"), |_, _| async {
            sleep(secs(2)).await;
            panic!("later")
        }),
        tool(document("cleaning"), |_, _| async {
            let _guard = FailsWhenDropped;
            Ok(ToolOutput::text("never seen"))
        }),
        Arc::new(at_once),
        answering("fine", "fine"),
    ]);
    for (name, reason) in [
        ("text", "out of paper"),
        ("formatted", "0 sheets left"),
        ("other", "it gave no reason"),
        ("later", "later"),
        ("cleaning", "while cleaning up"),
        ("at_once", "not even started"),
    ] {
        let finished = world.run(name, "{}").await;
        let crashed = error(&finished);
        assert_eq!((crashed.code, crashed.kind()), (Code::ToolPanicked, ErrorKind::ExecutionError), "{name}");
        assert_eq!(crashed.message, format!("The tool crashed: {reason}"));
        assert!(crashed.dispatched && !crashed.retryable);
        assert_eq!(world.recorder.of(finished.id).len(), 1);
    }
    assert_eq!(text(&world.run("fine", "{}").await), "fine", "nothing else is disturbed");
    assert_eq!((world.engine.in_flight(), world.engine.abandoned()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn output_is_limited() {
    let settings = EngineSettings { output_bytes: 100, ..EngineSettings::default() };
    let world = World::with(
        settings,
        vec![tool(document("write"), |arguments, _| async move {
            let bytes = arguments.value()["bytes"].as_u64().unwrap();
            Ok(ToolOutput::text("x".repeat(usize::try_from(bytes).unwrap())))
        })],
    );
    assert_eq!(text(&world.run("write", r#"{"bytes":100}"#).await).len(), 100);
    let finished = world.run("write", r#"{"bytes":101}"#).await;
    let too_large = error(&finished);
    assert_eq!((too_large.code, too_large.kind()), (Code::OutputTooLarge, ErrorKind::ExecutionError));
    assert_eq!(too_large.message, "The tool gave 101 bytes, more than the 100 allowed");
    assert!(too_large.hint.as_deref().unwrap().contains("limits.output_bytes"));
    assert!(too_large.dispatched && !too_large.retryable);
}

/// Why calls were ended, in order.
type Reasons = Arc<Mutex<Vec<Option<CancelReason>>>>;

/// A tool that notes why it was ended, when its future is dropped.
fn noting(document: SpecDocument) -> (Arc<dyn Tool>, Reasons) {
    struct Guard(CallContext, Reasons);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.1.lock().push(self.0.cancel_reason());
        }
    }
    let reasons = Reasons::default();
    let noted = reasons.clone();
    let tool = tool(document, move |_, cx| {
        let guard = Guard(cx, noted.clone());
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    (tool, reasons)
}

#[tokio::test(start_paused = true)]
async fn a_caller_can_cancel() {
    let (noting, reasons) = noting(document("scan"));
    let world = World::new(vec![noting]);
    let cancel = CancellationToken::new();
    let running = world.start(Call { cancel: Some(cancel.clone()), ..call("scan", "{}") });
    sleep(secs(2)).await;
    cancel.cancel();
    let finished = running.await.unwrap();
    let cancelled = error(&finished);
    assert_eq!((cancelled.code, cancelled.kind()), (Code::Cancelled, ErrorKind::ExecutionError));
    assert_eq!(cancelled.message, "The call was cancelled");
    assert!(cancelled.dispatched && cancelled.retryable);
    assert_eq!(finished.durations.total, secs(2));
    settle().await;
    assert_eq!(*reasons.lock(), [Some(CancelReason::Caller)]);
    assert_eq!((world.engine.in_flight(), world.engine.abandoned()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_tool_learns_why_it_is_ended() {
    let (noting, reasons) = noting(SpecDocument { progress_timeout_ms: Some(3_000), ..within(10) });
    let world = World::new(vec![noting]);
    world.engine.call(Call { timeout: Some(secs(2)), ..call("scan", "{}") }).await;
    world.run("scan", "{}").await;
    let gone = world.start(call("scan", "{}"));
    sleep(secs(1)).await;
    gone.abort();
    let stopped = world.start(call("scan", "{}"));
    settle().await;
    world.engine.shut_down(secs(1)).await;
    assert_code(&stopped.await.unwrap(), Code::ShuttingDown);
    settle().await;
    let expected =
        [CancelReason::Deadline, CancelReason::Silence, CancelReason::Caller, CancelReason::Shutdown];
    assert_eq!(*reasons.lock(), expected.map(Some));
}

/// A tool to which an answer comes after four seconds, and which hands it over `handing` milliseconds later.
fn answered_at_four(handing: u64) -> Arc<dyn Tool> {
    tool(document("scan"), move |_, cx| async move {
        sleep(secs(4)).await;
        assert!(cx.answered());
        sleep(millis(handing)).await;
        Ok(ToolOutput::text("answer"))
    })
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_here_is_the_outcome_whatever_comes_then() {
    let world = World::new(vec![answered_at_four(500)]);
    let in_time = |timeout| Call { timeout: Some(timeout), ..call("scan", "{}") };
    let finished = world.engine.call(in_time(secs(4) + millis(100))).await;
    assert_eq!((text(&finished).as_str(), finished.durations.total), ("answer", millis(4500)));

    let cancel = CancellationToken::new();
    let running = world.start(Call { cancel: Some(cancel.clone()), ..call("scan", "{}") });
    sleep(secs(4) + millis(100)).await;
    cancel.cancel();
    assert_eq!(text(&running.await.unwrap()), "answer");

    let running = world.start(call("scan", "{}"));
    sleep(secs(4) + millis(100)).await;
    world.engine.shut_down(secs(0)).await;
    assert_eq!(text(&running.await.unwrap()), "answer");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_only_says_that_its_answer_is_here_is_ended() {
    let world = World::new(vec![answered_at_four(60_000)]);
    let finished = world.engine.call(Call { timeout: Some(secs(5)), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
    assert_eq!(finished.durations.total, secs(6));
    settle().await;
    assert_eq!(world.engine.abandoned(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_cancelled_before_does_not_run() {
    let (noting, reasons) = noting(document("scan"));
    let world = World::new(vec![noting]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let finished = world.engine.call(Call { cancel: Some(cancel), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Cancelled);
    assert!(!error(&finished).dispatched);
    settle().await;
    assert!(reasons.lock().is_empty());
    assert_eq!(world.recorder.only().attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn r1_an_error_from_a_device_that_went_ends_the_call_at_once() {
    let world = World::new(vec![tool(within(3600), |_, cx| async move {
        sleep(secs(1)).await;
        Err(ToolError::new(Code::DeviceDisconnected, "phone went away").dispatched(cx.is_dispatched()))
    })]);
    let finished = world.run("scan", "{}").await;
    assert_code(&finished, Code::DeviceDisconnected);
    assert!(error(&finished).dispatched);
    assert_eq!(finished.durations.total, secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_say_itself_when_the_request_has_left() {
    let mut queued = scripted(document("queued"), |_, _| std::future::pending());
    queued.marks_dispatch = true;
    let mut sent_twice = scripted(document("sent_twice"), |_, cx| async move {
        sleep(secs(1)).await;
        cx.mark_dispatched();
        sleep(secs(1)).await;
        cx.mark_dispatched();
        std::future::pending().await
    });
    sent_twice.marks_dispatch = true;
    let world = World::new(vec![Arc::new(queued), Arc::new(sent_twice), endless(document("plain"))]);
    for (name, dispatched, attempts) in [("queued", false, 0), ("sent_twice", true, 2), ("plain", true, 1)] {
        let finished = world.run(name, "{}").await;
        assert_code(&finished, Code::Timeout);
        assert_eq!(error(&finished).dispatched, dispatched, "{name}");
        assert_eq!(world.recorder.of(finished.id)[0].attempts, attempts, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sequential_tool_is_a_barrier_for_its_source() {
    let sequential = |name: &str| SpecDocument { sequential: true, ..document(name) };
    let world = World::new(vec![
        lasting(document("read"), secs(10)),
        lasting(sequential("print"), secs(5)),
        lasting(document("look"), secs(1)),
    ]);
    let pc = world.registry.lease("pc".parse().unwrap(), crate::Keep::Known);
    pc.replace(vec![lasting(document("other"), secs(2))]);
    let mut running = Vec::new();
    for name in ["read", "read", "print", "look", "print", "other"] {
        running.push(world.start(call(name, "{}")));
        settle().await;
    }
    let mut ended = Vec::new();
    for running in running {
        let finished = running.await.unwrap();
        assert_eq!(text(&finished), "done");
        ended.push(finished.durations);
    }
    let took = |total: u64, running: u64| Durations {
        total: secs(total),
        queued: secs(total - running),
        running: secs(running),
        waiting: Duration::ZERO,
    };
    let expected = [took(10, 10), took(10, 10), took(15, 5), took(16, 1), took(21, 5), took(2, 2)];
    assert_eq!(ended, expected);
}

/// The task that was spawned last tends to run first, so turns must not depend on which one does.
#[tokio::test(start_paused = true)]
async fn turns_come_in_the_order_of_the_calls() {
    let ran = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let log = ran.clone();
    let world = World::new(vec![tool(
        SpecDocument { sequential: true, ..document("print") },
        move |arguments, _| {
            let log = log.clone();
            async move {
                log.lock().push(arguments.value()["n"].as_u64().unwrap());
                sleep(secs(1)).await;
                Ok(ToolOutput::text("printed"))
            }
        },
    )]);
    let calls = (0..10).map(|n| {
        let engine = world.engine.clone();
        let call = call("print", &format!("{{\"n\":{n}}}"));
        let mut running = Box::pin(async move { engine.call(call).await });
        // Each has come before the next one is made, but none has run yet.
        assert!(futures_util::FutureExt::now_or_never(running.as_mut()).is_none());
        running
    });
    let calls: Vec<_> = calls.collect();
    for finished in futures_util::future::join_all(calls.into_iter().rev()).await {
        assert_eq!(text(&finished), "printed");
    }
    assert_eq!(*ran.lock(), (0..10).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_ones_turn_is_under_the_deadline() {
    let print = SpecDocument { sequential: true, progress_timeout_ms: Some(5_000), ..document("print") };
    let world = World::new(vec![tool(print, |_, cx| async move {
        for _ in 0..10 {
            sleep(secs(2)).await;
            cx.resume();
        }
        Ok(ToolOutput::text("printed"))
    })]);
    let [first, second] = [(); 2].map(|()| world.start(call("print", "{}")));
    let third = world.start(Call { timeout: Some(secs(8)), ..call("print", "{}") });
    let third = third.await.unwrap();
    assert_code(&third, Code::Timeout);
    assert!(!error(&third).dispatched);
    assert_eq!((third.durations.total, third.durations.running), (secs(8), secs(0)));
    assert_eq!(world.recorder.of(third.id)[0].attempts, 0);

    assert_eq!(text(&first.await.unwrap()), "printed");
    let second = second.await.unwrap();
    assert_code(&second, Code::Timeout);
    assert!(error(&second).dispatched, "not for silence: that counts from its turn on");
    assert_eq!((second.durations.queued, second.durations.running), (secs(20), secs(10)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_gives_its_turn_away() {
    let print = |name: &str| SpecDocument { sequential: true, ..document(name) };
    let world = World::new(vec![endless(print("jam")), lasting(print("print"), secs(1))]);
    let jam = world.start(call("jam", "{}"));
    settle().await;
    let print = world.start(call("print", "{}"));
    settle().await;
    jam.abort();
    let finished = print.await.unwrap();
    assert_eq!((text(&finished).as_str(), finished.durations.total), ("done", secs(1)));
}

#[tokio::test(start_paused = true)]
async fn calls_under_way_keep_the_settings_they_started_with() {
    let world = World::new(vec![endless(document("scan"))]);
    let before = world.start(call("scan", "{}"));
    settle().await;
    world.engine.configure(EngineSettings { default_timeout: secs(2), ..EngineSettings::default() });
    let after = world.run("scan", "{}").await;
    assert_eq!(after.durations.total, secs(2));
    assert_eq!(before.await.unwrap().durations.total, secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_taken_back_ends_its_calls_itself() {
    let world = World::new(vec![lasting(document("scan"), secs(3))]);
    let running = world.start(call("scan", "{}"));
    settle().await;
    world.phone.replace(Vec::new());
    assert_code(&world.run("scan", "{}").await, Code::ToolNotAvailable);
    assert_eq!(text(&running.await.unwrap()), "done");
}
