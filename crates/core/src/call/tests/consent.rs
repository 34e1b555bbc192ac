//! Tests of consent: permissions, approval, and earlier answers.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ErrorKind, Role, SpecDocument, ToolOutput};

use crate::consent::{
    AnswerError, ConsentDecision, ConsentScope, Grant, GrantId, GrantSubject, GrantVerdict, QuestionEvent,
    QuestionKind, QuestionSink,
};
use crate::testkit::{
    EngineHarness, START_MS, annotated_document, answering_tool, assert_code, call, call_of, chat_caller,
    client, document_with_permissions, endless_tool, expect_error, millis, owner, principal, raw, secs,
    sequential_document, slow_tool, success_text, tool, yield_to_tasks,
};
use crate::{CallDurations, CallRequest, Caller, EngineSettings, RawArguments};

const ASK_FOR_FILES: &str = r#"{"permissions":{"rules":[{"permission":"files.*","state":"ask"}]}}"#;
const APPROVE_ALL: &str = r#"{"approval":{"default":"always"}}"#;
const APPROVE_ALL_OPENED: &str = r#"{"approval":{"rules":[{"mode":"always","caller_may_answer":true}]}}"#;

/// A tool that requires a permission of the gateway and then answers at once.
fn file_writing_tool(name: &str) -> Arc<dyn crate::Tool> {
    tool(document_with_permissions(name, &["files.write"]), |_, _| {
        std::future::ready(Ok(ToolOutput::text("written")))
    })
}

/// Records the questions that the caller receives.
fn sink() -> (QuestionSink, Arc<Mutex<Vec<QuestionEvent>>>) {
    let told = Arc::<Mutex<Vec<QuestionEvent>>>::default();
    let noted = told.clone();
    (Arc::new(move |event: &QuestionEvent| noted.lock().push(event.clone())), told)
}

fn call_with_sink(caller: Caller, name: &str) -> CallRequest {
    CallRequest { questions: Some(sink().0), ..call_of(caller, name) }
}

#[tokio::test(start_paused = true)]
async fn by_default_no_question_is_asked() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), answering_tool("scan", "x")]);
    assert_eq!(success_text(&world.run("write", "{}").await), "written");
    assert_eq!(success_text(&world.engine.call(call_of(client("c"), "scan")).await), "x");
    for record in world.recorder.closed() {
        assert_eq!((record.notes, record.durations.waiting), (None, secs(0)));
    }
}

