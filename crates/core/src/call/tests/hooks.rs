//! Tests of hooks around a call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolway_types::{Code, ContentPart, ErrorKind, Outcome, Role, SpecDocument, ToolError, ToolOutput};

use crate::consent::{ConsentDecision, ConsentScope};
use crate::testkit::{
    EngineHarness, answering_tool, assert_code, call, call_of, chat_caller, document,
    document_with_parameters, endless_tool, expect_error, raw, secs, success_text, tool, yield_to_tasks,
};
use crate::{
    AfterCallDecision, BeforeCallDecision, CallRequest, EngineSettings, EntryPoint, GlobPatterns, Hook,
    HookCall, HookEntry, HookError, HookErrorAction, RawArguments,
};

/// Behavior of a test hook.
#[derive(Clone)]
enum HookBehavior<T> {
    Answer(T),
    AnswerAfter(Duration, T),
    Fail(&'static str),
    Panic,
    Hang,
}

async fn perform<T>(what: HookBehavior<T>) -> Result<T, HookError> {
    match what {
        HookBehavior::Answer(answer) => Ok(answer),
        HookBehavior::AnswerAfter(time, answer) => {
            sleep(time).await;
            Ok(answer)
        }
        HookBehavior::Fail(why) => Err(HookError(why.to_owned())),
        HookBehavior::Panic => panic!("a bug in the hook"),
        HookBehavior::Hang => std::future::pending().await,
    }
}

type HookLog = Arc<Mutex<Vec<String>>>;

/// A hook that logs its calls and behaves as configured.
struct LoggingHook {
    name: &'static str,
    log: HookLog,
    before: HookBehavior<BeforeCallDecision>,
    after: HookBehavior<AfterCallDecision>,
}

#[async_trait]
impl Hook for LoggingHook {
    async fn before_call(&self, call: &HookCall) -> Result<BeforeCallDecision, HookError> {
        self.log.lock().push(format!("{} before {}", self.name, call.arguments.raw().get()));
        perform(self.before.clone()).await
    }

