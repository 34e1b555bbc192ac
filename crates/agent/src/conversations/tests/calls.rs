//! The calls of an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use toolway_core::{EngineSettings, ProgressReport};
use toolway_models::{FinishReason, MessagePart, MessageRole};
use toolway_types::{Code, ErrorKind, Outcome, RawJson, SpecDocument, ToolOutput};

use crate::event::{NoticeCode, TurnEvent, TurnFailureCode, TurnStatus};
use crate::testkit::{
    ConversationHarness, ScriptGate, ScriptStep, TurnEventLog, answering, assert_passed, cut_call_answer,
    document, failing, finished, settle, text_answer, tool, tool_call_answer, usage,
};

fn error_of(part: &MessagePart) -> &toolway_types::ToolError {
    match part {
        MessagePart::ToolResult(result) => result.outcome.error().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn text_of(part: &MessagePart) -> String {
    match part {
        MessagePart::ToolResult(result) => match &*result.outcome {
            Outcome::Success(output) => output.joined_text(),
            Outcome::Error(error) => panic!("{error}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn calls_run_in_parallel_and_their_results_are_in_order() {
    let wait = |name: &str, seconds| {
        tool(document(name), move |_, _| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(ToolOutput::text(format!("after {seconds} s")))
        })
    };
    let script = tool_call_answer(&[("phone__slow", "{}"), ("phone__fast", "{}"), ("phone__middle", "{}")]);
    let world = ConversationHarness::new(
        vec![script, text_answer("x")],
        vec![wait("slow", 3), wait("fast", 1), wait("middle", 2)],
    )
    .await;
    let started = tokio::time::Instant::now();
    let heard = world.say("Go.").await;
    assert_passed(started, Duration::from_secs(3));
    let told: Vec<_> = heard.tool_results().into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(told, ["phone__fast", "phone__middle", "phone__slow"], "told as they end");
    let results = &world.model.requests()[1].messages[2];
    assert_eq!(results.role, MessageRole::Tool);
    let texts: Vec<_> = results.parts.iter().map(text_of).collect();
    assert_eq!(
        texts,
        ["after 3 s", "after 1 s", "after 2 s"],
        "and given to the model in the order of its calls"
    );
}

#[tokio::test]
async fn impossible_calls_are_errors_for_the_model() {
    let script = tool_call_answer(&[
        ("phone__none", "{}"),
        ("phone__scan", "{ not json"),
        ("phone__scan", "[1]"),
        ("phone__scan", ""),
    ]);
    let world = ConversationHarness::new(vec![script, text_answer("x")], vec![answering("scan", "ok")]).await;
    let heard = world.say("Go.").await;
    assert_eq!(heard.end().status, TurnStatus::Done);
    let results = &world.model.requests()[1].messages[2].parts;
    assert_eq!(error_of(&results[0]).message, "Tool phone__none is not available");
    assert_eq!(error_of(&results[1]).code, Code::InvalidArguments);
    assert!(error_of(&results[2]).message.contains("they must be a JSON object"));
    assert_eq!(text_of(&results[3]), "ok", "nothing is an empty object");
    // Viewers always get an object as arguments.
    let shown: Vec<_> = heard
        .events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::ToolCall { arguments, .. } => Some(arguments.get().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["{}"; 4]);
}

#[tokio::test]
async fn a_truncated_call_does_not_run_and_the_model_gets_an_error_m10() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let write = tool(document("write"), move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(ToolOutput::text("written")))
    });
    // The partial arguments are well-formed by chance.
    let mut script = cut_call_answer("phone__write", r#"{"path":"/"}"#);
    script.insert(0, tool_call_answer(&[("phone__write", r#"{"path":"/a"}"#)])[1].clone());
    let world = ConversationHarness::new(vec![script, text_answer("I will write less.")], vec![write]).await;
    let heard = world.say("Write it.").await;
    assert_eq!(heard.end().status, TurnStatus::Done);
    assert_eq!(ran.load(Ordering::SeqCst), 1, "the whole one");
    let results = &world.model.requests()[1].messages[2].parts;
    assert_eq!(text_of(&results[0]), "written");
    let error = error_of(&results[1]);
    assert_eq!((error.code, error.kind()), (Code::InvalidArguments, ErrorKind::ValidationError));
    assert!(error.message.contains("ended in the middle"), "{error}");
    assert_eq!(heard.tool_results().len(), 2);
}

#[tokio::test]
async fn a_model_that_always_truncates_its_calls_is_stopped_m10() {
    let world = ConversationHarness::new(
        vec![cut_call_answer("phone__write", "{\"a")],
        vec![answering("write", "x")],
    )
    .await;
    let heard = world.say("Write it.").await;
    let TurnStatus::Failed(failure) = &heard.end().status else { panic!() };
    assert_eq!(failure.code, TurnFailureCode::LimitReached);
    assert!(failure.hint.as_ref().unwrap().contains("max_output_tokens"));
    assert_eq!(world.model.requests().len(), 3);
}

#[tokio::test]
async fn invalid_arguments_are_reported_and_corrected() {
    let schema = r#"{"type":"object","properties":{"page":{"type":"object","properties":{"number":{"type":"integer"}}}},"required":["page"]}"#;
    let ran: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&ran);
    let print = SpecDocument { parameters: RawJson::parse(schema).ok(), ..document("print") };
    let print = tool(print, move |arguments, _| {
        noted.lock().push(arguments.raw().get().to_owned());
        std::future::ready(Ok(ToolOutput::text("printed")))
    });
    let (bad, good) = (r#"{"page":{"number":"two"}}"#, r#"{"page":{"number":2}}"#);
    let scripts = vec![
        tool_call_answer(&[("phone__print", bad)]),
        tool_call_answer(&[("phone__print", good)]),
        text_answer("Printed."),
    ];
    let world = ConversationHarness::new(scripts, vec![print]).await;
    let heard = world.say("Print page two.").await;
    assert_eq!((heard.end().status.clone(), heard.text().as_str()), (TurnStatus::Done, "Printed."));
    assert_eq!(*ran.lock(), [good], "it ran once, with what the schema allows");
    let seen = world.model.requests();
    let told = error_of(&seen[1].messages[2].parts[0]);
    assert_eq!((told.code, told.kind()), (Code::InvalidArguments, ErrorKind::ValidationError));
    assert_eq!(told.message, r#"Invalid arguments: /page/number: "two" is not of type "integer""#);
    assert!(!told.dispatched);
    // Next to its call, so that the model can correct it.
    let called: Vec<_> = seen[1].messages[1].tool_calls().map(|call| call.arguments.as_str()).collect();
    assert_eq!(called, [bad]);
    assert_eq!(text_of(&seen[2].messages[4].parts[0]), "printed");
}

#[tokio::test]
async fn timeouts_and_panics_are_errors_for_the_model() {
    let slow = SpecDocument { timeout_ms: Some(5_000), ..document("slow") };
    let slow = tool(slow, |_, _| std::future::pending());
    let careless = tool(document("careless"), |_, _| async { panic!("the drawer is empty") });
    let script = tool_call_answer(&[("phone__slow", "{}"), ("phone__careless", "{}"), ("phone__scan", "{}")]);
    let world = ConversationHarness::new(
        vec![script, text_answer("Two failed.")],
        vec![slow, careless, answering("scan", "ok")],
    );
    let world = world.await;
    let started = tokio::time::Instant::now();
    let heard = world.say("Go.").await;
    assert_passed(started, Duration::from_secs(5));
    assert_eq!((heard.end().status.clone(), heard.text().as_str()), (TurnStatus::Done, "Two failed."));
    let results = &world.model.requests()[1].messages[2].parts;
    let late = error_of(&results[0]);
    assert_eq!((late.code, late.kind()), (Code::Timeout, ErrorKind::Timeout));
    assert_eq!(late.message, "The tool did not answer within 5 s");
    let crashed = error_of(&results[1]);
    assert_eq!((crashed.code, crashed.kind()), (Code::ToolPanicked, ErrorKind::ExecutionError));
    assert_eq!(crashed.message, "The tool crashed: the drawer is empty");
    assert_eq!(text_of(&results[2]), "ok", "the others are none the worse for it");
    assert!(world.try_start(world.turn_request("And now?")).await.is_ok(), "the session is free");
}

#[tokio::test]
async fn the_third_repeated_failure_is_reported_to_the_model_once() {
    let failing_call = || tool_call_answer(&[("phone__print", r#"{"n":1}"#)]);
    let scripts =
        vec![failing_call(), failing_call(), failing_call(), failing_call(), text_answer("I give up.")];
    let world = ConversationHarness::new(scripts, vec![failing("print", "no paper")]).await;
    let heard = world.say("Print it.").await;
    let hints: Vec<_> = world.model.requests()[4]
        .messages
        .iter()
        .filter(|it| it.role == MessageRole::Tool)
        .map(|message| error_of(&message.parts[0]).hint.clone())
        .collect();
    assert_eq!(hints.len(), 4);
    assert!(hints[0].is_none() && hints[1].is_none() && hints[3].is_none());
    assert!(hints[2].as_ref().unwrap().contains("same call for the 3rd time"), "{hints:?}");
    assert_eq!(
        heard.notices(),
        [(
            NoticeCode::RepeatedFailure,
            "phone__print failed several times in the same way: no paper".to_owned()
        )]
    );
    // Viewers get what the model gets.
    let told = heard.tool_results()[2].2.error().unwrap().hint.clone();
    assert_eq!(told, hints[2]);
}

#[tokio::test]
async fn a_malformed_call_is_reported_once_and_repeated() {
    let malformed = || vec![usage(3, 1), finished(FinishReason::MalformedToolCall)];
    let world = ConversationHarness::new(
        vec![malformed(), tool_call_answer(&[("phone__scan", "{}")]), text_answer("Blue.")],
        vec![answering("scan", "blue")],
    )
    .await;
    let heard = world.say("Which colour?").await;
    assert_eq!((heard.end().status.clone(), heard.text().as_str()), (TurnStatus::Done, "Blue."));
    let seen = world.model.requests();
    assert!(seen[1].messages.last().unwrap().text().contains("could not be read"));
    assert!(
        !seen[2].messages.iter().any(|it| it.text().contains("could not be read")),
        "it is no part of the conversation"
    );
    assert_eq!(world.memory.messages_of("s").len(), 4);
    drop(world);
    let world = ConversationHarness::new(vec![malformed()], vec![]).await;
    let heard = world.say("Which colour?").await;
    let TurnStatus::Failed(failure) = &heard.end().status else { panic!() };
    assert_eq!(failure.code, TurnFailureCode::Provider);
    assert_eq!(world.model.requests().len(), 2);
}

#[tokio::test]
async fn progress_is_published_only_while_a_call_runs() {
    let slow = tool(document("slow"), |_, cx| async move {
        for at in 1..=3 {
            cx.report_progress(ProgressReport {
                progress: f64::from(at),
                total: Some(3.0),
                message: None,
                content: Vec::new(),
            });
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(ToolOutput::text("done"))
    });
    let world = ConversationHarness::new(
        vec![tool_call_answer(&[("phone__slow", "{}")]), text_answer("x")],
        vec![slow],
    )
    .await;
    let heard = world.say("Go.").await;
    let told: Vec<_> = heard
        .events
        .iter()
        .map(|event| match event {
            TurnEvent::ToolCall { .. } => "call",
            TurnEvent::ToolProgress { .. } => "progress",
            TurnEvent::ToolResult { .. } => "result",
            _ => "other",
        })
        .take(5)
        .collect();
    assert_eq!(told, ["call", "progress", "progress", "progress", "result"]);
}

#[tokio::test]
async fn a_long_result_is_truncated_for_the_model_and_marked_r19() {
    let long = tool(document("long"), |_, _| std::future::ready(Ok(ToolOutput::text("x".repeat(2000)))));
    let world = ConversationHarness::new(
        vec![tool_call_answer(&[("phone__long", "{}")]), text_answer("x")],
        vec![long],
    )
    .await;
    world.engine.set_settings(EngineSettings { model_text_bytes: 1000, ..EngineSettings::default() });
    let heard = world.say("Go.").await;
    let read = text_of(&world.model.requests()[1].messages[2].parts[0]);
    assert!(read.starts_with(&"x".repeat(1000)) && read.contains("[truncated: 1000 more bytes"), "{read}");
    let kept = world.memory.messages_of("s");
    assert_eq!(text_of(&kept[2].parts[0]), read, "history holds no more than that");
    let Outcome::Success(told) = &*heard.tool_results()[0].2 else { panic!() };
    assert_eq!(told.joined_text(), read);
}

#[tokio::test]
async fn a_device_disconnect_during_a_call_ends_it_and_the_turn_continues_r1() {
    // As a socket does it: the tool's task ends with this error when the connection closes.
    let (gone, is_gone) = tokio::sync::watch::channel(false);
    let camera = tool(document("camera"), move |_, cx| {
        let mut is_gone = is_gone.clone();
        async move {
            cx.mark_dispatched();
            is_gone.wait_for(|gone| *gone).await.ok();
            Err(toolway_types::ToolError::new(Code::DeviceDisconnected, "phone was disconnected")
                .with_dispatched(true))
        }
    });
    let world = ConversationHarness::new(
        vec![tool_call_answer(&[("phone__camera", "{}")]), text_answer("The phone is away.")],
        vec![camera],
    )
    .await;
    let viewer = world.start(world.turn_request("Take a picture.")).await;
    settle().await;
    let started = tokio::time::Instant::now();
    world.phone.replace(Vec::new());
    gone.send(true).unwrap();
    let heard = TurnEventLog::collect(viewer).await;
    assert_eq!(started.elapsed(), Duration::ZERO, "it does not wait for any time limit");
    assert_eq!((heard.end().status.clone(), heard.text().as_str()), (TurnStatus::Done, "The phone is away."));
    assert_eq!(error_of(&world.model.requests()[1].messages[2].parts[0]).code, Code::DeviceDisconnected);
    assert!(world.try_start(world.turn_request("And now?")).await.is_ok(), "the session is free");
}

#[tokio::test]
async fn calls_over_the_limit_of_an_answer_are_refused() {
    let many: Vec<(&str, &str)> = vec![("phone__scan", "{}"); 300];
    let world = ConversationHarness::new(
        vec![tool_call_answer(&many), text_answer("x")],
        vec![answering("scan", "ok")],
    )
    .await;
    let heard = world.say("Go.").await;
    assert_eq!(heard.end().status, TurnStatus::Done);
    let results = &world.model.requests()[1].messages[2].parts;
    assert_eq!(results.len(), 300);
    assert_eq!(text_of(&results[255]), "ok");
    assert_eq!(error_of(&results[256]).code, Code::Overloaded);
}

#[tokio::test]
async fn an_answer_with_text_and_calls_keeps_both() {
    let mut script = vec![
        crate::testkit::text("I scan."),
        ScriptStep::Say(toolway_models::ModelEvent::Part(MessagePart::text("I scan."))),
    ];
    script.extend(tool_call_answer(&[("phone__scan", "{}")]));
    let world =
        ConversationHarness::new(vec![script, text_answer("Done.")], vec![answering("scan", "ok")]).await;
    world.say("Go.").await;
    let kept = world.memory.messages_of("s");
    assert_eq!(kept[1].text(), "I scan.");
    assert_eq!(kept[1].tool_calls().count(), 1);
}

#[tokio::test]
async fn a_model_that_repeats_failures_is_stopped() {
    let again = || tool_call_answer(&[("broken", "{}")]);
    let world =
        ConversationHarness::new((0..40).map(|_| again()).collect(), vec![failing("broken", "no paper")])
            .await;
    let heard = world.say("Print.").await;
    let TurnStatus::Failed(failure) = &heard.end().status else { panic!("{:?}", heard.end().status) };
    assert_eq!(failure.code, TurnFailureCode::LimitReached);
    assert!(failure.message.contains("broken in 25 responses"), "{}", failure.message);
    assert_eq!(world.model.requests().len(), 25);
}

/// A tool with a secret argument by its schema, which answers with a secret by its name.
fn signing_in() -> Arc<dyn toolway_core::Tool> {
    let parameters = r#"{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}"#;
    let document =
        SpecDocument { parameters: Some(RawJson::parse(parameters).unwrap()), ..document("sign_in") };
    tool(document, |arguments, _| {
        assert!(arguments.raw().get().contains("1234"), "the tool gets the value");
        std::future::ready(Ok(ToolOutput::text(r#"{"token":"t-secret","user":"ada"}"#)))
    })
}

#[tokio::test]
async fn secrets_of_calls_are_known_to_the_running_turn_and_never_stored() {
    let arguments = r#"{"password":"hunter2","pin":"1234","n":1}"#;
    let scripts = vec![tool_call_answer(&[("phone__sign_in", arguments)]), text_answer("Done.")];
    let world = ConversationHarness::new(scripts, vec![signing_in()]).await;
    world.say("Sign in.").await;
    let clear = |request: &toolway_models::ModelRequest| {
        let text = format!("{:?}", request.messages);
        ["hunter2", "1234", "t-secret"].map(|secret| text.contains(secret))
    };
    assert_eq!(clear(&world.model.requests()[1]), [true; 3], "the model needs them in the running turn");
    let records = world.memory.records("s");
    for record in &records {
        let parts = record.parts.get();
        for secret in ["hunter2", "1234", "t-secret"] {
            assert!(!parts.contains(secret), "{secret} in {parts}");
        }
    }
    let stored = r#"\"password\":\"[redacted]\",\"pin\":\"[redacted]\",\"n\":1"#;
    assert!(records[1].parts.get().contains(stored), "{}", records[1].parts.get());
    assert!(records[2].parts.get().contains(r#"\"token\":\"[redacted]\",\"user\":\"ada\""#));
    // The next turn begins with the stored conversation.
    world.say("And now?").await;
    assert_eq!(clear(world.model.requests().last().unwrap()), [false; 3]);
}

#[tokio::test]
async fn secrets_in_cut_arguments_and_of_tools_that_have_left_are_not_stored() {
    let world = ConversationHarness::new(
        vec![cut_call_answer("phone__sign_in", r#"{"n":1,"pin":"12"#), text_answer("Stopped.")],
        vec![signing_in()],
    )
    .await;
    world.say("Sign in.").await;
    assert!(!world.memory.records("s")[1].parts.get().contains(r#"\"12"#), "cut");
    drop(world);
    let gate = ScriptGate::new();
    let mut script = vec![ScriptStep::Wait(gate.clone())];
    script.extend(tool_call_answer(&[("phone__sign_in", r#"{"pin":"1234"}"#)]));
    let world = ConversationHarness::new(vec![script, text_answer("Gone.")], vec![signing_in()]).await;
    let viewer = world.start(world.turn_request("Sign in.")).await;
    gate.reached().await;
    world.phone.replace(vec![]);
    gate.open();
    TurnEventLog::collect(viewer).await;
    assert!(!world.memory.records("s")[1].parts.get().contains("1234"), "the tool has left");
}
