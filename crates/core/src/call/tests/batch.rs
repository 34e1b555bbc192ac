//! Tests of the calls of one model response.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolway_types::{Code, SpecDocument, ToolOutput};

use crate::testkit::{
    EngineHarness, answering_tool, assert_code, call, call_of, client, document, endless_tool, millis, secs,
    sequential_document, slow_tool, slug, success_text, tool, yield_to_tasks,
};
use crate::{CallRequest, EngineSettings, SourceRetention, Tool};

/// A tool that returns its number after a delay, and records the maximum number of parallel runs.
fn counting_tool(document: SpecDocument, time: Duration) -> (Arc<dyn Tool>, Arc<AtomicUsize>) {
    let (running, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let seen = most.clone();
    let tool = tool(document, move |arguments, _| {
        let (running, most) = (running.clone(), most.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // The first calls take longest, so that they end in another order.
            let number = arguments.value()["n"].as_u64().unwrap();
            sleep(time - millis(number)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::text(number.to_string()))
        }
    });
    (tool, seen)
}

fn numbered_call(name: &str, number: u64) -> CallRequest {
    call(name, &format!(r#"{{"n":{number}}}"#))
}

/// Records the start and end of calls, in seconds.
fn timed(
    document: SpecDocument,
    time: Duration,
    log: &Arc<Mutex<Vec<String>>>,
    from: Instant,
) -> Arc<dyn Tool> {
    let (log, name) = (log.clone(), document.name.clone());
    tool(document, move |_, _| {
        let (log, name) = (log.clone(), name.clone());
        async move {
            let began = from.elapsed().as_secs();
            sleep(time).await;
            log.lock().push(format!("{name} {began}-{}", from.elapsed().as_secs()));
            Ok(ToolOutput::text(name))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn results_come_in_the_order_of_the_requests() {
    let (scan, _) = counting_tool(document("scan"), secs(1));
    let world = EngineHarness::new(vec![scan]);
    let calls: Vec<_> = (0..10).map(|number| numbered_call("scan", number)).collect();
    let ids: Vec<_> = calls.iter().map(|call| call.id).collect();
    let finished = world.engine.call_many(calls).await;
    assert_eq!(finished.iter().map(|finished| finished.id).collect::<Vec<_>>(), ids);
    assert_eq!(finished.iter().map(success_text).collect::<Vec<_>>().join(" "), "0 1 2 3 4 5 6 7 8 9");
    assert!(world.engine.call_many(Vec::new()).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn two_hundred_calls_run_with_the_configured_parallelism() {
    for (width, rounds) in [(16, 13), (1, 200), (50, 4), (1000, 1)] {
        let settings = EngineSettings { parallel_calls: width, ..EngineSettings::default() };
        let (scan, most) = counting_tool(document("scan"), secs(2));
        let world = EngineHarness::with_settings(settings, vec![scan]);
        let started = Instant::now();
        let finished =
            world.engine.call_many((0..200).map(|number| numbered_call("scan", number)).collect()).await;
        assert_eq!(finished.len(), 200);
        for (number, finished) in finished.iter().enumerate() {
            assert_eq!(success_text(finished), number.to_string());
        }
        assert_eq!(most.load(Ordering::SeqCst), width.min(200));
        assert!(started.elapsed() <= secs(2) * rounds, "{width}: {:?}", started.elapsed());
        assert!(started.elapsed() > millis(1800) * (rounds - 1), "{width}: {:?}", started.elapsed());
        assert_eq!(world.recorder.closed().len(), 200);
        world.recorder.assert_each_closed_once();
        assert_eq!(world.engine.in_flight(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_applies_per_principal_over_all_its_responses() {
    let settings = EngineSettings { parallel_calls: 3, ..EngineSettings::default() };
    let (scan, most) = counting_tool(document("scan"), secs(1));
    let world = EngineHarness::with_settings(settings, vec![scan]);
    let answer = |who: &str| {
        let calls = (0..6)
            .map(|number| CallRequest { caller: client(who), ..numbered_call("scan", number) })
            .collect();
        let engine = world.engine.clone();
        async move { engine.call_many(calls).await.len() }
    };
    assert_eq!(tokio::join!(answer("a"), answer("a")), (6, 6));
    assert_eq!(most.swap(0, Ordering::SeqCst), 3, "of one principal");
    assert_eq!(tokio::join!(answer("a"), answer("b")), (6, 6));
    assert_eq!(most.load(Ordering::SeqCst), 6, "of two");
}

#[tokio::test(start_paused = true)]
async fn a_sequential_call_is_a_barrier_for_its_source_in_the_order_of_the_requests() {
    let (log, from) = (Arc::<Mutex<Vec<String>>>::default(), Instant::now());
    let world = EngineHarness::new(vec![
        timed(document("read"), secs(4), &log, from),
        timed(sequential_document("print"), secs(2), &log, from),
        timed(document("look"), secs(1), &log, from),
    ]);
    let pc = world.registry.lease(slug("pc"), SourceRetention::Names);
    pc.replace(vec![timed(document("other"), secs(3), &log, from)]);
    let calls = ["read", "look", "print", "look", "nobody", "print", "other", "read"];
    let finished = world.engine.call_many(calls.iter().map(|name| call(name, "{}")).collect()).await;
    assert_code(&finished[4], Code::ToolNotAvailable);
    for (finished, name) in finished.iter().zip(calls).filter(|(_, name)| *name != "nobody") {
        assert_eq!(success_text(finished), name);
    }
    let mut log = log.lock().clone();
    log.sort();
    assert_eq!(log, ["look 0-1", "look 6-7", "other 0-3", "print 4-6", "print 7-9", "read 0-4", "read 9-13"]);
}

/// The order also applies with a single lane, and a barrier does not wait for itself.
#[tokio::test(start_paused = true)]
async fn one_lane_and_barriers_do_not_deadlock() {
    let (log, from) = (Arc::<Mutex<Vec<String>>>::default(), Instant::now());
    let settings = EngineSettings { parallel_calls: 1, ..EngineSettings::default() };
    let tools = vec![
        timed(document("read"), secs(1), &log, from),
        timed(sequential_document("print"), secs(1), &log, from),
    ];
    let world = EngineHarness::with_settings(settings, tools);
    let calls = ["print", "read", "read", "print", "print", "read"];
    world.engine.call_many(calls.iter().map(|name| call(name, "{}")).collect()).await;
    assert_eq!(*log.lock(), ["print 0-1", "read 1-2", "read 2-3", "print 3-4", "print 4-5", "read 5-6"]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_call_does_not_block_others() {
    let world = EngineHarness::new(vec![
        tool(sequential_document("jam"), |_, _| async { panic!("jammed") }),
        endless_tool(SpecDocument { timeout_ms: Some(3000), ..sequential_document("slow") }),
        answering_tool("ring", "rang"),
    ]);
    let names = ["jam", "slow", "nobody", "ring"];
    let finished = world.engine.call_many(names.iter().map(|name| call(name, "{}")).collect()).await;
    assert_code(&finished[0], Code::ToolPanicked);
    assert_code(&finished[1], Code::Timeout);
    assert_code(&finished[2], Code::ToolNotAvailable);
    assert_eq!(success_text(&finished[3]), "rang");
    assert_eq!(finished[1].durations.total, secs(3));
    assert_eq!(finished[3].durations.total, secs(0), "its time counts from its turn");
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_25_rounds() {
    let world = EngineHarness::new(vec![tool(document("add"), |arguments, _| async move {
        let number = arguments.value()["n"].as_u64().unwrap();
        sleep(millis(10)).await;
        Ok(ToolOutput::text((number + 1).to_string()))
    })]);
    let mut number = 0;
    for round in 0..25 {
        let calls = (0..8).map(|more| numbered_call("add", number + more)).collect();
        let finished = world.engine.call_many(calls).await;
        for (more, finished) in finished.iter().enumerate() {
            assert_eq!(success_text(finished), (number + more as u64 + 1).to_string(), "round {round}");
        }
        number = success_text(&finished[7]).parse().unwrap();
    }
    assert_eq!(number, 25 * 8);
    assert_eq!(world.recorder.closed().len(), 200);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_batch_cancels_all_calls() {
    let world =
        EngineHarness::new(vec![endless_tool(document("scan")), endless_tool(sequential_document("print"))]);
    let engine = world.engine.clone();
    let calls = (0..40).map(|at| call(if at % 5 == 4 { "print" } else { "scan" }, "{}")).collect();
    let running = tokio::spawn(async move { engine.call_many(calls).await });
    sleep(secs(1)).await;
    assert_eq!(world.engine.in_flight(), 4, "the first of the source, up to the barrier");
    running.abort();
    yield_to_tasks().await;
    assert_eq!((world.engine.in_flight(), world.engine.abandoned_runs()), (0, 0));
    assert_eq!(world.recorder.closed().len(), 4);
    for record in world.recorder.closed() {
        assert_eq!(record.outcome.error().unwrap().code, Code::Cancelled);
    }
    world.recorder.assert_each_closed_once();
    let again =
        world.engine.call_many(vec![CallRequest { timeout: Some(secs(1)), ..call("print", "{}") }]).await;
    assert_eq!(again[0].durations.queued, secs(0), "nothing is left that would have to be waited for");
}

/// A queued call ends when it is cancelled, not when it would have started.
#[tokio::test(start_paused = true)]
async fn a_queued_call_is_cancelled_at_once_r10() {
    let settings = EngineSettings { parallel_calls: 1, ..EngineSettings::default() };
    let world = EngineHarness::with_settings(
        settings,
        vec![slow_tool(document("scan"), secs(20)), slow_tool(sequential_document("print"), secs(1))],
    );
    let cancel = CancellationToken::new();
    let with_token = |name: &str| CallRequest { cancel: Some(cancel.clone()), ..call_of(client("a"), name) };
    let calls = vec![
        call_of(client("a"), "scan"),
        with_token("scan"),
        with_token("print"),
        call_of(client("a"), "scan"),
    ];
    let ids: Vec<_> = calls.iter().map(|call| call.id).collect();
    let engine = world.engine.clone();
    let running = tokio::spawn(async move { engine.call_many(calls).await });
    sleep(secs(5)).await;
    cancel.cancel();
    yield_to_tasks().await;
    let closed: Vec<_> = world.recorder.closed().iter().map(|record| record.opened.id).collect();
    assert_eq!(closed, [ids[1], ids[2]], "at the fifth second");
    let finished = running.await.unwrap();
    for cancelled in &finished[1..3] {
        assert_code(cancelled, Code::Cancelled);
        assert_eq!(world.recorder.records_of(cancelled.id)[0].attempts, 0);
    }
    assert_eq!([success_text(&finished[0]), success_text(&finished[3])], ["done", "done"]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_queued_calls() {
    let settings = EngineSettings { parallel_calls: 2, ..EngineSettings::default() };
    let world = EngineHarness::with_settings(settings, vec![endless_tool(document("scan"))]);
    let engine = world.engine.clone();
    let running =
        tokio::spawn(async move { engine.call_many((0..6).map(|_| call("scan", "{}")).collect()).await });
    yield_to_tasks().await;
    world.engine.shut_down(secs(3)).await;
    for finished in running.await.unwrap() {
        assert_code(&finished, Code::ShuttingDown);
    }
    assert_eq!(world.recorder.closed().len(), 6);
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn the_callback_gets_each_end_and_results_are_in_order() {
    let world =
        EngineHarness::new(vec![slow_tool(document("slow"), secs(3)), slow_tool(document("fast"), secs(1))]);
    let told = parking_lot::Mutex::new(Vec::new());
    let started = tokio::time::Instant::now();
    let tell = |at: usize, finished: &crate::FinishedCall| {
        told.lock().push((at, finished.id, started.elapsed().as_secs()));
    };
    let finished =
        world.engine.call_many_with_callback(vec![call("slow", "{}"), call("fast", "{}")], tell).await;
    let ids: Vec<_> = finished.iter().map(|it| it.id).collect();
    assert_eq!(*told.lock(), [(1, ids[1], 1), (0, ids[0], 3)]);
}
