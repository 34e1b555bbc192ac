//! Tests of results for models and for other callers.

use toolway_types::{Code, Outcome, ToolError, ToolOutput};

use crate::testkit::{EngineHarness, answering_tool, call, document, expect_error, success_text, tool};
use crate::{CallRequest, Caller, EngineSettings, EntryPoint, FinishedCall};

const MIB: usize = 1 << 20;

async fn call_through(world: &EngineHarness, via: EntryPoint, name: &str) -> FinishedCall {
    let caller = Caller { via, ..Caller::local_owner() };
    world.engine.call(CallRequest { caller, ..call(name, "{}") }).await
}

fn recorded(world: &EngineHarness, finished: &FinishedCall) -> usize {
    match world.recorder.records_of(finished.id)[0].outcome.as_ref() {
        Outcome::Success(output) => output.size(),
        Outcome::Error(error) => error.message.len(),
    }
}

#[tokio::test(start_paused = true)]
async fn fifteen_megabytes_become_64_kib_for_the_model_and_stay_whole_in_the_record_r19() {
    let bytes = 15 * MIB;
    let world = EngineHarness::new(vec![answering_tool("scan", &"x".repeat(bytes))]);
    let finished = call_through(&world, EntryPoint::Agent, "scan").await;
    let left_out = bytes - 64 * 1024;
    let note =
        format!("[truncated: {left_out} more bytes; the record of call {} contains more]", finished.id);
    assert_eq!(success_text(&finished), format!("{}\n{note}", "x".repeat(64 * 1024)));
    assert_eq!(recorded(&world, &finished), bytes, "what is kept of it is the record's affair");
    for via in [EntryPoint::Rest, EntryPoint::WebSocket, EntryPoint::Mcp, EntryPoint::Local] {
        assert_eq!(success_text(&call_through(&world, via, "scan").await).len(), bytes, "{via:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn error_texts_and_unknown_names_are_truncated_too_r19() {
    let fails = tool(document("fails"), |_, _| {
        std::future::ready(Err(ToolError::new(Code::ToolFailed, "e".repeat(MIB))))
    });
    let world = EngineHarness::new(vec![fails]);
    let finished = call_through(&world, EntryPoint::Agent, "fails").await;
    let message = &expect_error(&finished).message;
    assert!(message.len() < 65 * 1024 && message.contains("[truncated: "), "{}", message.len());
    assert!(recorded(&world, &finished) >= MIB);
    // A message quotes only the start of a name.
    let unknown = call_through(&world, EntryPoint::Agent, &"n".repeat(MIB)).await;
    assert_eq!(expect_error(&unknown).message, format!("Tool {}… is not available", "n".repeat(300)));
}

#[tokio::test(start_paused = true)]
async fn a_repeated_outcome_is_truncated_again_r19() {
    let world = EngineHarness::new(vec![answering_tool("scan", &"x".repeat(MIB))]);
    let keyed = |via| {
        let caller = Caller { via, ..Caller::local_owner() };
        world.engine.call(CallRequest { caller, idempotency_key: Some("k".into()), ..call("scan", "{}") })
    };
    let first = keyed(EntryPoint::Rest).await;
    assert_eq!(success_text(&first).len(), MIB);
    let again = keyed(EntryPoint::Agent).await;
    assert_eq!(again.id, first.id);
    assert!(
        success_text(&again).starts_with(&"x".repeat(64 * 1024)) && success_text(&again).len() < 65 * 1024
    );
    assert_eq!(success_text(&keyed(EntryPoint::Rest).await).len(), MIB, "what was kept is whole");
}

#[tokio::test(start_paused = true)]
async fn the_limit_for_models_is_configurable() {
    let settings = EngineSettings { model_text_bytes: 10, ..EngineSettings::default() };
    let world = EngineHarness::with_settings(
        settings,
        vec![answering_tool("scan", "0123456789ab"), answering_tool("ring", "0123456789")],
    );
    let finished = call_through(&world, EntryPoint::Agent, "scan").await;
    assert!(
        success_text(&finished).starts_with("0123456789\n[truncated: 2 more bytes"),
        "{}",
        success_text(&finished)
    );
    assert_eq!(success_text(&call_through(&world, EntryPoint::Agent, "ring").await), "0123456789");
}

#[tokio::test(start_paused = true)]
async fn a_result_above_the_output_limit_is_an_error_for_all() {
    let settings = EngineSettings { output_bytes: 100, ..EngineSettings::default() };
    let scan = tool(document("scan"), |_, _| std::future::ready(Ok(ToolOutput::text("x".repeat(101)))));
    let world = EngineHarness::with_settings(settings, vec![scan]);
    assert_eq!(
        expect_error(&call_through(&world, EntryPoint::Agent, "scan").await).code,
        Code::OutputTooLarge
    );
}
