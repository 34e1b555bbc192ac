//! Tests of the records of calls.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolway_types::{Code, Principal, Role, ToolOutput};

use crate::testkit::{
    EngineHarness, START_MS, answering_tool, assert_code, call, document, document_with_parameters,
    endless_tool, expect_error, millis, secs, slow_tool, success_text, tool, yield_to_tasks,
};
use crate::{CallDurations, Caller, EngineSettings, EntryPoint};

/// The recorded form of arguments.
async fn recorded(parameters: &str, arguments: &str) -> String {
    let world =
        EngineHarness::new(vec![tool(document_with_parameters("login", parameters), |arguments, _| {
            std::future::ready(Ok(ToolOutput::text(arguments.raw().get())))
        })]);
    assert_eq!(success_text(&world.run("login", arguments).await), arguments, "the tool gets everything");
    world.recorder.single_record().opened.arguments.as_ref().unwrap().get().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_record_has_caller_tool_entry_point_and_outcome() {
    let world = EngineHarness::new(vec![slow_tool(document("scan"), secs(3))]);
    let principal =
        Principal { id: "token-7".into(), role: Role::Client, agent: Some(Arc::from("housekeeper")) };
    let caller = Caller::new(Arc::new(principal), EntryPoint::Mcp);
    let finished = world.engine.call(crate::CallRequest { caller, ..call("scan", r#"{ "a":1 }"#) }).await;

    let record = world.recorder.single_record();
    assert_eq!(record.opened.id, finished.id);
    assert_eq!(&*record.opened.name, "scan");
    assert_eq!(record.opened.tool.as_ref().unwrap().to_string(), "phone/scan");
    assert_eq!(&*record.opened.principal.0, "token-7");
    assert_eq!((record.opened.role, record.opened.via), (Role::Client, EntryPoint::Mcp));
    assert_eq!(record.opened.agent.as_deref(), Some("housekeeper"));
    assert_eq!(record.opened.arguments.as_ref().unwrap().get(), r#"{ "a":1 }"#);
    assert_eq!(record.opened.started_ms, START_MS);
    assert_eq!(record.opened.key, None);
    assert_eq!(record.outcome, finished.outcome);
    assert_eq!(record.attempts, 1);
    let expected = CallDurations { total: secs(3), running: secs(3), ..CallDurations::default() };
    assert_eq!((record.durations, finished.durations), (expected, expected));
}

#[tokio::test(start_paused = true)]
async fn durations_separate_waiting_queueing_and_running() {
    let asking = tool(
        toolway_types::SpecDocument { sequential: true, timeout_ms: Some(100_000), ..document("unlock") },
        |_, cx| async move {
            tokio::time::sleep(secs(3)).await;
            cx.pause_for_person();
            tokio::time::sleep(secs(20)).await;
            cx.resume();
            tokio::time::sleep(secs(4)).await;
            Ok(ToolOutput::text("done"))
        },
    );
    let world = EngineHarness::new(vec![asking]);
    let [first, second] = [(); 2].map(|()| world.start(call("unlock", "{}")));
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    let expected = CallDurations { total: secs(27), waiting: secs(20), queued: secs(0), running: secs(7) };
    assert_eq!(first.durations, expected);
    let expected = CallDurations { total: secs(54), waiting: secs(20), queued: secs(27), running: secs(7) };
    assert_eq!(second.durations, expected);
}

#[tokio::test(start_paused = true)]
async fn values_of_listed_names_are_masked() {
    let given = r#"{"user":"ann","Password":"hunter2","deep":[{"api_key":{"a":1}}],"token_count":3,"n":1.0}"#;
    let kept = recorded("null", given).await;
    assert_eq!(
        kept,
        r#"{"Password":"[redacted]","deep":[{"api_key":"[redacted]"}],"n":1.0,"token_count":3,"user":"ann"}"#
    );
    for name in ["password", "token", "secret", "api_key", "authorization", "AUTHORIZATION"] {
        let kept = recorded("null", &format!(r#"{{"{name}":"x"}}"#)).await;
        assert_eq!(kept, format!(r#"{{"{name}":"[redacted]"}}"#));
    }
    let nothing_secret = r#"{ "z":1.0, "passwords":"x", "a":"token" }"#;
    assert_eq!(recorded("null", nothing_secret).await, nothing_secret, "nothing to leave out: byte for byte");
}

#[tokio::test(start_paused = true)]
async fn the_list_of_masked_names_is_configurable() {
    let settings = EngineSettings { redact: vec!["iban".to_owned()], ..EngineSettings::default() };
    let world = EngineHarness::with_settings(settings, vec![answering_tool("pay", "x")]);
    world.run("pay", r#"{"IBAN":"DE00","password":"x"}"#).await;
    let record = world.recorder.single_record();
    assert_eq!(record.opened.arguments.as_ref().unwrap().get(), r#"{"IBAN":"[redacted]","password":"x"}"#);
}

#[tokio::test(start_paused = true)]
async fn values_marked_write_only_are_masked() {
    let direct = r#"{"properties":{"pin":{"type":"string","writeOnly":true},"user":{"type":"string"}}}"#;
    assert_eq!(recorded(direct, r#"{"pin":"1234","user":"a"}"#).await, r#"{"pin":"[redacted]","user":"a"}"#);
    let nested = r#"{"properties":{"card":{"properties":{"cvc":{"writeOnly":true}}}}}"#;
    assert_eq!(
        recorded(nested, r#"{"card":{"cvc":"123","name":"A"}}"#).await,
        r#"{"card":{"cvc":"[redacted]","name":"A"}}"#
    );
    let by_reference = r##"{"properties":{"pin":{"$ref":"#/$defs/secret"}},
        "$defs":{"secret":{"type":"string","writeOnly":true}}}"##;
    assert_eq!(recorded(by_reference, r#"{"pin":"1234"}"#).await, r#"{"pin":"[redacted]"}"#);
    let all = r#"{"additionalProperties":{"writeOnly":true}}"#;
    assert_eq!(recorded(all, r#"{"x":"1234"}"#).await, r#""[redacted]""#);
}

#[tokio::test(start_paused = true)]
async fn write_only_values_of_a_typed_tool_are_masked() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[schemars(extend("writeOnly" = true))]
    struct PinArgument(String);
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct UnlockArguments {
        pin: PinArgument,
        #[schemars(extend("writeOnly" = true))]
        hint: Option<String>,
        lock: String,
    }
    let unlock = crate::ToolBuilder::new("unlock", "Made for a test.").build(
        |unlock: UnlockArguments, _| async move {
            Ok(ToolOutput::text(unlock.pin.0 + &unlock.hint.unwrap_or_default() + &unlock.lock))
        },
    );
    let world = EngineHarness::new(vec![unlock.unwrap()]);
    let finished = world.run("unlock", r#"{"lock":"front","hint":"b","pin":"a"}"#).await;
    assert_eq!(success_text(&finished), "abfront");
    assert_eq!(
        world.recorder.single_record().opened.arguments.as_ref().unwrap().get(),
        r#"{"hint":"[redacted]","lock":"front","pin":"[redacted]"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_record_if_configured() {
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let running = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    assert_eq!((world.recorder.opened().len(), world.recorder.closed().len()), (1, 0), "it does not run yet");
    world.recorder.commit();
    yield_to_tasks().await;
    assert_eq!(world.recorder.closed().len(), 1);
    assert!(!running.is_finished(), "it does not answer yet");
    world.recorder.commit();
    assert_eq!(success_text(&running.await.unwrap()), "found");
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_gives_up_does_not_stop_a_call() {
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let running = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    world.recorder.give_up();
    yield_to_tasks().await;
    world.recorder.give_up();
    assert_eq!(success_text(&running.await.unwrap()), "found");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_applies_while_a_call_waits_for_its_record() {
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let running = world.start(crate::CallRequest { timeout: Some(secs(5)), ..call("scan", "{}") });
    tokio::time::sleep(secs(5) + millis(1)).await;
    world.recorder.commit();
    let finished = running.await.unwrap();
    assert_code(&finished, Code::Timeout);
    assert!(!expect_error(&finished).dispatched);
    assert_eq!((finished.durations.total, finished.durations.running), (secs(5), secs(0)));
    assert_eq!(world.recorder.single_record().attempts, 0, "it never ran");
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_cancelled_while_it_waits_for_its_record() {
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let cancel = tokio_util::sync::CancellationToken::new();
    let running = world.start(crate::CallRequest { cancel: Some(cancel.clone()), ..call("scan", "{}") });
    yield_to_tasks().await;
    cancel.cancel();
    yield_to_tasks().await;
    world.recorder.commit();
    let finished = running.await.unwrap();
    assert_code(&finished, Code::Cancelled);
    assert!(!expect_error(&finished).dispatched);
    assert_eq!(world.recorder.single_record().attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_is_recorded_once_in_every_phase() {
    // Before the run.
    let world = EngineHarness::new(vec![endless_tool(document("scan"))]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let running = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    running.abort();
    yield_to_tasks().await;
    let record = world.recorder.single_record();
    assert_eq!(record.outcome.error().unwrap().code, Code::Cancelled);
    assert!(!record.outcome.error().unwrap().dispatched);

    // During the run.
    let world = EngineHarness::new(vec![endless_tool(document("scan"))]);
    let running = world.start(call("scan", "{}"));
    tokio::time::sleep(secs(2)).await;
    running.abort();
    yield_to_tasks().await;
    let record = world.recorder.single_record();
    let refusal = record.outcome.error().unwrap();
    assert_eq!((refusal.code, refusal.message.as_str()), (Code::Cancelled, "The caller went away"));
    assert!(refusal.dispatched);
    assert_eq!((record.durations.total, record.durations.running), (secs(2), secs(2)));
    assert_eq!(record.attempts, 1);

    // After the run, while the call waits for its record.
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    world.recorder.durable.store(true, Ordering::SeqCst);
    let running = world.start(call("scan", "{}"));
    yield_to_tasks().await;
    world.recorder.commit();
    yield_to_tasks().await;
    running.abort();
    yield_to_tasks().await;
    assert!(world.recorder.single_record().outcome.is_success(), "it had ended");

    assert_eq!(world.engine.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_name_longer_than_any_tools_is_recorded_truncated() {
    let world = EngineHarness::new(Vec::new());
    let name = format!("x{}", "é".repeat(5000));
    let finished = world.run(&name, "{}").await;
    assert_eq!(expect_error(&finished).message, format!("Tool x{}… is not available", "é".repeat(149)));
    assert_eq!(*world.recorder.single_record().opened.name, format!("x{}…", "é".repeat(511)));
}
