//! Tests of outcomes from records: after a restart, and if memory had no room.

use std::sync::atomic::Ordering;

use tokio::time::sleep;
use toolway_types::Code;

use super::{call_with_key, counting_tool};
use crate::EngineSettings;
use crate::testkit::{EngineHarness, assert_code, expect_error, secs, success_text, yield_to_tasks};

#[tokio::test(start_paused = true)]
async fn after_a_restart_the_outcome_comes_from_the_record() {
    let (pay, runs) = counting_tool(secs(1));
    let world = EngineHarness::new(vec![pay]);
    let first = world.engine.call(call_with_key("k", "{}")).await;
    let world = world.restart();
    let again = world.engine.call(call_with_key("k", "{}")).await;
    assert_eq!((again.id, &again.outcome, again.durations), (first.id, &first.outcome, first.durations));
    assert_eq!(again.tool.as_ref().unwrap().to_string(), "phone/pay");
    assert_code(&world.engine.call(call_with_key("k", r#"{"a":1}"#)).await, Code::IdempotencyConflict);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(
        world.engine.call(call_with_key("k", "{}")).await.id,
        first.id,
        "a conflict does not harm the first"
    );

    let world = world.restart();
    assert_code(&world.engine.call(call_with_key("k", r#"{"a":1}"#)).await, Code::IdempotencyConflict);
    assert_eq!(
        runs.load(Ordering::SeqCst),
        1,
        "also where the conflict is the first that is heard of the key"
    );

    let world = world.restart();
    world.clock.advance(secs(601));
    assert_eq!(
        success_text(&world.engine.call(call_with_key("k", "{}")).await),
        "run 2",
        "after its time it is free"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_interrupted_by_a_restart_does_not_run_again() {
    let (pay, runs) = counting_tool(secs(20));
    let world = EngineHarness::new(vec![pay]);
    let cut_off = world.start(call_with_key("k", "{}"));
    sleep(secs(2)).await;
    let after = world.restart();
    for _ in 0..2 {
        let finished = after.engine.call(call_with_key("k", "{}")).await;
        let restarted = expect_error(&finished);
        assert_eq!((restarted.code, restarted.dispatched), (Code::GatewayRestarted, true));
        assert_eq!(finished.id, world.recorder.opened()[0].id);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    cut_off.abort();
}

#[tokio::test(start_paused = true)]
async fn a_joining_call_gets_its_outcome_after_the_commit() {
    let (pay, _) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let first = world.start(call_with_key("k", "{}"));
    yield_to_tasks().await;
    let second = world.start(call_with_key("k", "{}"));
    world.recorder.commit();
    sleep(secs(1)).await;
    assert_eq!(world.recorder.closed().len(), 1);
    assert!(!first.is_finished() && !second.is_finished());
    world.recorder.commit();
    assert_eq!(first.await.unwrap().id, second.await.unwrap().id);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_completed_even_if_the_caller_leaves_at_the_end() {
    let (pay, runs) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let first = world.start(call_with_key("k", "{}"));
    yield_to_tasks().await;
    world.recorder.commit();
    sleep(secs(1)).await;
    assert_eq!(world.recorder.waiting_commits(), 1, "it has run, and waits for the end of its record");
    first.abort();
    let second = world.engine.call(call_with_key("k", "{}")).await;
    assert_eq!((success_text(&second).as_str(), runs.load(Ordering::SeqCst)), ("run 1", 1));
}

#[tokio::test(start_paused = true)]
async fn the_number_of_keys_is_limited_and_records_have_the_rest() {
    let (pay, runs) = counting_tool(secs(0));
    let settings = EngineSettings { max_idempotency_keys: 4, ..EngineSettings::default() };
    let world = EngineHarness::with_settings(settings, vec![pay]);
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(world.engine.call(call_with_key(&format!("k{n}"), "{}")).await.id);
        sleep(secs(1)).await;
    }
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(world.engine.call(call_with_key(&format!("k{n}"), "{}")).await.id, *id);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 20);

    let (slow, _) = counting_tool(secs(20));
    world.phone.replace(vec![slow]);
    let running: Vec<_> = (0..4).map(|n| world.start(call_with_key(&format!("r{n}"), "{}"))).collect();
    yield_to_tasks().await;
    let finished = world.engine.call(call_with_key("one more", "{}")).await;
    let full = expect_error(&finished);
    assert_eq!((full.code, full.retryable, full.dispatched), (Code::Overloaded, true, false));
    for call in running {
        assert!(call.await.unwrap().outcome.is_success());
    }
    assert!(world.engine.call(call_with_key("one more", "{}")).await.outcome.is_success());
}
