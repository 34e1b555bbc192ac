//! Rules on the way of a call: what is denied does not exist, what is limited is refused, and both at once.

use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ErrorKind, Role, ToolError};

use crate::record::CallNotes;
use crate::testkit::{
    World, annotated, answering, assert_code, call, call_of, caller, client, document, endless, error,
    lasting, millis, secs, settle, slug, text, tool, with_parameters,
};
use crate::{Call, Caller, Finished, Keep, OwnTools, RawArguments};

const NO_SCAN: &str = r#"{"policy":{"rules":[{"when":{"tools":["*/scan"]},"effect":"deny"}]}}"#;

/// What a call of a name that nobody has ends in.
fn unknown(name: &str) -> ToolError {
    ToolError::new(Code::ToolNotAvailable, format!("Tool {name} is not available"))
}

/// The call was refused as one of a tool that does not exist, and so it stands in the record, but for the rule, which
/// is for the owner.
#[track_caller]
fn assert_unknown(world: &World, finished: &Finished, name: &str) {
    assert_eq!(*error(finished), unknown(name));
    assert_eq!(finished.tool, None);
    let record = &world.recorder.of(finished.id)[0];
    assert_eq!((&record.opened.tool, &record.opened.arguments), (&None, &None));
    let only_a_rule = record.notes.as_ref().map(|notes| CallNotes { rule: None, ..CallNotes::clone(notes) });
    assert_eq!(only_a_rule.unwrap_or_default(), CallNotes::default());
    assert_eq!(record.attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_denied_looks_the_same_as_what_is_not_there_by_every_name() {
    let world = World::new(vec![answering("scan", "x"), answering("ring", "rang")]);
    world.rule(NO_SCAN);
    let own = Caller {
        own: Some(OwnTools { source: slug("phone"), lease: world.phone.id() }),
        ..caller("c", Role::Companion)
    };
    for who in [client("c"), own.clone(), Caller::local_owner()] {
        for name in ["scan", "phone__scan"] {
            let finished = world.engine.call(call_of(who.clone(), name)).await;
            assert_unknown(&world, &finished, name);
            let rule = world.recorder.of(finished.id)[0].notes.as_ref().and_then(|notes| notes.rule.clone());
            assert_eq!(rule.as_deref(), Some("policy.rules[0]"));
        }
        let none = world.engine.call(call_of(who.clone(), "nothing")).await;
        assert_eq!(world.recorder.of(none.id)[0].notes, None);
        assert_eq!(text(&world.engine.call(call_of(who, "ring")).await), "rang");
    }
    // Nor do arguments or a key tell it from one that is not there.
    let pry = Call {
        arguments: RawArguments::Text("{".to_owned()),
        idempotency_key: Some("k".into()),
        ..call_of(own, "scan")
    };
    assert_unknown(&world, &world.engine.call(pry).await, "scan");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_denied_at_one_source_is_another_sources_alone() {
    let world = World::new(vec![answering("scan", "the phone's")]);
    let pc = world.registry.lease(slug("pc"), Keep::Known);
    pc.replace(vec![answering("scan", "the computer's")]);
    let both = world.run("scan", "{}").await;
    assert_eq!(error(&both).hint.as_deref().unwrap().matches("__scan").count(), 2);
    world.rule(r#"{"policy":{"rules":[{"when":{"tools":["phone/*"],"roles":["client"]},"effect":"deny"}]}}"#);
    assert_eq!(text(&world.engine.call(call_of(client("c"), "scan")).await), "the computer's");
    assert_code(&world.run("scan", "{}").await, Code::ToolNotAvailable);
    // Away, it is neither named nor in the way.
    world.phone.replace(Vec::new());
    assert_unknown(&world, &world.engine.call(call_of(client("c"), "phone__scan")).await, "phone__scan");
    assert_eq!(text(&world.engine.call(call_of(client("c"), "scan")).await), "the computer's");
}

#[tokio::test(start_paused = true)]
async fn other_rules_hold_from_the_next_call_on() {
    let world = World::new(vec![lasting(document("scan"), secs(5))]);
    let running = world.start(call("scan", "{}"));
    settle().await;
    world.rule(NO_SCAN);
    assert_unknown(&world, &world.run("scan", "{}").await, "scan");
    assert_eq!(text(&running.await.unwrap()), "done", "what runs goes on");
    world.rule("{}");
    assert_eq!(text(&world.run("scan", "{}").await), "done");
}

/// Invariant 9, and a tool whose source says something else of it than before.
#[tokio::test(start_paused = true)]
async fn what_a_tool_says_of_itself_counts_where_its_source_is_trusted_and_as_it_is_now() {
    let says = |annotations: &str| {
        tool(annotated("scan", annotations), |_, _| {
            std::future::ready(Ok(toolway_types::ToolOutput::text("x")))
        })
    };
    let world = World::new(vec![says(r#"{"readOnlyHint":true}"#)]);
    let rules = |trusted: &str| {
        format!(
            r#"{{"policy":{{"default":"deny","trusted_sources":[{trusted}],"rules":[{{"when":{{"read_only":true}},"effect":"allow"}}]}}}}"#
        )
    };
    world.rule(&rules(r#""builtin""#));
    assert_unknown(&world, &world.run("scan", "{}").await, "scan");
    world.rule(&rules(r#""phone""#));
    assert_eq!(text(&world.run("scan", "{}").await), "x");
    world.phone.replace(vec![says(r#"{"readOnlyHint":false}"#)]);
    assert_unknown(&world, &world.run("scan", "{}").await, "scan");
    world.phone.replace(vec![says(r#"{"readOnlyHint":true}"#)]);
    assert_eq!(text(&world.run("scan", "{}").await), "x");
}

#[tokio::test(start_paused = true)]
async fn e6_a_rate_is_not_reset_by_a_new_connection_or_by_reading_the_rules_again() {
    let world = World::new(vec![answering("scan", "x"), answering("ring", "x")]);
    let rules = |more: &str| {
        format!(
            r#"{{"policy":{{"rules":[{more}{{"name":"slow","when":{{"roles":["client"]}},"effect":"allow","calls_per_minute":3}}]}}}}"#
        )
    };
    world.rule(&rules(""));
    // Each call has a caller of its own, as each new connection does.
    let a_call = |who: &str, name: &str| {
        let (engine, call) = (world.engine.clone(), call_of(client(who), name));
        async move { engine.call(call).await }
    };
    for name in ["scan", "ring", "scan"] {
        assert_eq!(text(&a_call("a", name).await), "x");
    }
    let refused = a_call("a", "scan").await;
    let limited = error(&refused);
    assert_eq!((limited.code, limited.kind()), (Code::RateLimited, ErrorKind::ExecutionError));
    assert_eq!(limited.message, "The policy allows 3 calls a minute, and they are used up");
    assert_eq!(limited.hint.as_deref(), Some(r#"Try again in 20 s; the rule is "slow""#));
    assert!(limited.retryable && !limited.dispatched);
    let record = &world.recorder.of(refused.id)[0];
    assert_eq!(record.notes.as_ref().unwrap().rule.as_deref(), Some("slow"));
    assert_eq!(record.opened.tool.as_ref().unwrap().to_string(), "phone/scan");
    assert!(record.opened.arguments.is_some());

    world.rule(&rules(""));
    assert_code(&a_call("a", "scan").await, Code::RateLimited);
    world.rule(&rules(r#"{"when":{"tools":["x/*"]},"effect":"deny"},"#));
    assert_code(&a_call("a", "scan").await, Code::RateLimited);
    let other_door = Caller { door: crate::Door::Mcp, session: Some("s".into()), ..client("a") };
    assert_code(&world.engine.call(call_of(other_door, "scan")).await, Code::RateLimited);

    assert_eq!(text(&a_call("b", "scan").await), "x", "another has its own");
    assert_eq!(text(&world.run("scan", "{}").await), "x", "the rule is not for the owner");
    tokio::time::advance(secs(20)).await;
    assert_eq!(text(&a_call("a", "scan").await), "x");
    assert_code(&a_call("a", "scan").await, Code::RateLimited);
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_are_limited_however_they_end() {
    let world = World::new(vec![endless(document("scan")), answering("ring", "x")]);
    world.rule(r#"{"policy":{"rules":[{"name":"few","effect":"allow","in_flight":2}]}}"#);
    let cancel = CancellationToken::new();
    let first = world.start(Call { cancel: Some(cancel.clone()), ..call_of(client("a"), "scan") });
    let second = world.start(call_of(client("a"), "scan"));
    settle().await;
    let refused = world.engine.call(call_of(client("a"), "ring")).await;
    let full = error(&refused);
    assert_eq!((full.code, full.retryable, full.dispatched), (Code::Overloaded, true, false));
    assert_eq!(full.message, "2 calls are in flight already, which is what the policy allows");
    assert_eq!(world.recorder.of(refused.id)[0].notes.as_ref().unwrap().rule.as_deref(), Some("few"));
    assert_eq!(text(&world.engine.call(call_of(client("b"), "ring")).await), "x");
    cancel.cancel();
    assert_code(&first.await.unwrap(), Code::Cancelled);
    assert_eq!(text(&world.engine.call(call_of(client("a"), "ring")).await), "x");
    let third = world.start(call_of(client("a"), "scan"));
    settle().await;
    assert_code(&world.engine.call(call_of(client("a"), "ring")).await, Code::Overloaded);
    second.abort();
    settle().await;
    assert_eq!(text(&world.engine.call(call_of(client("a"), "ring")).await), "x");
    assert_code(&third.await.unwrap(), Code::Timeout);
    assert_eq!(text(&world.engine.call(call_of(client("a"), "ring")).await), "x");
}

#[tokio::test(start_paused = true)]
async fn what_never_gets_as_far_is_not_counted() {
    let number = r#"{"properties":{"n":{"type":"integer"}}}"#;
    let world = World::new(vec![tool(with_parameters("scan", number), |_, _| {
        std::future::ready(Ok(toolway_types::ToolOutput::text("x")))
    })]);
    world.rule(r#"{"policy":{"rules":[{"effect":"allow","calls_per_minute":1}]}}"#);
    for _ in 0..3 {
        assert_code(&world.run("scan", r#"{"n":"x"}"#).await, Code::InvalidArguments);
        assert_code(&world.run("nope", "{}").await, Code::ToolNotAvailable);
    }
    assert_eq!(text(&world.run("scan", r#"{"n":1}"#).await), "x");
    assert_code(&world.run("scan", r#"{"n":1}"#).await, Code::RateLimited);
    tokio::time::advance(secs(60) - millis(1)).await;
    assert_code(&world.run("scan", r#"{"n":1}"#).await, Code::RateLimited);
    tokio::time::advance(millis(1)).await;
    assert_eq!(text(&world.run("scan", r#"{"n":1}"#).await), "x");
}