#[tokio::test(start_paused = true)]
async fn several_questions_are_open_at_the_same_time_and_each_gets_its_answer_e1() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), file_writing_tool("other")]);
    world.set_policy(ASK_FOR_FILES);
    let _watching = world.engine.questions().watch();
    let running: Vec<_> = ["a", "b", "c", "d"].map(|who| world.start(call_of(client(who), "write"))).into();
    yield_to_tasks().await;
    let open = world.engine.questions().visible_to(&owner());
    assert_eq!(open.len(), 4);
    let of = |who: &str| open.iter().find(|question| &*question.principal.0 == who).unwrap().id;
    let answer = |who: &str, choice| {
        world.engine.questions().answer(of(who), &owner(), choice, ConsentScope::Once).unwrap()
    };
    sleep(secs(30)).await;
    answer("c", ConsentDecision::Granted);
    sleep(secs(30)).await;
    answer("a", ConsentDecision::Denied);
    sleep(secs(59)).await;
    answer("b", ConsentDecision::Granted);
    let mut finished = Vec::new();
    for running in running {
        finished.push(running.await.unwrap());
    }
    assert_code(&finished[0], Code::Denied);
    assert_eq!(success_text(&finished[1]), "written");
    assert_eq!(success_text(&finished[2]), "written");
    assert_code(&finished[3], Code::ApprovalUnavailable);
    let waited: Vec<_> = finished.iter().map(|finished| finished.durations.waiting).collect();
    assert_eq!(waited, [secs(60), secs(119), secs(30), secs(120)]);
    assert!(world.engine.questions().is_empty());
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn each_question_has_its_own_two_minutes_outside_the_call_deadline_e1() {
    let both = SpecDocument {
        timeout_ms: Some(10_000),
        ..document_with_permissions("scan", &["files.read", "files.write"])
    };
    let world = EngineHarness::new(vec![tool(both, |_, cx| async move {
        let first = cx.remaining();
        sleep(secs(4)).await;
        Ok(ToolOutput::text(format!("{} {}", first.as_secs(), cx.remaining().as_secs())))
    })]);
    world.set_policy(
        r#"{"permissions":{"default":"ask"},"approval":{"rules":[{"mode":"always","caller_may_answer":true}]}}"#,
    );
    let _watching = world.engine.questions().watch();
    // Less time than persons will take.
    let running = world.start(CallRequest { timeout: Some(secs(5)), ..call("scan", "{}") });
    let mut kinds = Vec::new();
    for _ in 0..3 {
        let question = world.open_question().await;
        kinds.push((question.kind.clone(), question.asked_ms, question.expires_ms - question.asked_ms));
        sleep(secs(119)).await;
        world.answer_question(ConsentDecision::Granted, ConsentScope::Once).await;
    }
    let finished = running.await.unwrap();
    assert_eq!(success_text(&finished), "5 1", "the whole of its own time is left");
    let expected =
        CallDurations { total: secs(3 * 119 + 4), waiting: secs(3 * 119), queued: secs(0), running: secs(4) };
    assert_eq!(finished.durations, expected);
    assert_eq!(world.recorder.single_record().durations, expected);
    assert_eq!(
        kinds,
        [
            (QuestionKind::Permission("files.read".into()), START_MS, 120_000),
            (QuestionKind::Permission("files.write".into()), START_MS, 120_000),
            (QuestionKind::Approval, START_MS, 120_000)
        ],
        "one after the other, permissions first"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_question_ends_the_call_after_two_minutes_e1() {
    let world = EngineHarness::new(vec![file_writing_tool("write")]);
    world.set_policy(ASK_FOR_FILES);
    let _watching = world.engine.questions().watch();
    let finished =
        world.engine.call(CallRequest { timeout: Some(secs(1)), ..call_of(client("c"), "write") }).await;
    let unanswered = expect_error(&finished);
    assert_eq!(
        (unanswered.code, unanswered.kind()),
        (Code::ApprovalUnavailable, ErrorKind::PermissionDenied)
    );
    assert_eq!(
        unanswered.message,
        "The permission files.write needs a person's approval, and nobody answered within 120 s"
    );
    assert!(!unanswered.dispatched && !unanswered.retryable);
    assert_eq!(
        finished.durations,
        CallDurations { total: secs(120), waiting: secs(120), ..CallDurations::default() }
    );
    assert_eq!(world.recorder.single_record().attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_responder_the_call_ends_at_once_with_a_hint() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), answering_tool("scan", "x")]);
    world.set_policy(ASK_FOR_FILES);
    let finished = world.engine.call(call_of(client("token-7"), "write")).await;
    let refused = expect_error(&finished);
    assert_eq!((refused.code, refused.kind()), (Code::ApprovalUnavailable, ErrorKind::PermissionDenied));
    assert_eq!(
        refused.message,
        "The permission files.write needs a person's approval, and nobody is available to answer"
    );
    let hint = refused.hint.as_deref().unwrap();
    assert!(
        hint.contains("`toolway grants add phone/write --for token-7 --permission files.write`"),
        "{hint}"
    );
    assert_eq!(finished.durations.total, secs(0));

    world.set_policy(APPROVE_ALL);
    let finished = world.engine.call(call_of(client("token-7"), "scan")).await;
    let refused = expect_error(&finished);
    assert_eq!(
        refused.message,
        "The call of phone/scan needs a person's approval, and nobody is available to answer"
    );
    let hint = refused.hint.as_deref().unwrap();
    assert!(hint.contains("`toolway grants add phone/scan --for token-7`"), "{hint}");
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn denied_and_permanently_denied_have_different_codes_e2() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), answering_tool("scan", "x")]);
    let by_rule = |state: &str| {
        format!(r#"{{"permissions":{{"rules":[{{"permission":"files.write","state":"{state}"}}]}}}}"#)
    };
    world.set_policy(&by_rule("denied"));
    let finished = world.run("write", "{}").await;
    let denied = expect_error(&finished);
    assert_eq!((denied.code, denied.kind()), (Code::Denied, ErrorKind::PermissionDenied));
    assert_eq!(denied.message, "Permission files.write was denied by the user");
    assert_eq!((&denied.hint, denied.dispatched, denied.retryable), (&None, false, false));

    world.set_policy(&by_rule("denied_always"));
    let finished = world.run("write", "{}").await;
    let for_good = expect_error(&finished);
    assert_eq!((for_good.code, for_good.kind()), (Code::DeniedAlways, ErrorKind::PermissionDenied));
    assert_eq!(
        for_good.message,
        "Permission files.write was denied by the user permanently; do not ask again"
    );
    assert_eq!(for_good.hint.as_deref(), Some("Change the setting permissions.rules to allow it"));

    world.set_policy(&by_rule("ask"));
    let _watching = world.engine.questions().watch();
    let running = world.start(call("write", "{}"));
    world.answer_question(ConsentDecision::Denied, ConsentScope::Once).await;
    let finished = running.await.unwrap();
    assert_eq!(expect_error(&finished).message, "Permission files.write was denied by the user");
    let running = world.start(call("write", "{}"));
    world.answer_question(ConsentDecision::DeniedAlways, ConsentScope::Once).await;
    let finished = running.await.unwrap();
    assert_eq!(expect_error(&finished).message, for_good.message);
    assert_eq!(
        expect_error(&finished).hint.as_deref(),
        Some("The owner can revoke this with `toolway grants revoke`")
    );
    let grant = world.engine.grants().list()[0].id;
    let finished = world.run("write", "{}").await;
    assert_eq!(
        (expect_error(&finished).code, &expect_error(&finished).message),
        (Code::DeniedAlways, &for_good.message)
    );
    assert_eq!(
        expect_error(&finished).hint.as_deref(),
        Some(format!("To revoke the denial, run `toolway grants revoke {grant}`").as_str())
    );
    assert_eq!(finished.durations.waiting, secs(0), "nobody is asked again");

    world.set_policy(APPROVE_ALL);
    for (choice, code, message) in [
        (ConsentDecision::Denied, Code::Denied, "The call of phone/scan was denied by the user"),
        (
            ConsentDecision::DeniedAlways,
            Code::DeniedAlways,
            "The call of phone/scan was denied by the user permanently",
        ),
    ] {
        let running = world.start(call("scan", "{}"));
        world.answer_question(choice, ConsentScope::Once).await;
        let finished = running.await.unwrap();
        assert_eq!((expect_error(&finished).code, expect_error(&finished).message.as_str()), (code, message));
    }
    assert_code(&world.run("scan", "{}").await, Code::DeniedAlways);
}

