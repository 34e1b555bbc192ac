//! Tests of the invariant "nothing invalid runs".

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolway_types::{Code, ErrorKind, ToolOutput};

use crate::testkit::{EngineHarness, call, document_with_parameters, expect_error, success_text, tool};
use crate::{CallRequest, Caller, RawArguments, Tool};

const SCHEMA: &str = r#"{"type":"object","required":["n"],"properties":{
    "n":{"type":"integer"},"s":{"maxLength":3},"password":{"minLength":12}}}"#;

/// A tool that returns the text of its arguments, and the number of its runs.
fn echo(parameters: &str) -> (Arc<dyn Tool>, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = tool(document_with_parameters("echo", parameters), move |arguments, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(ToolOutput::text(arguments.raw().get())))
    });
    (tool, runs)
}

fn with_text(text: &str) -> CallRequest {
    CallRequest::new("echo", RawArguments::Text(text.to_owned()), Caller::local_owner())
}

#[tokio::test(start_paused = true)]
async fn valid_arguments_reach_the_tool_unchanged() {
    let (echo, _) = echo(r#"{"properties":{"z":{"type":"number"}}}"#);
    let world = EngineHarness::new(vec![echo]);
    let written = r#"{ "z":1.0, "a":12345678901234567890123 }"#;
    assert_eq!(success_text(&world.run("echo", written).await), written);
    assert_eq!(success_text(&world.engine.call(with_text(written)).await), written);
    assert_eq!(success_text(&world.engine.call(with_text("")).await), "{}");
    let none = CallRequest::new("echo", RawArguments::None, Caller::local_owner());
    assert_eq!(success_text(&world.engine.call(none).await), "{}");
}

#[tokio::test(start_paused = true)]
async fn malformed_or_truncated_arguments_do_not_run_and_are_not_recorded() {
    let (echo, runs) = echo("null");
    let world = EngineHarness::new(vec![echo]);
    for written in [r#"{"a":"hunter2"#, "{", r#"{"a":1,"a":2}"#, "[1]", "5"] {
        let finished = world.engine.call(with_text(written)).await;
        let refusal = expect_error(&finished);
        assert_eq!((refusal.code, refusal.kind()), (Code::InvalidArguments, ErrorKind::ValidationError));
        assert!(refusal.message.starts_with("Invalid arguments: the arguments are "), "{}", refusal.message);
        assert_eq!(refusal.hint.as_deref(), Some("Pass the arguments as one JSON object"));
        assert!(!refusal.dispatched && !refusal.retryable);
        assert_eq!(finished.tool.unwrap().to_string(), "phone/echo");
        let records = world.recorder.records_of(finished.id);
        assert_eq!(records.len(), 1);
        assert!(records[0].opened.arguments.is_none(), "{written}");
        assert_eq!(records[0].attempts, 0);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn every_violation_is_reported_with_its_pointer() {
    let (echo, runs) = echo(SCHEMA);
    let world = EngineHarness::new(vec![echo]);
    let finished = world.run("echo", r#"{"n":"x","s":"long"}"#).await;
    let refusal = expect_error(&finished);
    assert_eq!((refusal.code, refusal.kind()), (Code::InvalidArguments, ErrorKind::ValidationError));
    let told = refusal.message.strip_prefix("Invalid arguments: ").unwrap();
    let mut told: Vec<_> = told.split("; ").collect();
    told.sort_unstable();
    assert_eq!(told, [r#"/n: "x" is not of type "integer""#, r#"/s: "long" is longer than 3 characters"#]);
    assert_eq!(refusal.hint.as_deref(), Some("Correct the values at these places and call again"));
    assert!(!refusal.dispatched && !refusal.retryable);

    let record = world.recorder.single_record();
    assert_eq!(record.opened.arguments.as_ref().unwrap().get(), r#"{"n":"x","s":"long"}"#);
    assert_eq!(record.attempts, 0);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert!(expect_error(&world.run("echo", "{}").await).message.contains(r#""n" is a required property"#));
}

#[tokio::test(start_paused = true)]
async fn an_error_does_not_quote_secrets() {
    let (echo, _) = echo(SCHEMA);
    let world = EngineHarness::new(vec![echo]);
    let finished = world.engine.call(call("echo", r#"{"n":1,"password":"hunter2"}"#)).await;
    assert_eq!(
        expect_error(&finished).message,
        "Invalid arguments: /password: value is shorter than 12 characters"
    );
    let record = world.recorder.single_record();
    assert_eq!(record.opened.arguments.as_ref().unwrap().get(), r#"{"n":1,"password":"[redacted]"}"#);

    // Nor for another position, because the quoted value may contain the secret.
    let finished = world.engine.call(call("echo", r#"{"n":{"password":"hunter2"}}"#)).await;
    assert_eq!(expect_error(&finished).message, r#"Invalid arguments: /n: value is not of type "integer""#);
}

#[tokio::test(start_paused = true)]
async fn an_optional_null_that_the_schema_does_not_allow_counts_as_absent_and_the_record_says_so() {
    let schema = r##"{"type":"object","required":["n"],"$defs":{"name":{"type":"string"}},"properties":{
        "n":{"type":"integer"},"s":{"type":"string"},"kind":{"enum":["a","b"]},"alias":{"$ref":"#/$defs/name"},
        "free":{},"maybe":{"type":["string","null"]},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},
        "a/b":{"type":"string"},"password":{"type":"string"},
        "inner":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"},"y":{"type":"integer"}}},
        "list":{"type":"array","items":{"type":"object","properties":{"y":{"type":"integer"}}}}}}"##;
    let (echo, _) = echo(schema);
    let world = EngineHarness::new(vec![echo]);
    for (given, got) in [
        (r#"{"n":1,"s":null}"#, r#"{"n":1}"#),
        (
            r#"{"n": 1.0, "kind":null,"alias":null,"either":null, "free": null,"maybe":null}"#,
            r#"{"n":1.0,"free":null,"maybe":null}"#,
        ),
        (r#"{"n":1,"a/b":null,"more":12345678901234567890123}"#, r#"{"n":1,"more":12345678901234567890123}"#),
        (r#"{"n":1,"inner":{"x":1,"y":null}}"#, r#"{"n":1,"inner":{"x":1}}"#),
        (r#"{"n":1,"list":[{"y":2},{"y":null}]}"#, r#"{"n":1,"list":[{"y":2},{}]}"#),
    ] {
        let finished = world.run("echo", given).await;
        assert_eq!(success_text(&finished), got, "{given}");
        let records = world.recorder.records_of(finished.id);
        assert_eq!(records[0].opened.arguments.as_ref().unwrap().get(), given);
        assert_eq!(records[0].notes.as_ref().unwrap().ran_with.as_ref().unwrap().get(), got);
    }
    // Nulls that the schema allows stay, and nothing is noted.
    let allowed = r#"{"n":1,"maybe":null,"free":null}"#;
    let finished = world.run("echo", allowed).await;
    assert_eq!(success_text(&finished), allowed);
    assert_eq!(world.recorder.records_of(finished.id)[0].notes, None);
    // Both forms in the record are masked.
    let finished = world.run("echo", r#"{"n":1,"password":"hunter2","s":null}"#).await;
    let record = &world.recorder.records_of(finished.id)[0];
    let ran_with = record.notes.as_ref().unwrap().ran_with.as_ref().unwrap().get();
    assert_eq!(ran_with, r#"{"n":1,"password":"[redacted]"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_required_null_is_refused() {
    let (echo, runs) = echo(
        r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"s":{"type":"string"},
        "inner":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}}}"#,
    );
    let world = EngineHarness::new(vec![echo]);
    for (given, message) in [
        (r#"{"n":null}"#, r#"Invalid arguments: /n: null is not of type "integer""#),
        // The optional one is not part of the problem.
        (r#"{"n":null,"s":null}"#, r#"Invalid arguments: /n: null is not of type "integer""#),
        (r#"{"n":1,"inner":{"x":null}}"#, r#"Invalid arguments: /inner/x: null is not of type "integer""#),
        (r#"{"s":null}"#, r#"Invalid arguments: (the arguments): "n" is a required property"#),
    ] {
        let finished = world.run("echo", given).await;
        let refusal = expect_error(&finished);
        assert_eq!((refusal.code, refusal.message.as_str()), (Code::InvalidArguments, message), "{given}");
        let record = &world.recorder.records_of(finished.id)[0];
        assert_eq!(record.opened.arguments.as_ref().unwrap().get(), given, "the record has what was given");
        assert_eq!(record.notes, None);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_null_stays_if_the_matching_alternative_allows_it() {
    let (echo, _) = echo(
        r#"{"type":"object","oneOf":[
        {"properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind"]},
        {"properties":{"kind":{"const":"b"},"x":{"type":["integer","null"]},"y":{"type":"integer"}},"required":["kind"]}]}"#,
    );
    let world = EngineHarness::new(vec![echo]);
    let finished = world.run("echo", r#"{"kind":"b","x":null,"y":null}"#).await;
    assert_eq!(success_text(&finished), r#"{"kind":"b","x":null}"#);
}
