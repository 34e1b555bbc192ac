//! Tests of idempotency (docs/protocol.md, "Calling a tool"): a call with a key runs once.

mod recorded_outcomes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolway_types::{CallId, Code, ErrorKind, Role, ToolOutput};

use crate::testkit::{
    EngineHarness, assert_code, call, caller, document, expect_error, millis, secs, success_text, tool,
    yield_to_tasks,
};
use crate::{CallRequest, Tool};

/// A tool that takes some time and returns its run number, and the number of its runs.
fn counting_tool(time: Duration) -> (Arc<dyn Tool>, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = tool(document("pay"), move |_, _| {
        let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            sleep(time).await;
            Ok(ToolOutput::text(format!("run {run}")))
        }
    });
    (tool, runs)
}

fn call_with_key(key: &str, arguments: &str) -> CallRequest {
    CallRequest { idempotency_key: Some(key.into()), ..call("pay", arguments) }
}

#[tokio::test(start_paused = true)]
async fn the_same_idempotency_key_twice_runs_once_r13() {
    let (pay, runs) = counting_tool(secs(5));
    let world = EngineHarness::new(vec![pay]);
    let first = world.start(call_with_key("k", r#"{"a":1,"b":2}"#));
    sleep(secs(2)).await;
    let second = world.start(call_with_key("k", r#"{ "b":2, "a":1 }"#));
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!(success_text(&first), "run 1");
    assert_eq!((first.id, &first.outcome, first.durations), (second.id, &second.outcome, second.durations));
    assert_eq!(second.tool.as_ref().unwrap().to_string(), "phone/pay");

    let later = world.engine.call(call_with_key("k", r#"{"a":1,"b":2}"#)).await;
    assert_eq!((later.id, &later.outcome), (first.id, &first.outcome));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let record = world.recorder.single_record();
    assert_eq!((record.opened.id, &*record.opened.key.as_ref().unwrap().key), (first.id, "k"));
    assert_eq!(
        world.recorder.key_lookups.load(Ordering::SeqCst),
        1,
        "what is in memory needs no look at the records"
    );
}

#[tokio::test(start_paused = true)]
async fn parallel_calls_with_one_key_run_once() {
    let (pay, runs) = counting_tool(secs(1));
    let world = EngineHarness::new(vec![pay]);
    let all: Vec<_> = (0..200).map(|_| world.start(call_with_key("k", "{}"))).collect();
    let mut ids = Vec::new();
    for call in all {
        let finished = call.await.unwrap();
        assert_eq!(success_text(&finished), "run 1");
        ids.push(finished.id);
    }
    ids.dedup();
    assert_eq!((ids.len(), runs.load(Ordering::SeqCst)), (1, 1));
    world.recorder.single_record();
}

#[tokio::test(start_paused = true)]
async fn calls_without_a_key_all_run() {
    let (pay, runs) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    let one = world.run("pay", "{}").await;
    let other = world.run("pay", "{}").await;
    assert_ne!(one.id, other.id);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_different_call_with_the_same_key_is_a_conflict() {
    let (pay, runs) = counting_tool(secs(5));
    let world = EngineHarness::new(vec![pay, crate::testkit::answering_tool("refund", "x")]);
    let first = world.start(call_with_key("k", r#"{"a":1}"#));
    yield_to_tasks().await;
    for other in [
        call_with_key("k", r#"{"a":2}"#),
        CallRequest { name: "refund".into(), ..call_with_key("k", r#"{"a":1}"#) },
    ] {
        let finished = world.engine.call(other).await;
        let conflict = expect_error(&finished);
        assert_eq!((conflict.code, conflict.kind()), (Code::IdempotencyConflict, ErrorKind::ValidationError));
        assert!(!conflict.dispatched && !conflict.retryable);
        let record = &world.recorder.records_of(finished.id)[0];
        assert_eq!(record.opened.key, None, "a refused call does not hold the key");
        assert_eq!(finished.durations.total, secs(0), "it does not wait for the first");
    }
    let first = first.await.unwrap();
    assert_code(&world.engine.call(call_with_key("k", r#"{"a":2}"#)).await, Code::IdempotencyConflict);
    let again = world.engine.call(call_with_key("k", r#"{"a":1}"#)).await;
    assert_eq!(
        (again.id, success_text(&again).as_str()),
        (first.id, "run 1"),
        "a conflict does not harm the first"
    );
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn the_key_depends_on_the_tool_and_not_on_the_given_name() {
    let (pay, runs) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    let bare = world.engine.call(call_with_key("k", "{}")).await;
    let full = world.engine.call(CallRequest { name: "phone__pay".into(), ..call_with_key("k", "{}") }).await;
    assert_eq!((bare.id, runs.load(Ordering::SeqCst)), (full.id, 1));
}

#[tokio::test(start_paused = true)]
async fn each_principal_has_its_own_keys() {
    let (pay, runs) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    let of =
        |principal: &str| CallRequest { caller: caller(principal, Role::Client), ..call_with_key("k", "{}") };
    let ann = world.engine.call(of("ann")).await;
    let bob = world.engine.call(of("bob")).await;
    assert_eq!((success_text(&ann).as_str(), success_text(&bob).as_str()), ("run 1", "run 2"));
    assert_eq!(world.engine.call(of("ann")).await.id, ann.id);
    let others = CallRequest { caller: caller("bob", Role::Client), ..call_with_key("k", r#"{"x":1}"#) };
    assert_code(&world.engine.call(others).await, Code::IdempotencyConflict);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_valid_for_ten_minutes() {
    let (pay, runs) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    let first = world.engine.call(call_with_key("k", "{}")).await;
    let pass = async |time: Duration| {
        sleep(time).await;
        world.clock.advance(time);
    };
    pass(secs(600) - millis(1)).await;
    assert_eq!(world.engine.call(call_with_key("k", "{}")).await.id, first.id);
    pass(millis(2)).await;
    let next = world.engine.call(call_with_key("k", "{}")).await;
    assert_eq!((success_text(&next).as_str(), runs.load(Ordering::SeqCst)), ("run 2", 2));
    let other = world.engine.call(call_with_key("k", r#"{"a":1}"#)).await;
    assert_code(&other, Code::IdempotencyConflict);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_an_outcome_like_any_other() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let world = EngineHarness::new(vec![tool(document("pay"), move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    })]);
    let first = world.engine.call(CallRequest { timeout: Some(secs(2)), ..call_with_key("k", "{}") }).await;
    assert_code(&first, Code::Timeout);
    let again = world.engine.call(call_with_key("k", "{}")).await;
    assert_eq!((again.id, &again.outcome, runs.load(Ordering::SeqCst)), (first.id, &first.outcome, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_with_invalid_arguments_does_not_claim_the_key() {
    let (pay, runs) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    assert_code(&world.engine.call(call_with_key("k", "[]")).await, Code::InvalidArguments);
    assert_eq!(success_text(&world.engine.call(call_with_key("k", "{}")).await), "run 1");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_joining_call_waits_up_to_its_own_timeout() {
    let (pay, runs) = counting_tool(secs(20));
    let world = EngineHarness::new(vec![pay]);
    let first = world.start(call_with_key("k", "{}"));
    yield_to_tasks().await;
    let second = world.engine.call(CallRequest { timeout: Some(secs(3)), ..call_with_key("k", "{}") }).await;
    let refused = expect_error(&second);
    assert_eq!((refused.code, refused.dispatched), (Code::Timeout, true));
    assert_eq!(refused.message, "The first call with this idempotency key has not ended yet");
    assert_eq!(second.durations.total, secs(3));
    let first_id = first.await.unwrap().id;
    assert_ne!(second.id, first_id);
    assert_eq!(world.recorder.records_of(second.id).len(), 1);
    assert_eq!(world.engine.call(call_with_key("k", "{}")).await.id, first_id);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_joining_call_can_be_cancelled() {
    let (pay, _) = counting_tool(secs(20));
    let world = EngineHarness::new(vec![pay]);
    let first = world.start(call_with_key("k", "{}"));
    yield_to_tasks().await;
    let cancel = CancellationToken::new();
    let second = world.start(CallRequest { cancel: Some(cancel.clone()), ..call_with_key("k", "{}") });
    yield_to_tasks().await;
    cancel.cancel();
    assert_code(&second.await.unwrap(), Code::Cancelled);
    assert_eq!(success_text(&first.await.unwrap()), "run 1");
}

#[tokio::test(start_paused = true)]
async fn a_joining_call_gets_the_firsts_outcome_even_if_cancelled() {
    let (pay, runs) = counting_tool(secs(20));
    let world = EngineHarness::new(vec![pay]);
    let first = world.start(call_with_key("k", "{}"));
    yield_to_tasks().await;
    let joined = world.start(call_with_key("k", "{}"));
    yield_to_tasks().await;
    first.abort();
    let joined = joined.await.unwrap();
    assert_code(&joined, Code::Cancelled);
    assert!(expect_error(&joined).dispatched, "it may have had effects");
    let record = world.recorder.single_record();
    assert_eq!((record.opened.id, &record.outcome), (joined.id, &joined.outcome));
    let later = world.engine.call(call_with_key("k", "{}")).await;
    assert_eq!((later.id, runs.load(Ordering::SeqCst)), (joined.id, 1));
}

#[tokio::test(start_paused = true)]
async fn a_first_call_that_leaves_before_it_ran_frees_the_key() {
    let (pay, runs) = counting_tool(secs(1));
    let world = EngineHarness::new(vec![pay]);
    // The caller leaves while the records are searched.
    world.recorder.slow.store(true, Ordering::SeqCst);
    let first = world.start(call_with_key("k", "{}"));
    yield_to_tasks().await;
    world.recorder.slow.store(false, Ordering::SeqCst);
    let second = world.start(call_with_key("k", "{}"));
    sleep(secs(2)).await;
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    first.abort();
    assert_eq!(success_text(&second.await.unwrap()), "run 1");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    world.recorder.single_record();
}

#[tokio::test(start_paused = true)]
async fn the_length_of_a_key_is_limited() {
    let (pay, runs) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    for (length, fits) in [(0, false), (1, true), (256, true), (257, false), (100_000, false)] {
        let finished = world.engine.call(call_with_key(&"k".repeat(length), "{}")).await;
        assert_eq!(finished.outcome.is_success(), fits, "{length}");
        if !fits {
            assert_code(&finished, Code::InvalidArguments);
            let expected = format!("An idempotency key must have 1 to 256 bytes, not {length}");
            assert_eq!(expect_error(&finished).message, expected);
            assert_eq!(world.recorder.records_of(finished.id)[0].opened.key, None);
        }
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_returns_the_id_of_the_first() {
    let (pay, _) = counting_tool(secs(0));
    let world = EngineHarness::new(vec![pay]);
    let (one, two) = (CallId::new(), CallId::new());
    let first = world.engine.call(CallRequest { id: one, ..call_with_key("k", "{}") }).await;
    let second = world.engine.call(CallRequest { id: two, ..call_with_key("k", "{}") }).await;
    assert_eq!((first.id, second.id), (one, one));
    assert!(world.recorder.records_of(two).is_empty());
}
