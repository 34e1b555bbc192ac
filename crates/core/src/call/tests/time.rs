//! The one deadline of a call, and the bounds inside it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use toolway_types::{Code, ErrorKind, SpecDocument, ToolOutput};

use crate::testkit::{
    World, assert_code, call, document, endless, error, lasting, millis, secs, settle, text, tool,
};
use crate::{Call, EngineSettings, Progress};

pub(super) fn within(seconds: u64) -> SpecDocument {
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
async fn calls_under_way_keep_the_settings_they_started_with() {
    let world = World::new(vec![endless(document("scan"))]);
    let before = world.start(call("scan", "{}"));
    settle().await;
    world.engine.configure(EngineSettings { default_timeout: secs(2), ..EngineSettings::default() });
    let after = world.run("scan", "{}").await;
    assert_eq!(after.durations.total, secs(2));
    assert_eq!(before.await.unwrap().durations.total, secs(30));
}
