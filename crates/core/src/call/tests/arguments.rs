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
