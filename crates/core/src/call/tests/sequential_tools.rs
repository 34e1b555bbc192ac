//! Tests of sequential tools, which are a barrier for their source.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use toolway_types::{Code, SpecDocument, ToolOutput};

use crate::testkit::{
    EngineHarness, assert_code, call, document, endless_tool, expect_error, secs, slow_tool, success_text,
    tool, yield_to_tasks,
};
use crate::{CallDurations, CallRequest};

#[tokio::test(start_paused = true)]
async fn a_sequential_tool_is_a_barrier_for_its_source() {
    let sequential = |name: &str| SpecDocument { sequential: true, ..document(name) };
    let world = EngineHarness::new(vec![
        slow_tool(document("read"), secs(10)),
        slow_tool(sequential("print"), secs(5)),
        slow_tool(document("look"), secs(1)),
    ]);
    let pc = world.registry.lease("pc".parse().unwrap(), crate::SourceRetention::Names);
    pc.replace(vec![slow_tool(document("other"), secs(2))]);
    let mut running = Vec::new();
    for name in ["read", "read", "print", "look", "print", "other"] {
        running.push(world.start(call(name, "{}")));
        yield_to_tasks().await;
    }
    let mut ended = Vec::new();
    for running in running {
        let finished = running.await.unwrap();
        assert_eq!(success_text(&finished), "done");
        ended.push(finished.durations);
    }
    let took = |total: u64, running: u64| CallDurations {
        total: secs(total),
        queued: secs(total - running),
        running: secs(running),
        waiting: Duration::ZERO,
    };
    let expected = [took(10, 10), took(10, 10), took(15, 5), took(16, 1), took(21, 5), took(2, 2)];
    assert_eq!(ended, expected);
}

/// The task spawned last tends to run first, so the order must not depend on it.
#[tokio::test(start_paused = true)]
async fn the_barrier_is_acquired_in_the_order_of_the_calls() {
    let ran = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let log = ran.clone();
    let world = EngineHarness::new(vec![tool(
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
        // Each call has arrived before the next one is made, but none has run yet.
        assert!(futures_util::FutureExt::now_or_never(running.as_mut()).is_none());
        running
    });
    let calls: Vec<_> = calls.collect();
    for finished in futures_util::future::join_all(calls.into_iter().rev()).await {
        assert_eq!(success_text(&finished), "printed");
    }
    assert_eq!(*ran.lock(), (0..10).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_barrier_counts_against_the_deadline() {
    let print = SpecDocument { sequential: true, progress_timeout_ms: Some(5_000), ..document("print") };
    let world = EngineHarness::new(vec![tool(print, |_, cx| async move {
        for _ in 0..10 {
            sleep(secs(2)).await;
            cx.resume();
        }
        Ok(ToolOutput::text("printed"))
    })]);
    let [first, second] = [(); 2].map(|()| world.start(call("print", "{}")));
    let third = world.start(CallRequest { timeout: Some(secs(8)), ..call("print", "{}") });
    let third = third.await.unwrap();
    assert_code(&third, Code::Timeout);
    assert!(!expect_error(&third).dispatched);
    assert_eq!((third.durations.total, third.durations.running), (secs(8), secs(0)));
    assert_eq!(world.recorder.records_of(third.id)[0].attempts, 0);

    assert_eq!(success_text(&first.await.unwrap()), "printed");
    let second = second.await.unwrap();
    assert_code(&second, Code::Timeout);
    assert!(expect_error(&second).dispatched, "not for silence: that counts from its turn on");
    assert_eq!((second.durations.queued, second.durations.running), (secs(20), secs(10)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_releases_the_barrier() {
    let print = |name: &str| SpecDocument { sequential: true, ..document(name) };
    let world = EngineHarness::new(vec![endless_tool(print("jam")), slow_tool(print("print"), secs(1))]);
    let jam = world.start(call("jam", "{}"));
    yield_to_tasks().await;
    let print = world.start(call("print", "{}"));
    yield_to_tasks().await;
    jam.abort();
    let finished = print.await.unwrap();
    assert_eq!((success_text(&finished).as_str(), finished.durations.total), ("done", secs(1)));
}
