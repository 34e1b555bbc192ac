//! Tests of arguments that are expensive to validate, and of schemas that cause this.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ErrorKind, ToolOutput};

use crate::testkit::{
    EngineHarness, answering_tool, assert_code, call, document_with_parameters, expect_error, raw, secs,
    success_text, tool, yield_to_tasks,
};
use crate::{
    BeforeCallDecision, CallRequest, GlobPatterns, Hook, HookCall, HookEntry, HookError, HookErrorAction,
    RawArguments, Tool,
};

/// A tool that returns its remaining time.
fn counting_tool(parameters: &Value) -> Arc<dyn Tool> {
    tool(document_with_parameters("take", &parameters.to_string()), |_, cx| async move {
        Ok(ToolOutput::text(format!("{} s left", cx.remaining().as_secs())))
    })
}

fn texts() -> Value {
    json!({"properties": {"l": {"items": {"type": "string"}}}})
}

/// Arguments too large for inline validation.
fn large(item: &str) -> String {
    json!({ "l": vec![item; 20_000] }).to_string()
}

#[tokio::test(start_paused = true)]
async fn large_arguments_are_validated_like_small_ones() {
    let world = EngineHarness::new(vec![counting_tool(&texts())]);
    assert_eq!(success_text(&world.run("take", &large("abc")).await), "30 s left");
    let wrong = format!(r#"{{"l":["{}",5]}}"#, "x".repeat(100_000));
    for arguments in [RawArguments::Json(raw(&wrong)), RawArguments::Text(wrong.clone())] {
        let finished = world.engine.call(CallRequest { arguments, ..call("take", "{}") }).await;
        let refused = expect_error(&finished);
        assert_eq!((refused.code, refused.kind()), (Code::InvalidArguments, ErrorKind::ValidationError));
        assert_eq!(refused.message, r#"Invalid arguments: /l/1: 5 is not of type "string""#);
        let record = &world.recorder.records_of(finished.id)[0];
        assert_eq!(record.opened.arguments.as_ref().unwrap().get(), wrong);
    }
    let cut = RawArguments::Text(large("abc").trim_end_matches('}').to_owned());
    let finished = world.engine.call(CallRequest { arguments: cut, ..call("take", "{}") }).await;
    assert!(
        expect_error(&finished)
            .message
            .starts_with("Invalid arguments: the arguments are not well-formed JSON")
    );
    world.recorder.assert_each_closed_once();
    assert_eq!(world.engine.abandoned_runs(), 0);
}

/// With the maximum number of running validations, the next waits under its own deadline, and other calls do
/// not.
#[tokio::test(start_paused = true)]
async fn waiting_for_validation_counts_against_the_calls_deadline() {
    let world = EngineHarness::new(vec![counting_tool(&texts()), answering_tool("ring", "rang")]);
    let all = u32::try_from(crate::engine::MAX_HEAVY_CHECKS).unwrap();
    let busy = world.engine.heavy_checks.clone().acquire_many_owned(all).await.unwrap();

    let limited = CallRequest { timeout: Some(secs(5)), ..call("take", &large("abc")) };
    let (cancel, token) = (CancellationToken::new(), CancellationToken::new());
    token.cancel();
    let slow = world.start(limited);
    let cancelled = world.start(CallRequest { cancel: Some(cancel.clone()), ..call("take", &large("abc")) });
    let at_once = world.engine.call(CallRequest { cancel: Some(token), ..call("take", &large("abc")) }).await;
    assert_code(&at_once, Code::Cancelled);
    let dropped = world.start(call("take", &large("abc")));
    let patient = world.start(call("take", &large("abc")));
    yield_to_tasks().await;
    let ring = world.run("ring", "{}").await;
    assert_eq!((success_text(&ring).as_str(), ring.durations.total), ("rang", secs(0)));

    sleep(secs(2)).await;
    cancel.cancel();
    let cancelled = cancelled.await.unwrap();
    assert_code(&cancelled, Code::Cancelled);
    assert_eq!(cancelled.durations.total, secs(2));
    dropped.abort();
    yield_to_tasks().await;
    let record = world.recorder.closed().pop().unwrap();
    let gone = record.outcome.error().unwrap();
    assert_eq!((gone.code, gone.message.as_str()), (Code::Cancelled, "The caller went away"));
    assert_eq!(record.opened.tool.as_ref().unwrap().to_string(), "phone/take");
    assert_eq!(record.durations.total, secs(2));

    let slow = slow.await.unwrap();
    let timeout = expect_error(&slow);
    assert_eq!((timeout.code, timeout.dispatched), (Code::Timeout, false));
    assert_eq!(timeout.message, "The arguments could not be checked within 5 s");
    assert_eq!(slow.durations.total, secs(5));

    sleep(secs(6)).await;
    drop(busy);
    assert_eq!(success_text(&patient.await.unwrap()), "19 s left", "of thirty");
    world.recorder.assert_each_closed_once();
    assert_eq!((world.engine.in_flight(), world.engine.abandoned_runs()), (0, 0));

    let _busy = world.engine.heavy_checks.clone().acquire_many_owned(all).await.unwrap();
    let stopped = world.start(call("take", &large("abc")));
    yield_to_tasks().await;
    world.engine.shut_down(secs(1)).await;
    assert_code(&stopped.await.unwrap(), Code::ShuttingDown);
}

#[tokio::test(start_paused = true)]
async fn arguments_changed_by_hooks_may_be_large() {
    struct ReplacingHook(String);
    #[async_trait]
    impl Hook for ReplacingHook {
        async fn before_call(&self, _: &HookCall) -> Result<BeforeCallDecision, HookError> {
            Ok(BeforeCallDecision::Modify(RawArguments::Json(raw(&self.0))))
        }
    }
    let puts = |arguments: String| HookEntry {
        name: "puts".into(),
        hook: Arc::new(ReplacingHook(arguments)),
        tools: GlobPatterns::new(["*"]).unwrap(),
        runs_before: true,
        runs_after: false,
        timeout: secs(5),
        on_error: HookErrorAction::FailClosed,
    };
    let world = EngineHarness::new(vec![counting_tool(&texts())]);
    world.engine.set_hooks(vec![puts(large("abc"))]);
    assert_eq!(success_text(&world.run("take", "{}").await), "30 s left");
    world.engine.set_hooks(vec![puts(large("abc").replacen(r#""abc""#, "7", 1))]);
    let refused = world.run("take", "{}").await;
    assert_eq!(
        expect_error(&refused).message,
        "The hook \"puts\" changed the arguments: Invalid arguments: /l/0: 7 is not of type \"string\"; \
         the arguments are too large to list further problems"
    );
}

/// A validation that could not be stopped is not started: items with very many alternatives.
#[tokio::test(start_paused = true)]
async fn arguments_that_are_too_expensive_to_validate_are_refused() {
    let choices: Vec<_> = (0..2000).map(|number| json!({"required": [format!("k{number}")]})).collect();
    let world =
        EngineHarness::new(vec![counting_tool(&json!({"properties": {"l": {"items": {"anyOf": choices}}}}))]);
    let items = |count: usize| json!({ "l": vec![json!({"k": 1}); count] }).to_string();
    let finished = world.run("take", &items(100_000)).await;
    let refused = expect_error(&finished);
    assert_eq!(
        refused.message,
        "Invalid arguments: checking them against the tool's schema would take too long"
    );
    assert_eq!(refused.hint.as_deref(), Some("Use smaller arguments"));
    let finished = world.run("take", &items(10)).await;
    assert_eq!(
        expect_error(&finished).message,
        "Invalid arguments: (the arguments): not valid; there may be too many problems to list"
    );
    assert_eq!(success_text(&world.run("take", r#"{"l":[{"k1999":1}]}"#).await), "30 s left");
}

/// With unlimited backtracking these patterns would never end.
#[tokio::test(start_paused = true)]
async fn catastrophic_patterns_are_limited() {
    for pattern in [
        r"^(a+)+$",
        r"^(a|aa)+$",
        r"^(a|a?)+$",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"^(?=a)(a+)+$",
        r"^(a+)+\1$",
        r"^(?:(a+)+)+(?!b)$",
        r"^(?<!x)((a+)*b?)*\1$",
    ] {
        let world =
            EngineHarness::new(vec![counting_tool(&json!({"properties": {"a": {"pattern": pattern}}}))]);
        for length in [40, 30_000, 100_000] {
            let arguments = json!({"a": format!("{}!", "a".repeat(length))}).to_string();
            let finished = world.run("take", &arguments).await;
            assert_code(&finished, Code::InvalidArguments);
            assert!(expect_error(&finished).message.len() < 1000);
        }
        let named = EngineHarness::new(vec![counting_tool(&json!({
            "patternProperties": {pattern: false}, "additionalProperties": {"type": "integer"}
        }))]);
        let names: serde_json::Map<_, _> =
            (0..50).map(|more| (format!("{}!", "a".repeat(30 + more)), json!("x"))).collect();
        assert_code(&named.run("take", &Value::Object(names).to_string()).await, Code::InvalidArguments);
    }
    let usual = EngineHarness::new(vec![counting_tool(
        &json!({"properties": {"a": {"pattern": r"^(?=.*[A-Z])(?=.*\d).{8,}$"}}}),
    )]);
    assert_eq!(success_text(&usual.run("take", r#"{"a":"Passw0rdPassw0rd"}"#).await), "30 s left");
    assert_code(&usual.run("take", r#"{"a":"password"}"#).await, Code::InvalidArguments);
}

/// A grammar of expressions: validation is fast, but listing violations would take ten times as long per
/// level.
#[tokio::test(start_paused = true)]
async fn deep_arguments_of_a_recursive_schema_are_limited() {
    let kinds: Vec<_> = (0..10)
        .map(|kind| {
            json!({"type": "object", "required": ["kind"], "properties": {
                "kind": {"const": format!("k{kind}")}, "left": {"$ref": "#/$defs/e"}, "right": {"$ref": "#/$defs/e"}}})
        })
        .collect();
    let schema = json!({"type": "object", "properties": {"e": {"$ref": "#/$defs/e"}}, "$defs": {"e": {"anyOf": kinds}}});
    let world = EngineHarness::new(vec![counting_tool(&schema)]);
    let nested = |depth: usize, inmost: &str| {
        let innermost = json!({ "kind": inmost });
        let whole =
            (0..depth).fold(innermost, |inner, _| json!({"kind": "k9", "left": inner, "right": inner}));
        json!({ "e": whole }).to_string()
    };
    assert_eq!(success_text(&world.run("take", &nested(10, "k3")).await), "30 s left");
    for depth in [8, 11] {
        let finished = world.run("take", &nested(depth, "nope")).await;
        assert_eq!(
            expect_error(&finished).message,
            "Invalid arguments: (the arguments): not valid; there may be too many problems to list"
        );
    }
    let chain = (0..60).fold(json!({"kind": "nope"}), |inner, _| json!({"kind": "k9", "left": inner}));
    assert_code(&world.run("take", &json!({ "e": chain }).to_string()).await, Code::InvalidArguments);
    let shallow = world.run("take", r#"{"e":{"kind":"nope"}}"#).await;
    assert!(
        expect_error(&shallow).message.starts_with("Invalid arguments: /e: "),
        "{}",
        expect_error(&shallow).message
    );
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_properties_are_validated() {
    let property =
        json!({"anyOf": [{"type": "string", "description": "x"}, {"type": "integer"}, {"type": "null"}]});
    let properties: serde_json::Map<_, _> =
        (0..10_000).map(|at| (format!("p{at}"), property.clone())).collect();
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let world = EngineHarness::new(vec![counting_tool(&schema)]);
    let all = |value: Value| {
        let all: serde_json::Map<_, _> = (0..10_000).map(|at| (format!("p{at}"), value.clone())).collect();
        Value::Object(all).to_string()
    };
    assert_eq!(success_text(&world.run("take", &all(json!(1))).await), "30 s left");
    let finished = world.run("take", &all(json!([1]))).await;
    assert_eq!(
        expect_error(&finished).message,
        "Invalid arguments: (the arguments): not valid; there may be too many problems to list"
    );
    let finished = world.run("take", r#"{"p5":[1],"p7":"x"}"#).await;
    assert!(
        expect_error(&finished).message.starts_with("Invalid arguments: "),
        "{}",
        expect_error(&finished).message
    );
}

#[tokio::test(start_paused = true)]
async fn many_unique_items_are_validated() {
    let world = EngineHarness::new(vec![counting_tool(&json!({"properties": {"l": {"uniqueItems": true}}}))]);
    let items = |last: usize| json!({ "l": (0..100_000).chain([last]).map(|at| json!({"a": [at]})).collect::<Vec<_>>() });
    assert_eq!(success_text(&world.run("take", &items(100_000).to_string()).await), "30 s left");
    let finished = world.run("take", &items(7).to_string()).await;
    assert!(
        expect_error(&finished).message.starts_with("Invalid arguments: /l: [{"),
        "{}",
        expect_error(&finished).message
    );
    assert!(expect_error(&finished).message.len() < 1000);
}

/// Eight million numbers are 16 MB of text and 256 MB when they are parsed.
#[tokio::test(start_paused = true)]
async fn arguments_with_very_many_values_are_refused_before_they_are_parsed() {
    let world = EngineHarness::new(vec![counting_tool(&texts())]);
    let numbers = format!(r#"{{"l":[{}0]}}"#, "0,".repeat(8_000_000 - 1));
    for arguments in [RawArguments::Json(raw(&numbers)), RawArguments::Text(numbers.clone())] {
        let finished = world.engine.call(CallRequest { arguments, ..call("take", "{}") }).await;
        let refused = expect_error(&finished);
        assert_eq!(refused.code, Code::InvalidArguments);
        assert_eq!(refused.message, "Invalid arguments: the arguments have more than 500000 values");
    }
    let named = (0..600_000).map(|at| format!(r#""{at}":0"#)).collect::<Vec<_>>().join(",");
    let finished = world.run("take", &format!("{{{named}}}")).await;
    assert_code(&finished, Code::InvalidArguments);
    // An object, an array, and its elements.
    let most = format!(r#"{{"l":[{}"x"]}}"#, r#""x","#.repeat(500_000 - 3));
    assert_eq!(success_text(&world.run("take", &most).await), "30 s left");
}

#[tokio::test(start_paused = true)]
async fn secrets_in_large_arguments_are_masked_in_the_record() {
    let world = EngineHarness::new(vec![counting_tool(&texts())]);
    let arguments = json!({ "l": vec!["abc"; 20_000], "password": "hunter2" }).to_string();
    let finished = world.run("take", &arguments).await;
    assert_eq!(success_text(&finished), "30 s left");
    let record = &world.recorder.records_of(finished.id)[0];
    let recorded = record.opened.arguments.as_ref().unwrap().get();
    assert!(recorded.contains(r#""password":"[redacted]""#) && !recorded.contains("hunter2"));
}