/// Later calls of `write` that ask again, for each scope.
#[tokio::test(start_paused = true)]
async fn an_approval_applies_only_to_its_tool_and_scope_e8() {
    let later = [
        ("the same", chat_caller("a", "cook", "s1")),
        ("another session", chat_caller("a", "cook", "s2")),
        ("another agent", chat_caller("a", "gardener", "s3")),
        ("another principal, same agent", chat_caller("b", "cook", "s4")),
        ("another principal, same session", chat_caller("b", "gardener", "s1")),
    ];
    for (scope, runs) in [
        (ConsentScope::Once, [false, false, false, false, false]),
        (ConsentScope::Session, [true, false, false, false, false]),
        (ConsentScope::Agent, [true, true, false, true, false]),
        (ConsentScope::Always, [true, true, true, false, false]),
    ] {
        for (rules, name) in [(ASK_FOR_FILES, "write"), (APPROVE_ALL, "scan")] {
            let world = EngineHarness::new(vec![
                file_writing_tool("write"),
                answering_tool("scan", "x"),
                file_writing_tool("write_too"),
            ]);
            world.set_policy(rules);
            let watching = world.engine.questions().watch();
            let running = world.start(call_of(chat_caller("a", "cook", "s1"), name));
            world.answer_question(ConsentDecision::Granted, scope).await;
            assert!(running.await.unwrap().outcome.is_success());
            drop(watching);
            for ((who, caller), runs) in later.iter().zip(runs) {
                let finished = world.engine.call(call_of(caller.clone(), name)).await;
                assert_eq!(finished.outcome.is_success(), runs, "{scope:?} {name}: {who}");
                let record = &world.recorder.records_of(finished.id)[0];
                let approved = record.notes.as_ref().and_then(|notes| notes.approved_by.clone());
                let grant = runs.then(|| format!("grant:{}", world.engine.grants().list()[0].id).into());
                assert_eq!(approved, grant);
            }
            let other = world.engine.call(call_of(chat_caller("a", "cook", "s1"), "write_too")).await;
            assert_code(&other, Code::ApprovalUnavailable);
            // After a revocation the next call asks again.
            for grant in world.engine.grants().list() {
                assert!(world.engine.grants().revoke(grant.id).await.unwrap());
            }
            let finished = world.engine.call(call_of(chat_caller("a", "cook", "s1"), name)).await;
            assert_code(&finished, Code::ApprovalUnavailable);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_only_tool_of_a_trusted_source_runs_without_a_question_e8() {
    let reads = |name: &str| {
        tool(annotated_document(name, r#"{"readOnlyHint":true}"#), |_, _| {
            std::future::ready(Ok(ToolOutput::text("read")))
        })
    };
    let world = EngineHarness::new(vec![reads("look"), answering_tool("scan", "x")]);
    let own = world.registry.lease("own".parse().unwrap(), crate::SourceRetention::Names);
    own.replace(vec![reads("peek"), answering_tool("poke", "x")]);
    let writes = |trusted: &str| {
        format!(r#"{{"policy":{{"trusted_sources":[{trusted}]}},"approval":{{"default":"writes"}}}}"#)
    };
    world.set_policy(&writes(r#""builtin","own""#));
    assert_eq!(success_text(&world.run("peek", "{}").await), "read");
    for name in ["look", "scan", "poke"] {
        assert_code(&world.run(name, "{}").await, Code::ApprovalUnavailable);
    }
    world.set_policy(&writes(r#""phone""#));
    assert_eq!(success_text(&world.run("look", "{}").await), "read");
    for name in ["peek", "scan", "poke"] {
        assert_code(&world.run(name, "{}").await, Code::ApprovalUnavailable);
    }
}

/// Consent to a permission and approval of a call are independent.
#[tokio::test(start_paused = true)]
async fn a_permission_and_an_approval_are_independent() {
    let world = EngineHarness::new(vec![file_writing_tool("write")]);
    world.set_policy(
        r#"{"permissions":{"rules":[{"permission":"files.*","state":"ask"}]},"approval":{"default":"always"}}"#,
    );
    let _watching = world.engine.questions().watch();
    let running = world.start(call("write", "{}"));
    assert_eq!(
        world.answer_question(ConsentDecision::Granted, ConsentScope::Always).await.kind,
        QuestionKind::Permission("files.write".into())
    );
    assert_eq!(
        world.answer_question(ConsentDecision::Granted, ConsentScope::Once).await.kind,
        QuestionKind::Approval
    );
    let finished = running.await.unwrap();
    assert_eq!(success_text(&finished), "written");
    let notes = world.recorder.records_of(finished.id)[0].notes.clone().unwrap();
    assert_eq!(notes.approved_by.as_deref(), Some("owner"));

    // A granted permission needs no answer; the approval is still required.
    let running = world.start(call("write", "{}"));
    assert_eq!(
        world.answer_question(ConsentDecision::Granted, ConsentScope::Always).await.kind,
        QuestionKind::Approval
    );
    assert_eq!(success_text(&running.await.unwrap()), "written");
    let finished = world.run("write", "{}").await;
    let notes = world.recorder.records_of(finished.id)[0].notes.clone().unwrap();
    let grants = world.engine.grants().list();
    assert_eq!(
        grants.iter().map(|grant| grant.permission.as_deref()).collect::<Vec<_>>(),
        [Some("files.write"), None]
    );
    assert_eq!(notes.approved_by.as_deref(), Some(format!("grant:{}", grants[1].id).as_str()));
}

/// Pitfall E9: approval fields in a call have no effect. A person is still asked, and never the caller.
#[tokio::test(start_paused = true)]
async fn no_field_of_a_call_approves_it_e9() {
    let world = EngineHarness::new(vec![file_writing_tool("write")]);
    let both = r#"{"permissions":{"rules":[{"permission":"files.*","state":"ask"}]},"approval":{"default":"always"}}"#;
    let claims = r#"{"approved":true,"approval":"never","approved_by":"owner","permission":"granted","decision":"granted",
        "scope":"always","grant":"*","_meta":{"approved":true},"role":"owner","caller_may_answer":true}"#;
    // All fields are listed, so that a new field must be considered here.
    let plain = call_of(client("c"), "write");
    let CallRequest {
        id: _,
        name,
        arguments: _,
        caller,
        timeout: _,
        idempotency_key: _,
        progress: _,
        questions: _,
        question_observer: _,
        extension: _,
        cancel: _,
    } = plain;
    let Caller { principal, via: _, agent: _, session: _, turn: _, registration: _, time_zone: _ } = caller;
    let (sink, told) = sink();
    let with_everything = || CallRequest {
        id: toolway_types::CallId::new(),
        name: name.clone(),
        arguments: RawArguments::Json(raw(claims)),
        caller: Caller {
            principal: principal.clone(),
            via: crate::EntryPoint::Local,
            agent: Some("owner".into()),
            session: Some("owner".into()),
            turn: Some("approved".into()),
            registration: Some(crate::CallerRegistration {
                source: "phone".parse().unwrap(),
                lease: world.phone.id(),
            }),
            time_zone: Some("granted".into()),
        },
        timeout: Some(secs(1000)),
        idempotency_key: None,
        progress: Some(Arc::new(|_| {})),
        questions: Some(sink.clone()),
        question_observer: Some(sink.clone()),
        extension: Some(Arc::new(claims.to_owned())),
        cancel: Some(CancellationToken::new()),
    };
    world.set_policy(APPROVE_ALL);
    assert_code(&world.engine.call(with_everything()).await, Code::ApprovalUnavailable);
    assert!(told.lock().is_empty(), "what only the owner may answer is not even shown");

    // The client may answer for its own permission, but that approves no call.
    world.set_policy(both);
    let running = world.start(with_everything());
    let question = world.open_question().await;
    assert!(question.caller_may_answer);
    let answer = |scope| {
        world.engine.questions().answer(question.id, &principal, ConsentDecision::Granted, scope).map(|_| ())
    };
    assert_eq!(answer(ConsentScope::Always), Err(AnswerError::ScopeTooWide));
    assert_eq!(answer(ConsentScope::Agent), Err(AnswerError::ScopeTooWide));
    assert_eq!(answer(ConsentScope::Session), Ok(()));
    assert_code(&running.await.unwrap(), Code::ApprovalUnavailable);

    // While an owner watches, the client cannot answer in its place.
    let _watching = world.engine.questions().watch();
    let running = world.start(with_everything());
    let question = world.open_question().await;
    assert_eq!(question.kind, QuestionKind::Approval);
    for scope in [ConsentScope::Once, ConsentScope::Session] {
        let refused =
            world.engine.questions().answer(question.id, &principal, ConsentDecision::Granted, scope);
        assert_eq!(refused.unwrap_err(), AnswerError::OnlyOwner);
    }
    world.answer_question(ConsentDecision::Denied, ConsentScope::Once).await;
    assert_code(&running.await.unwrap(), Code::Denied);
}

#[tokio::test(start_paused = true)]
async fn the_caller_is_asked_on_its_own_connection() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), answering_tool("scan", "x")]);
    world.set_policy(ASK_FOR_FILES);
    let (asked, told) = sink();
    let running = world
        .start(CallRequest { questions: Some(asked), ..call_of(chat_caller("c", "cook", "s1"), "write") });
    let question = world.open_question().await;
    assert_eq!(world.engine.questions().visible_to(&principal("c", Role::Client)).len(), 1);
    for stranger in
        [principal("x", Role::Client), principal("x", Role::Companion), principal("c", Role::Device)]
    {
        assert!(world.engine.questions().visible_to(&stranger).is_empty());
        let refused = world.engine.questions().answer(
            question.id,
            &stranger,
            ConsentDecision::Granted,
            ConsentScope::Once,
        );
        assert_eq!(refused.unwrap_err(), AnswerError::NotOpen);
    }
    sleep(secs(7)).await;
    let me = principal("c", Role::Client);
    world
        .engine
        .questions()
        .answer(question.id, &me, ConsentDecision::Granted, ConsentScope::Session)
        .unwrap();
    let finished = running.await.unwrap();
    assert_eq!((success_text(&finished).as_str(), finished.durations.waiting), ("written", secs(7)));
    let notes = world.recorder.single_record().notes.unwrap();
    assert_eq!(notes.approved_by.as_deref(), Some("c"));
    let told: Vec<_> = told.lock().drain(..).map(|event| matches!(event, QuestionEvent::Asked(_))).collect();
    assert_eq!(told, [true, false], "asked, and over");

    // An approval only if the rule allows callers to answer.
    world.set_policy(APPROVE_ALL);
    assert_code(&world.engine.call(call_with_sink(client("c"), "scan")).await, Code::ApprovalUnavailable);
    world.set_policy(APPROVE_ALL_OPENED);
    let running = world.start(call_with_sink(client("c"), "scan"));
    let question = world.open_question().await;
    world.engine.questions().answer(question.id, &me, ConsentDecision::Granted, ConsentScope::Once).unwrap();
    assert_eq!(success_text(&running.await.unwrap()), "x");
    let running = world.start(call_with_sink(client("c"), "scan"));
    let question = world.open_question().await;
    let no_session =
        world.engine.questions().answer(question.id, &me, ConsentDecision::Granted, ConsentScope::Session);
    assert_eq!(no_session.unwrap_err(), AnswerError::NoSession);
    running.abort();
}

/// As in the terminal of `toolway tools call`: the owner calls and is asked there.
#[tokio::test(start_paused = true)]
async fn an_owner_is_asked_on_its_own_connection_even_for_owner_questions() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x")]);
    world.set_policy(APPROVE_ALL);
    assert_code(&world.run("scan", "{}").await, Code::ApprovalUnavailable);
    let (asked, told) = sink();
    let running = world.start(CallRequest { questions: Some(asked), ..call("scan", "{}") });
    world.answer_question(ConsentDecision::Granted, ConsentScope::Once).await;
    assert_eq!(success_text(&running.await.unwrap()), "x");
    assert_eq!(told.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_question_describes_the_call() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), answering_tool("scan", "x")]);
    world.set_policy(
        r#"{"policy":{"rules":[{"name":"careful","when":{"tools":["*/scan"]},"effect":"ask"},
            {"when":{"tools":["*/nothing"]},"effect":"deny"}]},
        "permissions":{"default":"ask"}}"#,
    );
    let _watching = world.engine.questions().watch();
    let call = CallRequest {
        arguments: RawArguments::Json(raw(r#"{"to":"x","password":"hunter2"}"#)),
        ..call_of(chat_caller("c", "cook", "s1"), "write")
    };
    let id = call.id;
    let running = world.start(call);
    let question = world.open_question().await;
    assert_eq!((question.call, question.tool.to_string().as_str()), (id, "phone/write"));
    assert_eq!(
        (&*question.principal.0, question.agent.as_deref(), question.session.as_deref()),
        ("c", Some("cook"), Some("s1"))
    );
    assert_eq!(question.reason, "phone/write needs the permission files.write");
    assert_eq!(question.arguments.get(), r#"{"password":"[redacted]","to":"x"}"#);
    assert_eq!((question.asked_ms, question.expires_ms), (START_MS, START_MS + 120_000));
    running.abort();

    let long = format!(r#"{{"text":"{}"}}"#, "é".repeat(2000));
    let running = world
        .start(CallRequest { arguments: RawArguments::Json(raw(&long)), ..call_of(client("c"), "scan") });
    let question = world.open_question().await;
    assert_eq!(question.reason, r#"the rule "careful" asks before phone/scan runs"#);
    assert!(!question.caller_may_answer);
    let shown: String = question.arguments.to().unwrap();
    let kept = r#"{"text":""#.len() + (2048 - r#"{"text":""#.len()) / 2 * 2;
    assert_eq!(shown, format!("{}… ({} bytes more)", &long[..kept], long.len() - kept));
    running.abort();

    world.set_policy(APPROVE_ALL);
    let running = world.start(call_of(client("c"), "scan"));
    assert_eq!(world.open_question().await.reason, "calls of phone/scan wait for approval");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_question_is_withdrawn_when_its_call_ends() {
    let world = EngineHarness::new(vec![file_writing_tool("write")]);
    world.set_policy(ASK_FOR_FILES);
    let mut watching = world.engine.questions().watch();
    let closed = |event: QuestionEvent| match event {
        QuestionEvent::Closed(_, closed) => Some(closed),
        QuestionEvent::Asked(_) => None,
    };
    let mut last = || {
        let mut last = None;
        while let Ok(event) = watching.events.try_recv() {
            last = closed(event);
        }
        last
    };

    let cancel = CancellationToken::new();
    let running = world.start(CallRequest { cancel: Some(cancel.clone()), ..call("write", "{}") });
    sleep(secs(3)).await;
    cancel.cancel();
    let finished = running.await.unwrap();
    assert_code(&finished, Code::Cancelled);
    assert!(!expect_error(&finished).dispatched);
    assert_eq!(
        finished.durations,
        CallDurations { total: secs(3), waiting: secs(3), ..CallDurations::default() }
    );
    assert_eq!(last(), Some(crate::consent::QuestionCloseReason::Withdrawn));

    let running = world.start(call("write", "{}"));
    sleep(secs(4)).await;
    running.abort();
    yield_to_tasks().await;
    let record = world.recorder.closed().pop().unwrap();
    assert_eq!(record.outcome.error().unwrap().message, "The caller went away");
    assert_eq!((record.durations.waiting, record.attempts), (secs(4), 0));
    assert_eq!(last(), Some(crate::consent::QuestionCloseReason::Withdrawn));

    let running = world.start(call("write", "{}"));
    yield_to_tasks().await;
    world.engine.shut_down(secs(2)).await;
    let finished = running.await.unwrap();
    assert_code(&finished, Code::ShuttingDown);
    assert_eq!((finished.durations.waiting, expect_error(&finished).dispatched), (secs(2), false));
    assert_eq!(last(), Some(crate::consent::QuestionCloseReason::Withdrawn));
    assert!(world.engine.questions().is_empty());
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn an_answer_while_the_gateway_waits_for_its_calls_still_counts() {
    let world = EngineHarness::new(vec![file_writing_tool("write")]);
    world.set_policy(ASK_FOR_FILES);
    let _watching = world.engine.questions().watch();
    let running = world.start(call("write", "{}"));
    yield_to_tasks().await;
    let engine = world.engine.clone();
    let down = tokio::spawn(async move { engine.shut_down(secs(10)).await });
    sleep(secs(3)).await;
    world.answer_question(ConsentDecision::Granted, ConsentScope::Once).await;
    assert_eq!(success_text(&running.await.unwrap()), "written");
    down.await.unwrap();
}

/// The phases of a call: a person before it, the queue, the tool, a person during the run.
#[tokio::test(start_paused = true)]
async fn waiting_queueing_and_running_are_measured_separately() {
    let unlock = SpecDocument { permissions: vec!["lock.open".to_owned()], ..sequential_document("unlock") };
    let world = EngineHarness::new(vec![
        tool(unlock, |_, cx| async move {
            sleep(secs(2)).await;
            cx.pause_for_person();
            sleep(secs(11)).await;
            cx.resume();
            sleep(secs(3)).await;
            Ok(ToolOutput::text("open"))
        }),
        slow_tool(sequential_document("jam"), secs(25)),
    ]);
    world.set_policy(r#"{"permissions":{"default":"ask"}}"#);
    let _watching = world.engine.questions().watch();
    let running = world.start(call("unlock", "{}"));
    sleep(secs(50)).await;
    let jam = world.start(call("jam", "{}"));
    yield_to_tasks().await;
    sleep(secs(7)).await;
    world.answer_question(ConsentDecision::Granted, ConsentScope::Once).await;
    let finished = running.await.unwrap();
    assert_eq!(success_text(&finished), "open");
    let expected = CallDurations {
        total: secs(57 + 18 + 16),
        waiting: secs(57 + 11),
        queued: secs(18),
        running: secs(5),
    };
    assert_eq!(finished.durations, expected);
    assert_eq!(world.recorder.records_of(finished.id)[0].durations, expected);
    assert_eq!(jam.await.unwrap().durations.total, secs(25));
}

#[tokio::test(start_paused = true)]
async fn a_changed_tool_waits_for_the_owner_if_configured() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x"), answering_tool("ring", "rang")]);
    let scan = "phone/scan".parse().unwrap();
    world.engine.changed_tools().set(&scan, true);
    assert_eq!(success_text(&world.run("scan", "{}").await), "x", "marked, and no more");
    world.set_policy(r#"{"policy":{"changed_tools":"ask"}}"#);
    assert_eq!(success_text(&world.run("ring", "{}").await), "rang");
    assert_code(&world.run("scan", "{}").await, Code::ApprovalUnavailable);
    // Earlier answers do not count, and the caller is not asked.
    world.engine.grants().add(always(None)).await.unwrap();
    assert_code(&world.engine.call(call_with_sink(client("c"), "scan")).await, Code::ApprovalUnavailable);

    let _watching = world.engine.questions().watch();
    for (choice, scope, code) in [
        (ConsentDecision::Denied, ConsentScope::Always, Some(Code::Denied)),
        (ConsentDecision::DeniedAlways, ConsentScope::Always, Some(Code::Denied)),
        (ConsentDecision::Granted, ConsentScope::Once, None),
        (ConsentDecision::Granted, ConsentScope::Always, None),
    ] {
        let running = world.start(call("scan", "{}"));
        let question = world.answer_question(choice, scope).await;
        assert_eq!((&question.kind, question.kind.as_str()), (&QuestionKind::ChangedTool, "approval"));
        assert_eq!(question.reason, "phone/scan has changed since it was last accepted");
        let finished = running.await.unwrap();
        assert_eq!(finished.outcome.error().map(|error| error.code), code, "{choice:?} {scope:?}");
        assert!(world.engine.changed_tools().contains(&scan), "that is for whoever compares specs to say");
    }
    assert_eq!(world.engine.grants().list().len(), 1, "nothing of that is kept as a grant");
    world.engine.changed_tools().set(&scan, false);
    assert_eq!(success_text(&world.run("scan", "{}").await), "x");
}

/// A grant for all tools, or for a permission of all tools.
fn always(permission: Option<&str>) -> Grant {
    Grant {
        id: GrantId::new(),
        permission: permission.map(Into::into),
        tool: "*".into(),
        subject: GrantSubject::Anyone,
        verdict: GrantVerdict::Granted,
        created_ms: START_MS,
        created_by: "owner".into(),
        expires_ms: Some(START_MS + 1000),
    }
}

#[tokio::test(start_paused = true)]
async fn an_earlier_grant_needs_no_question_until_it_expires() {
    let world = EngineHarness::new(vec![file_writing_tool("write")]);
    world.set_policy(ASK_FOR_FILES);
    let grant = always(Some("files.write"));
    world.engine.grants().add(grant.clone()).await.unwrap();
    let finished = world.engine.call(call_of(client("c"), "write")).await;
    assert_eq!(success_text(&finished), "written");
    let notes = world.recorder.single_record().notes.unwrap();
    assert_eq!(notes.approved_by.as_deref(), Some(format!("grant:{}", grant.id).as_str()));
    world.clock.advance(secs(1));
    assert_code(&world.engine.call(call_of(client("c"), "write")).await, Code::ApprovalUnavailable);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_denies_is_not_overruled_by_a_grant() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), answering_tool("scan", "x")]);
    world.engine.grants().add(always(Some("files.write"))).await.unwrap();
    world.engine.grants().add(always(None)).await.unwrap();
    world.set_policy(
        r#"{"policy":{"rules":[{"when":{"tools":["*/scan"]},"effect":"deny"}]},
        "permissions":{"default":"denied"}}"#,
    );
    assert_code(&world.run("scan", "{}").await, Code::ToolNotAvailable);
    assert_code(&world.run("write", "{}").await, Code::Denied);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_denial_applies_even_without_a_question() {
    let world = EngineHarness::new(vec![file_writing_tool("write"), answering_tool("scan", "x")]);
    assert_eq!(success_text(&world.run("scan", "{}").await), "x");
    let no = Grant { verdict: GrantVerdict::DeniedAlways, ..always(None) };
    world.engine.grants().add(no.clone()).await.unwrap();
    let refused = world.run("scan", "{}").await;
    assert_code(&refused, Code::DeniedAlways);
    let hint = format!("To revoke the denial, run `toolway grants revoke {}`", no.id);
    assert_eq!(expect_error(&refused).hint.as_deref(), Some(hint.as_str()));
    assert!(world.engine.grants().revoke(no.id).await.unwrap());
    assert_eq!(success_text(&world.run("scan", "{}").await), "x");

    let no_files = Grant { verdict: GrantVerdict::DeniedAlways, ..always(Some("files.write")) };
    world.engine.grants().add(no_files).await.unwrap();
    assert_code(&world.run("write", "{}").await, Code::DeniedAlways);
    assert_eq!(success_text(&world.run("scan", "{}").await), "x");
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_for_persons_is_configurable() {
    let settings = EngineSettings { person_timeout: millis(1500), ..EngineSettings::default() };
    let world = EngineHarness::with_settings(settings, vec![file_writing_tool("write")]);
    world.set_policy(ASK_FOR_FILES);
    let _watching = world.engine.questions().watch();
    let started = Instant::now();
    let finished = world.run("write", "{}").await;
    assert_eq!(started.elapsed(), millis(1500));
    assert!(
        expect_error(&finished).message.ends_with("nobody answered within 1500 ms"),
        "{}",
        expect_error(&finished).message
    );
}

/// Calls that wait for persons block no other call, and do not hold the barrier of their source.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_blocks_no_other() {
    let print = SpecDocument { permissions: vec!["files.write".to_owned()], ..sequential_document("print") };
    let world = EngineHarness::new(vec![endless_tool(print), answering_tool("scan", "x")]);
    world.set_policy(ASK_FOR_FILES);
    let _watching = world.engine.questions().watch();
    let waiting = world.start(call("print", "{}"));
    yield_to_tasks().await;
    let finished = world.run("scan", "{}").await;
    assert_eq!((success_text(&finished).as_str(), finished.durations.total), ("x", secs(0)));
    assert_eq!(world.engine.in_flight(), 1);
    waiting.abort();
}
