//! Tests of rules in calls: denied tools, limits, and both.

use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ErrorKind, Role, ToolError};

use crate::record::CallNotes;
use crate::testkit::{
    EngineHarness, annotated_document, answering_tool, assert_code, call, call_of, caller, client, document,
    document_with_parameters, endless_tool, expect_error, millis, secs, slow_tool, slug, success_text, tool,
    yield_to_tasks,
};
use crate::{CallRequest, Caller, CallerRegistration, FinishedCall, RawArguments, SourceRetention};

const NO_SCAN: &str = r#"{"policy":{"rules":[{"when":{"tools":["*/scan"]},"effect":"deny"}]}}"#;

/// Error of a call of an unknown name.
fn unknown(name: &str) -> ToolError {
    ToolError::new(Code::ToolNotAvailable, format!("Tool {name} is not available"))
}

/// Checks that the call was refused like one of an unknown tool, also in the record, except for the rule,
/// which is only for the owner.
#[track_caller]
fn assert_unknown(world: &EngineHarness, finished: &FinishedCall, name: &str) {
    assert_eq!(*expect_error(finished), unknown(name));
    assert_eq!(finished.tool, None);
    let record = &world.recorder.records_of(finished.id)[0];
    assert_eq!((&record.opened.tool, &record.opened.arguments), (&None, &None));
    let only_a_rule = record.notes.as_ref().map(|notes| CallNotes { rule: None, ..CallNotes::clone(notes) });
    assert_eq!(only_a_rule.unwrap_or_default(), CallNotes::default());
    assert_eq!(record.attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn a_denied_tool_looks_unknown_by_every_name() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x"), answering_tool("ring", "rang")]);
    world.set_policy(NO_SCAN);
    let own = Caller {
        registration: Some(CallerRegistration { source: slug("phone"), lease: world.phone.id() }),
        ..caller("c", Role::Companion)
    };
    for who in [client("c"), own.clone(), Caller::local_owner()] {
        for name in ["scan", "phone__scan"] {
            let finished = world.engine.call(call_of(who.clone(), name)).await;
            assert_unknown(&world, &finished, name);
            let rule =
                world.recorder.records_of(finished.id)[0].notes.as_ref().and_then(|notes| notes.rule.clone());
            assert_eq!(rule.as_deref(), Some("policy.rules[0]"));
        }
        let none = world.engine.call(call_of(who.clone(), "nothing")).await;
        assert_eq!(world.recorder.records_of(none.id)[0].notes, None);
        assert_eq!(success_text(&world.engine.call(call_of(who, "ring")).await), "rang");
    }
    // Neither arguments nor a key reveal a difference.
    let pry = CallRequest {
        arguments: RawArguments::Text("{".to_owned()),
        idempotency_key: Some("k".into()),
        ..call_of(own, "scan")
    };
    assert_unknown(&world, &world.engine.call(pry).await, "scan");
}

#[tokio::test(start_paused = true)]
async fn a_name_denied_for_one_source_belongs_to_the_other() {
    let world = EngineHarness::new(vec![answering_tool("scan", "the phone's")]);
    let pc = world.registry.lease(slug("pc"), SourceRetention::Names);
    pc.replace(vec![answering_tool("scan", "the computer's")]);
    let both = world.run("scan", "{}").await;
    assert_eq!(expect_error(&both).hint.as_deref().unwrap().matches("__scan").count(), 2);
    world.set_policy(
        r#"{"policy":{"rules":[{"when":{"tools":["phone/*"],"roles":["client"]},"effect":"deny"}]}}"#,
    );
    assert_eq!(success_text(&world.engine.call(call_of(client("c"), "scan")).await), "the computer's");
    assert_code(&world.run("scan", "{}").await, Code::ToolNotAvailable);
    // An offline denied tool is not named and causes no ambiguity.
    world.phone.replace(Vec::new());
    assert_unknown(&world, &world.engine.call(call_of(client("c"), "phone__scan")).await, "phone__scan");
    assert_eq!(success_text(&world.engine.call(call_of(client("c"), "scan")).await), "the computer's");
}

#[tokio::test(start_paused = true)]
async fn new_rules_apply_to_the_next_call() {
    let world = EngineHarness::new(vec![slow_tool(document("scan"), secs(5))]);
    let running = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    world.set_policy(NO_SCAN);
    assert_unknown(&world, &world.run("scan", "{}").await, "scan");
    assert_eq!(success_text(&running.await.unwrap()), "done", "what runs goes on");
    world.set_policy("{}");
    assert_eq!(success_text(&world.run("scan", "{}").await), "done");
}

/// Invariant "what a tool says is data", with a tool whose source changes its annotations.
#[tokio::test(start_paused = true)]
async fn current_annotations_count_if_the_source_is_trusted() {
    let says = |annotations: &str| {
        tool(annotated_document("scan", annotations), |_, _| {
            std::future::ready(Ok(toolway_types::ToolOutput::text("x")))
        })
    };
    let world = EngineHarness::new(vec![says(r#"{"readOnlyHint":true}"#)]);
    let rules = |trusted: &str| {
        format!(
            r#"{{"policy":{{"default":"deny","trusted_sources":[{trusted}],"rules":[{{"when":{{"read_only":true}},"effect":"allow"}}]}}}}"#
        )
    };
    world.set_policy(&rules(r#""builtin""#));
    assert_unknown(&world, &world.run("scan", "{}").await, "scan");
    world.set_policy(&rules(r#""phone""#));
    assert_eq!(success_text(&world.run("scan", "{}").await), "x");
    world.phone.replace(vec![says(r#"{"readOnlyHint":false}"#)]);
    assert_unknown(&world, &world.run("scan", "{}").await, "scan");
    world.phone.replace(vec![says(r#"{"readOnlyHint":true}"#)]);
    assert_eq!(success_text(&world.run("scan", "{}").await), "x");
}

#[tokio::test(start_paused = true)]
async fn neither_a_new_connection_nor_a_rule_reload_resets_a_rate_limit_e6() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x"), answering_tool("ring", "x")]);
    let rules = |more: &str| {
        format!(
            r#"{{"policy":{{"rules":[{more}{{"name":"slow","when":{{"roles":["client"]}},"effect":"allow","calls_per_minute":3}}]}}}}"#
        )
    };
    world.set_policy(&rules(""));
    // Each call has its own caller, like each new connection.
    let a_call = |who: &str, name: &str| {
        let (engine, call) = (world.engine.clone(), call_of(client(who), name));
        async move { engine.call(call).await }
    };
    for name in ["scan", "ring", "scan"] {
        assert_eq!(success_text(&a_call("a", name).await), "x");
    }
    let refused = a_call("a", "scan").await;
    let limited = expect_error(&refused);
    assert_eq!((limited.code, limited.kind()), (Code::RateLimited, ErrorKind::ExecutionError));
    assert_eq!(limited.message, "The policy allows 3 calls per minute, and this limit is reached");
    assert_eq!(limited.hint.as_deref(), Some(r#"Try again in 20 s; the rule is "slow""#));
    assert!(limited.retryable && !limited.dispatched);
    let record = &world.recorder.records_of(refused.id)[0];
    assert_eq!(record.notes.as_ref().unwrap().rule.as_deref(), Some("slow"));
    assert_eq!(record.opened.tool.as_ref().unwrap().to_string(), "phone/scan");
    assert!(record.opened.arguments.is_some());

    world.set_policy(&rules(""));
    assert_code(&a_call("a", "scan").await, Code::RateLimited);
    world.set_policy(&rules(r#"{"when":{"tools":["x/*"]},"effect":"deny"},"#));
    assert_code(&a_call("a", "scan").await, Code::RateLimited);
    let other_entry_point = Caller { via: crate::EntryPoint::Mcp, session: Some("s".into()), ..client("a") };
    assert_code(&world.engine.call(call_of(other_entry_point, "scan")).await, Code::RateLimited);

    assert_eq!(success_text(&a_call("b", "scan").await), "x", "another has its own");
    assert_eq!(success_text(&world.run("scan", "{}").await), "x", "the rule is not for the owner");
    tokio::time::advance(secs(20)).await;
    assert_eq!(success_text(&a_call("a", "scan").await), "x");
    assert_code(&a_call("a", "scan").await, Code::RateLimited);
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_are_limited_however_they_end() {
    let world = EngineHarness::new(vec![endless_tool(document("scan")), answering_tool("ring", "x")]);
    world.set_policy(r#"{"policy":{"rules":[{"name":"few","effect":"allow","in_flight":2}]}}"#);
    let cancel = CancellationToken::new();
    let first = world.start(CallRequest { cancel: Some(cancel.clone()), ..call_of(client("a"), "scan") });
    let second = world.start(call_of(client("a"), "scan"));
    yield_to_tasks().await;
    let refused = world.engine.call(call_of(client("a"), "ring")).await;
    let full = expect_error(&refused);
    assert_eq!((full.code, full.retryable, full.dispatched), (Code::Overloaded, true, false));
    assert_eq!(full.message, "2 calls are already in flight; the policy allows no more");
    assert_eq!(world.recorder.records_of(refused.id)[0].notes.as_ref().unwrap().rule.as_deref(), Some("few"));
    assert_eq!(success_text(&world.engine.call(call_of(client("b"), "ring")).await), "x");
    cancel.cancel();
    assert_code(&first.await.unwrap(), Code::Cancelled);
    assert_eq!(success_text(&world.engine.call(call_of(client("a"), "ring")).await), "x");
    let third = world.start(call_of(client("a"), "scan"));
    yield_to_tasks().await;
    assert_code(&world.engine.call(call_of(client("a"), "ring")).await, Code::Overloaded);
    second.abort();
    yield_to_tasks().await;
    assert_eq!(success_text(&world.engine.call(call_of(client("a"), "ring")).await), "x");
    assert_code(&third.await.unwrap(), Code::Timeout);
    assert_eq!(success_text(&world.engine.call(call_of(client("a"), "ring")).await), "x");
}

#[tokio::test(start_paused = true)]
async fn a_call_refused_earlier_is_not_counted() {
    let number = r#"{"properties":{"n":{"type":"integer"}}}"#;
    let world = EngineHarness::new(vec![tool(document_with_parameters("scan", number), |_, _| {
        std::future::ready(Ok(toolway_types::ToolOutput::text("x")))
    })]);
    world.set_policy(r#"{"policy":{"rules":[{"effect":"allow","calls_per_minute":1}]}}"#);
    for _ in 0..3 {
        assert_code(&world.run("scan", r#"{"n":"x"}"#).await, Code::InvalidArguments);
        assert_code(&world.run("nope", "{}").await, Code::ToolNotAvailable);
    }
    assert_eq!(success_text(&world.run("scan", r#"{"n":1}"#).await), "x");
    assert_code(&world.run("scan", r#"{"n":1}"#).await, Code::RateLimited);
    tokio::time::advance(secs(60) - millis(1)).await;
    assert_code(&world.run("scan", r#"{"n":1}"#).await, Code::RateLimited);
    tokio::time::advance(millis(1)).await;
    assert_eq!(success_text(&world.run("scan", r#"{"n":1}"#).await), "x");
}
