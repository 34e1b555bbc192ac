//! Tests of the deadline of a call, and of the limits within it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use toolway_types::{Code, ErrorKind, SpecDocument, ToolOutput};

use crate::testkit::{
    EngineHarness, assert_code, call, document, endless_tool, expect_error, millis, secs, slow_tool,
    success_text, tool, yield_to_tasks,
};
use crate::{CallRequest, EngineSettings, ProgressReport};

pub(super) fn document_with_timeout(seconds: u64) -> SpecDocument {
    SpecDocument { timeout_ms: Some(seconds * 1000), ..document("scan") }
}

/// Duration of a call of an endless tool.
async fn time_until_timeout(
    settings: EngineSettings,
    spec: SpecDocument,
    callers: Option<Duration>,
) -> Duration {
    let world = EngineHarness::with_settings(settings, vec![endless_tool(spec)]);
    let started = Instant::now();
    let finished = world.engine.call(CallRequest { timeout: callers, ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
    let lasted = started.elapsed();
    assert_eq!(finished.durations.total, lasted);
    lasted
}

fn settings_with_tool_timeout(seconds: u64) -> EngineSettings {
    let tool_timeouts = [("phone/scan".to_owned(), secs(seconds)), ("phone/other".to_owned(), secs(1))];
    EngineSettings { tool_timeouts: tool_timeouts.into(), ..EngineSettings::default() }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_the_minimum_of_tool_caller_and_cap_r14() {
    let default = EngineSettings::default;
    assert_eq!(time_until_timeout(default(), document("scan"), None).await, secs(30));
    assert_eq!(time_until_timeout(default(), document("scan"), Some(secs(5))).await, secs(5));
    assert_eq!(time_until_timeout(default(), document("scan"), Some(secs(90))).await, secs(30));
    assert_eq!(
        time_until_timeout(default(), document_with_timeout(300), None).await,
        secs(300),
        "long tools can run"
    );
    assert_eq!(time_until_timeout(default(), document_with_timeout(300), Some(secs(90))).await, secs(90));
    assert_eq!(time_until_timeout(default(), document_with_timeout(2), Some(secs(90))).await, secs(2));
    assert_eq!(
        time_until_timeout(settings_with_tool_timeout(60), document_with_timeout(300), None).await,
        secs(60),
        "the owner's setting has priority"
    );
    assert_eq!(
        time_until_timeout(settings_with_tool_timeout(600), document_with_timeout(300), None).await,
        secs(600),
        "also where it allows more"
    );
    assert_eq!(
        time_until_timeout(settings_with_tool_timeout(600), document_with_timeout(300), Some(secs(7))).await,
        secs(7)
    );
    assert_eq!(
        time_until_timeout(default(), document_with_timeout(100_000), None).await,
        secs(3600),
        "no timeout exceeds the cap"
    );
    let capped = EngineSettings { timeout_cap: secs(10), ..settings_with_tool_timeout(600) };
    assert_eq!(time_until_timeout(capped, document_with_timeout(300), Some(secs(400))).await, secs(10));
    let forever = SpecDocument { timeout_ms: Some(u64::MAX), ..document("scan") };
    assert_eq!(time_until_timeout(default(), forever, Some(Duration::MAX)).await, secs(3600));
    let quick = EngineSettings { default_timeout: millis(1500), ..default() };
    assert_eq!(time_until_timeout(quick, document("scan"), None).await, millis(1500));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_error_contains_its_duration() {
    let world = EngineHarness::new(vec![endless_tool(document("scan"))]);
    for (timeout, words) in [(secs(5), "5 s"), (millis(1500), "1500 ms"), (secs(120), "30 s")] {
        let finished = world.engine.call(CallRequest { timeout: Some(timeout), ..call("scan", "{}") }).await;
        let timeout = expect_error(&finished);
        assert_eq!(timeout.message, format!("The tool did not answer within {words}"));
        assert_eq!((timeout.code, timeout.kind()), (Code::Timeout, ErrorKind::Timeout));
        assert!(timeout.dispatched && timeout.retryable);
    }
}

#[tokio::test(start_paused = true)]
async fn the_tool_receives_its_remaining_time() {
    let world = EngineHarness::new(vec![tool(document_with_timeout(20), |_, cx| async move {
        let first = cx.remaining();
        sleep(secs(3)).await;
        Ok(ToolOutput::text(format!("{} {}", first.as_secs(), cx.remaining().as_secs())))
    })]);
    assert_eq!(success_text(&world.run("scan", "{}").await), "20 17");
    let finished = world.engine.call(CallRequest { timeout: Some(secs(8)), ..call("scan", "{}") }).await;
    assert_eq!(success_text(&finished), "8 5");
}

#[tokio::test(start_paused = true)]
async fn a_result_at_the_moment_of_the_deadline_wins_r15() {
    let world = EngineHarness::new(vec![slow_tool(document("scan"), secs(5))]);
    let finished = world.engine.call(CallRequest { timeout: Some(secs(5)), ..call("scan", "{}") }).await;
    assert_eq!(success_text(&finished), "done");
    assert_eq!(finished.durations.total, secs(5));
    let finished =
        world.engine.call(CallRequest { timeout: Some(secs(5) - millis(1)), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_the_caller_and_does_not_move_the_deadline() {
    let world = EngineHarness::new(vec![tool(document_with_timeout(10), |_, cx| async move {
        for step in 0..100 {
            cx.report_progress(ProgressReport {
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
    let finished = world.engine.call(CallRequest { progress: Some(progress), ..call("scan", "{}") }).await;
    assert_code(&finished, Code::Timeout);
    assert_eq!(finished.durations.total, secs(10));
    assert_eq!(*seen.lock(), [0.0, 1.0, 2.0, 3.0]);
}

#[tokio::test(start_paused = true)]
async fn the_progress_timeout_applies_within_the_deadline_r14() {
    let spec = SpecDocument { progress_timeout_ms: Some(4_000), ..document_with_timeout(60) };
    let world = EngineHarness::new(vec![tool(spec, |_, cx| async move {
        for _ in 0..3 {
            sleep(secs(3)).await;
            cx.resume();
        }
        std::future::pending().await
    })]);
    let finished = world.run("scan", "{}").await;
    let silent = expect_error(&finished);
    assert_eq!((silent.code, silent.kind()), (Code::NoProgress, ErrorKind::Timeout));
    assert_eq!(silent.message, "The tool reported no progress for 4 s");
    assert!(silent.dispatched && silent.retryable);
    assert_eq!(finished.durations.total, secs(13));
}

#[tokio::test(start_paused = true)]
async fn time_spent_asking_a_person_does_not_count_for_the_tool() {
    let asking = |wait: u64| {
        tool(document_with_timeout(10), move |_, cx| async move {
            sleep(secs(4)).await;
            cx.pause_for_person();
            sleep(secs(wait)).await;
            cx.resume();
            sleep(secs(5)).await;
            Ok(ToolOutput::text("allowed"))
        })
    };
    let world = EngineHarness::new(vec![asking(100)]);
    let finished = world.run("scan", "{}").await;
    assert_eq!(success_text(&finished), "allowed");
    assert_eq!((finished.durations.total, finished.durations.waiting), (secs(109), secs(100)));

    world.phone.replace(vec![asking(1000)]);
    let finished = world.run("scan", "{}").await;
    assert_code(&finished, Code::Timeout);
    assert_eq!(finished.durations.total, secs(130), "two minutes for the person, then its own ten seconds");
    assert_eq!((finished.durations.waiting, finished.durations.running), (secs(120), secs(10)));
    assert_eq!(expect_error(&finished).message, "The tool did not answer within 10 s");
}

#[tokio::test(start_paused = true)]
async fn running_calls_keep_their_settings() {
    let world = EngineHarness::new(vec![endless_tool(document("scan"))]);
    let before = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    world.engine.set_settings(EngineSettings { default_timeout: secs(2), ..EngineSettings::default() });
    let after = world.run("scan", "{}").await;
    assert_eq!(after.durations.total, secs(2));
    assert_eq!(before.await.unwrap().durations.total, secs(30));
}