    async fn after_call(&self, call: &HookCall, outcome: &Outcome) -> Result<AfterCallDecision, HookError> {
        let outcome = match outcome {
            Outcome::Success(output) => output.joined_text(),
            Outcome::Error(error) => error.code.to_string(),
        };
        self.log.lock().push(format!("{} after {}: {outcome}", self.name, call.arguments.raw().get()));
        perform(self.after.clone()).await
    }
}

fn entry(hook: impl Hook, name: &str) -> HookEntry {
    HookEntry {
        name: name.into(),
        hook: Arc::new(hook),
        tools: GlobPatterns::new(["*"]).unwrap(),
        runs_before: true,
        runs_after: true,
        timeout: secs(5),
        on_error: HookErrorAction::FailClosed,
    }
}

fn logging_hook(
    log: &HookLog,
    name: &'static str,
    before: HookBehavior<BeforeCallDecision>,
    after: HookBehavior<AfterCallDecision>,
) -> HookEntry {
    entry(LoggingHook { name, log: log.clone(), before, after }, name)
}

fn passive_hook(log: &HookLog, name: &'static str) -> HookEntry {
    logging_hook(
        log,
        name,
        HookBehavior::Answer(BeforeCallDecision::Continue),
        HookBehavior::Answer(AfterCallDecision::Keep),
    )
}

fn modify(arguments: &str) -> HookBehavior<BeforeCallDecision> {
    HookBehavior::Answer(BeforeCallDecision::Modify(RawArguments::Json(raw(arguments))))
}

fn replace(with: &str) -> HookBehavior<AfterCallDecision> {
    HookBehavior::Answer(AfterCallDecision::Replace(ToolOutput::text(with)))
}

/// A tool that returns its arguments.
fn echo(document: SpecDocument) -> Arc<dyn crate::Tool> {
    tool(document, |arguments, _| std::future::ready(Ok(ToolOutput::text(arguments.raw().get()))))
}

/// Result of a call of `echo` with `{"n":1}` and one hook.
async fn call_with_hook(entry: HookEntry) -> (EngineHarness, crate::FinishedCall) {
    let world = EngineHarness::new(vec![echo(document_with_parameters(
        "echo",
        r#"{"properties":{"n":{"type":"integer"}}}"#,
    ))]);
    world.engine.set_hooks(vec![entry]);
    let finished = world.run("echo", r#"{"n":1}"#).await;
    world.recorder.assert_each_closed_once();
    (world, finished)
}

fn recorded_hooks(world: &EngineHarness) -> Vec<String> {
    let record = world.recorder.single_record();
    record.notes.map(|notes| notes.hooks.iter().map(ToString::to_string).collect()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn hooks_run_in_order_and_see_earlier_changes() {
    let log = HookLog::default();
    let world = EngineHarness::new(vec![echo(document("echo"))]);
    world.engine.set_hooks(vec![
        passive_hook(&log, "first"),
        logging_hook(&log, "second", modify(r#"{"n":2}"#), replace("second's")),
        passive_hook(&log, "third"),
        logging_hook(&log, "fourth", modify(r#"{"n":3}"#), replace("fourth's")),
    ]);
    let finished = world.run("echo", r#"{"n":1}"#).await;
    assert_eq!(success_text(&finished), "fourth's");
    assert_eq!(
        *log.lock(),
        [
            r#"first before {"n":1}"#,
            r#"second before {"n":1}"#,
            r#"third before {"n":2}"#,
            r#"fourth before {"n":2}"#,
            r#"first after {"n":3}: {"n":3}"#,
            r#"second after {"n":3}: {"n":3}"#,
            r#"third after {"n":3}: second's"#,
            r#"fourth after {"n":3}: second's"#,
        ]
    );
    assert_eq!(recorded_hooks(&world), ["second", "fourth"], "those that did something");
    let record = world.recorder.single_record();
    assert_eq!(record.opened.arguments.as_ref().unwrap().get(), r#"{"n":1}"#);
    assert_eq!(record.notes.unwrap().ran_with.unwrap().get(), r#"{"n":3}"#);
    assert_eq!(record.outcome, finished.outcome);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_changes_nothing_is_not_recorded() {
    let log = HookLog::default();
    let (world, finished) = call_with_hook(passive_hook(&log, "first")).await;
    assert_eq!(success_text(&finished), r#"{"n":1}"#);
    assert_eq!(world.recorder.single_record().notes, None);
    assert_eq!(log.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn changed_arguments_are_validated_again() {
    let log = HookLog::default();
    for (changed, problem) in [
        (r#"{"n":"two"}"#, r#"/n: "two" is not of type "integer""#),
        ("[1]", "the arguments are an array; they must be a JSON object"),
    ] {
        let (world, finished) = call_with_hook(logging_hook(
            &log,
            "careless",
            modify(changed),
            HookBehavior::Answer(AfterCallDecision::Keep),
        ))
        .await;
        let refused = expect_error(&finished);
        assert_eq!((refused.code, refused.kind()), (Code::InvalidArguments, ErrorKind::ValidationError));
        assert_eq!(
            refused.message,
            format!("The hook \"careless\" changed the arguments: Invalid arguments: {problem}")
        );
        assert_eq!(refused.hint.as_deref(), Some("The owner must fix the hook"));
        assert!(!refused.dispatched);
        let record = world.recorder.single_record();
        assert_eq!(record.attempts, 0, "nothing invalid runs");
        assert_eq!(record.notes.unwrap().ran_with, None);
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_changed_by_hooks_are_recorded_masked() {
    let parameters = r#"{"properties":{"pin":{"writeOnly":true}}}"#;
    let world = EngineHarness::new(vec![echo(document_with_parameters("echo", parameters))]);
    let log = HookLog::default();
    let changed = r#"{"pin":"1234","password":"hunter2","n":1}"#;
    world.engine.set_hooks(vec![logging_hook(
        &log,
        "adds",
        modify(changed),
        HookBehavior::Answer(AfterCallDecision::Keep),
    )]);
    assert_eq!(success_text(&world.run("echo", "{}").await), changed, "the tool gets everything");
    let record = world.recorder.single_record();
    let ran_with = record.notes.unwrap().ran_with.unwrap();
    assert_eq!(ran_with.get(), r#"{"n":1,"password":"[redacted]","pin":"[redacted]"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_hook_can_cancel_and_later_hooks_do_not_run() {
    let log = HookLog::default();
    let world = EngineHarness::new(vec![echo(document("echo"))]);
    let stop = HookBehavior::Answer(BeforeCallDecision::Cancel { reason: "not on a Sunday".to_owned() });
    world.engine.set_hooks(vec![
        passive_hook(&log, "first"),
        logging_hook(&log, "stops", stop, HookBehavior::Answer(AfterCallDecision::Keep)),
        passive_hook(&log, "third"),
    ]);
    let finished = world.run("echo", "{}").await;
    let cancelled = expect_error(&finished);
    assert_eq!((cancelled.code, cancelled.kind()), (Code::HookCancelled, ErrorKind::ExecutionError));
    assert_eq!(cancelled.message, r#"The hook "stops" cancelled the call: not on a Sunday"#);
    assert!(!cancelled.dispatched && !cancelled.retryable);
    assert_eq!(
        *log.lock(),
        [
            "first before {}",
            "stops before {}",
            "first after {}: hook_cancelled",
            "stops after {}: hook_cancelled",
            "third after {}: hook_cancelled"
        ]
    );
    assert_eq!(world.recorder.single_record().attempts, 0);
    assert_eq!(recorded_hooks(&world), ["stops"]);
}

#[tokio::test(start_paused = true)]
async fn hooks_see_errors_and_may_replace_them() {
    let log = HookLog::default();
    let fails = tool(document("fails"), |_, _| {
        std::future::ready(Err(ToolError::new(Code::Network, "no route").with_dispatched(true)))
    });
    let panics = tool(document("panics"), |_, _| async { panic!("a bug") });
    let world = EngineHarness::new(vec![fails, panics, endless_tool(document("hangs"))]);
    world.engine.set_hooks(vec![passive_hook(&log, "sees")]);
    for (name, code) in [("fails", "network"), ("panics", "tool_panicked"), ("hangs", "timeout")] {
        let finished = world.run(name, "{}").await;
        assert_eq!(expect_error(&finished).code.as_str(), code);
        assert_eq!(log.lock().pop().unwrap(), format!("sees after {{}}: {code}"));
    }
    world.engine.set_hooks(vec![logging_hook(
        &log,
        "mends",
        HookBehavior::Answer(BeforeCallDecision::Continue),
        replace("from the cache"),
    )]);
    let finished = world.run("fails", "{}").await;
    assert_eq!(success_text(&finished), "from the cache");
    let record = &world.recorder.records_of(finished.id)[0];
    assert!(record.outcome.is_success());
    assert_eq!(record.notes.as_ref().unwrap().hooks, ["mends".into()]);
}

#[tokio::test(start_paused = true)]
async fn a_replaced_output_has_the_same_size_limit() {
    let settings = EngineSettings { output_bytes: 10, ..EngineSettings::default() };
    let world = EngineHarness::with_settings(
        settings,
        vec![answering_tool("scan", &"x".repeat(100)), answering_tool("ring", "x")],
    );
    let log = HookLog::default();
    world.engine.set_hooks(vec![logging_hook(
        &log,
        "shortens",
        HookBehavior::Answer(BeforeCallDecision::Continue),
        replace("short"),
    )]);
    assert_eq!(success_text(&world.run("scan", "{}").await), "short");
    world.engine.set_hooks(vec![logging_hook(
        &log,
        "lengthens",
        HookBehavior::Answer(BeforeCallDecision::Continue),
        replace(&"y".repeat(11)),
    )]);
    assert_code(&world.run("ring", "{}").await, Code::OutputTooLarge);
}

#[tokio::test(start_paused = true)]
async fn a_hook_can_replace_an_output_by_other_parts() {
    let picture = ContentPart::Image { data: "QUJD".to_owned(), mime_type: "image/png".to_owned() };
    let output = ToolOutput::new(vec![picture], Some(raw(r#"{"a":1}"#)));
    let log = HookLog::default();
    let after = HookBehavior::Answer(AfterCallDecision::Replace(output.clone()));
    let (_, finished) = call_with_hook(logging_hook(
        &log,
        "draws",
        HookBehavior::Answer(BeforeCallDecision::Continue),
        after,
    ))
    .await;
    assert_eq!(*finished.outcome, Outcome::Success(output));
}

#[tokio::test(start_paused = true)]
async fn an_output_keeps_its_original_until_a_hook_replaces_it() {
    let told = || ToolOutput { original: Some(raw(r#"{"x":1}"#)), ..ToolOutput::text("told") };
    let world = EngineHarness::new(vec![tool(document("tell"), move |_, _| std::future::ready(Ok(told())))]);
    let log = HookLog::default();
    let mut originals = Vec::new();
    for after in [AfterCallDecision::Keep, AfterCallDecision::Replace(told())] {
        let before = HookBehavior::Answer(BeforeCallDecision::Continue);
        world.engine.set_hooks(vec![logging_hook(&log, "looks", before, HookBehavior::Answer(after))]);
        let finished = world.run("tell", "{}").await;
        assert_eq!(success_text(&finished), "told");
        originals.push(finished.outcome.original_result().cloned());
    }
    assert_eq!(originals, [Some(raw(r#"{"x":1}"#)), None]);
}

/// Error of a failing hook, by the kind and stage of the failure, and the effect on the call.
#[tokio::test(start_paused = true)]
async fn a_failing_hook_lets_the_call_continue_or_ends_it_as_configured() {
    let log = HookLog::default();
    for (fault, words, takes) in
        [(0, "it broke", 0), (1, "it crashed", 0), (2, "it timed out after 5000 ms", 5)]
    {
        let before = [HookBehavior::Fail("it broke"), HookBehavior::Panic, HookBehavior::Hang][fault].clone();
        let after = [HookBehavior::Fail("it broke"), HookBehavior::Panic, HookBehavior::Hang][fault].clone();

        let open = HookEntry {
            on_error: HookErrorAction::FailOpen,
            ..logging_hook(&log, "weak", before.clone(), after.clone())
        };
        let (world, finished) = call_with_hook(open).await;
        assert_eq!(success_text(&finished), r#"{"n":1}"#);
        assert_eq!(finished.durations.total, secs(2 * takes));
        assert_eq!(recorded_hooks(&world), Vec::<String>::new());

        let closed = HookEntry {
            runs_after: false,
            ..logging_hook(&log, "strict", before, HookBehavior::Answer(AfterCallDecision::Keep))
        };
        let (world, finished) = call_with_hook(closed).await;
        let failed = expect_error(&finished);
        assert_eq!((failed.code, failed.dispatched), (Code::HookCancelled, false));
        assert_eq!(failed.message, format!("The hook \"strict\" failed: {words}"));
        assert_eq!(
            failed.hint.as_deref(),
            Some("The hook's setting on_failure is closed, so the call cannot continue")
        );
        assert_eq!(world.recorder.single_record().attempts, 0);
        assert_eq!(recorded_hooks(&world), ["strict"]);

        let closed = logging_hook(&log, "strict", HookBehavior::Answer(BeforeCallDecision::Continue), after);
        let (world, finished) = call_with_hook(closed).await;
        let failed = expect_error(&finished);
        assert_eq!((failed.code, failed.dispatched), (Code::HookCancelled, true), "the tool did run");
        assert_eq!(failed.message, format!("The hook \"strict\" failed: {words}"));
        assert_eq!(world.recorder.single_record().attempts, 1);
    }
}

/// A hook that panics before it returns a future.
struct PanickingHook;

impl Hook for PanickingHook {
    fn before_call<'a, 'b, 'c>(
        &'a self,
        _: &'b HookCall,
    ) -> Pin<Box<dyn Future<Output = Result<BeforeCallDecision, HookError>> + Send + 'c>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        panic!("not even started")
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_before_its_future_is_caught() {
    let (_, finished) = call_with_hook(entry(PanickingHook, "early")).await;
    assert_eq!(expect_error(&finished).message, r#"The hook "early" failed: it crashed"#);
    let open = HookEntry { on_error: HookErrorAction::FailOpen, ..entry(PanickingHook, "early") };
    assert_eq!(success_text(&call_with_hook(open).await.1), r#"{"n":1}"#);
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_hook_no_more_hooks_run() {
    let log = HookLog::default();
    let world = EngineHarness::new(vec![echo(document("echo"))]);
    world.engine.set_hooks(vec![
        logging_hook(
            &log,
            "fails",
            HookBehavior::Answer(BeforeCallDecision::Continue),
            HookBehavior::Fail("no"),
        ),
        passive_hook(&log, "later"),
    ]);
    assert_code(&world.run("echo", "{}").await, Code::HookCancelled);
    assert_eq!(*log.lock(), ["fails before {}", "later before {}", "fails after {}: {}"]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_runs_for_its_tools_at_its_stages() {
    let log = HookLog::default();
    let world = EngineHarness::new(vec![echo(document("echo")), answering_tool("ring", "rang")]);
    let only =
        |entry: HookEntry, tools: &str| HookEntry { tools: GlobPatterns::new([tools]).unwrap(), ..entry };
    world.engine.set_hooks(vec![
        only(passive_hook(&log, "echo"), "phone/echo"),
        only(passive_hook(&log, "other"), "pc/*"),
        HookEntry { tools: GlobPatterns::empty(), ..passive_hook(&log, "none") },
        HookEntry { runs_before: false, ..only(passive_hook(&log, "after"), "*/e*") },
        HookEntry { runs_after: false, ..only(passive_hook(&log, "before"), "*/e*") },
    ]);
    world.run("ring", "{}").await;
    assert_eq!(*log.lock(), Vec::<String>::new());
    world.run("echo", "{}").await;
    assert_eq!(
        *log.lock(),
        ["echo before {}", "before before {}", "echo after {}: {}", "after after {}: {}"]
    );
    world.engine.set_hooks(Vec::new());
    log.lock().clear();
    world.run("echo", "{}").await;
    assert!(log.lock().is_empty(), "from the next call on");
}

#[tokio::test(start_paused = true)]
async fn a_hook_receives_caller_tool_and_entry_point() {
    struct CapturingHook(Arc<Mutex<Option<HookCall>>>);
    #[async_trait]
    impl Hook for CapturingHook {
        async fn before_call(&self, call: &HookCall) -> Result<BeforeCallDecision, HookError> {
            *self.0.lock() = Some(call.clone());
            Ok(BeforeCallDecision::Continue)
        }
    }
    let seen = Arc::default();
    let world = EngineHarness::new(vec![echo(document("echo"))]);
    world.engine.set_hooks(vec![entry(CapturingHook(Arc::clone(&seen)), "asks")]);
    let finished = world.engine.call(call_of(chat_caller("c", "cook", "s1"), "echo")).await;
    let call = seen.lock().take().unwrap();
    assert_eq!((call.id, call.tool.to_string().as_str()), (finished.id, "phone/echo"));
    assert_eq!((&*call.principal.0, call.role, call.via), ("c", Role::Client, EntryPoint::Rest));
    assert_eq!((call.agent.as_deref(), call.session.as_deref()), (Some("cook"), Some("s1")));
    assert_eq!(call.arguments.raw().get(), "{}");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_includes_hooks_before_the_call() {
    let log = HookLog::default();
    let world = EngineHarness::new(vec![tool(document("scan"), |_, cx| async move {
        Ok(ToolOutput::text(cx.remaining().as_secs().to_string()))
    })]);
    let slow = |time| {
        let entry = logging_hook(
            &log,
            "slow",
            HookBehavior::AnswerAfter(time, BeforeCallDecision::Continue),
            HookBehavior::Answer(AfterCallDecision::Keep),
        );
        HookEntry { timeout: secs(60), ..entry }
    };
    world.engine.set_hooks(vec![slow(secs(4))]);
    let limited = |seconds| CallRequest { timeout: Some(secs(seconds)), ..call("scan", "{}") };
    let finished = world.engine.call(limited(10)).await;
    assert_eq!(success_text(&finished), "6", "what they took is gone");
    assert_eq!((finished.durations.total, finished.durations.running), (secs(4), secs(0)));

    let finished = world.engine.call(limited(3)).await;
    let late = expect_error(&finished);
    assert_eq!((late.code, late.dispatched), (Code::Timeout, false));
    assert_eq!(late.message, "The tool did not answer within 3 s");
    assert_eq!(finished.durations.total, secs(3));
    assert_eq!(log.lock().last().unwrap(), "slow after {}: timeout", "they see that too");
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_cancelled_while_hooks_run() {
    let log = HookLog::default();
    let world = EngineHarness::new(vec![echo(document("echo"))]);
    let hangs = |entry: HookEntry| HookEntry { timeout: secs(1000), ..entry };
    world.engine.set_hooks(vec![hangs(logging_hook(
        &log,
        "hangs",
        HookBehavior::Hang,
        HookBehavior::Answer(AfterCallDecision::Keep),
    ))]);
    let cancel = CancellationToken::new();
    let running = world.start(CallRequest { cancel: Some(cancel.clone()), ..call("echo", "{}") });
    sleep(secs(2)).await;
    cancel.cancel();
    let finished = running.await.unwrap();
    assert_code(&finished, Code::Cancelled);
    assert_eq!(finished.durations.total, secs(2));

    let running = world.start(call("echo", "{}"));
    yield_to_tasks().await;
    running.abort();
    yield_to_tasks().await;
    assert_eq!(world.recorder.closed()[1].outcome.error().unwrap().message, "The caller went away");

    let running = world.start(call("echo", "{}"));
    yield_to_tasks().await;
    world.engine.shut_down(secs(1)).await;
    assert_code(&running.await.unwrap(), Code::ShuttingDown);
    world.recorder.assert_each_closed_once();
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_not_shown_to_hooks() {
    let log = HookLog::default();
    let world = EngineHarness::new(vec![echo(document_with_parameters("echo", r#"{"required":["n"]}"#))]);
    world.engine.set_hooks(vec![passive_hook(&log, "first")]);
    assert_code(&world.run("echo", "{}").await, Code::InvalidArguments);
    world.set_policy(r#"{"approval":{"default":"always"}}"#);
    assert_code(&world.run("echo", r#"{"n":1}"#).await, Code::ApprovalUnavailable);
    assert!(log.lock().is_empty());
    let _watching = world.engine.questions().watch();
    let running = world.start(call("echo", r#"{"n":1}"#));
    world.answer_question(ConsentDecision::Granted, ConsentScope::Once).await;
    assert_eq!(success_text(&running.await.unwrap()), r#"{"n":1}"#);
    assert_eq!(log.lock().len(), 2);
    let notes = world.recorder.closed().pop().unwrap().notes.unwrap();
    assert_eq!(notes.approved_by.as_deref(), Some("owner"));
}
