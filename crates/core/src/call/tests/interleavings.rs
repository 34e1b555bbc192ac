//! Property tests of the invariant "exactly one recorded outcome": under any interleaving, every opened
//! record is closed exactly once, with the outcome that the caller received if it was still there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolway_types::{CallId, Code, Outcome, SpecDocument, ToolError, ToolOutput};

use crate::consent::{AnswerError, ConsentDecision, ConsentScope, QuestionEvent};
use crate::testkit::{
    EngineHarness, ToolRunResult, assert_code, call, chat_caller, document, document_with_permissions,
    expect_error, inline_tool, millis, owner, scripted_tool, secs, tool, yield_to_tasks,
};
use crate::{Arguments, CallContext, CallRequest, EngineSettings, FinishedCall, ProgressReport, Tool};

/// A step of a tool.
#[derive(Debug, Clone)]
enum ToolStep {
    Work(u64),
    Ask(u64),
    Report,
}

/// End of a tool.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ToolEnding {
    Result,
    TooLarge,
    Error,
    Panic,
    Never,
}

/// Departure of the caller, some milliseconds after the call.
#[derive(Debug, Clone, Copy)]
enum CallerDeparture {
    Stay,
    Cancel(u64),
    Drop(u64),
}

/// One call.
#[derive(Debug, Clone)]
struct CallPlan {
    at: u64,
    tool: &'static str,
    steps: Vec<ToolStep>,
    end: ToolEnding,
    timeout: Option<u64>,
    departure: CallerDeparture,
    key: Option<u8>,
    /// True if the call repeats the first call with its key.
    repeats_first: bool,
    /// True if the caller can be asked.
    can_be_asked: bool,
}

/// A planned answer to one of the open questions.
#[derive(Debug, Clone, Copy)]
struct PlannedAnswer {
    at: u64,
    which: usize,
    choice: ConsentDecision,
    scope: ConsentScope,
}

#[derive(Debug, Clone)]
struct CallScenario {
    plans: Vec<CallPlan>,
    /// Time of the shutdown, and its grace period.
    shutdown: Option<(u64, u64)>,
    durable: bool,
    /// True if an owner watches all questions throughout.
    watched: bool,
    answers: Vec<PlannedAnswer>,
}

/// Times that often coincide.
fn moment() -> impl Strategy<Value = u64> {
    (0u64..30).prop_map(|half_seconds| half_seconds * 500)
}

fn plan() -> impl Strategy<Value = CallPlan> {
    let step = prop_oneof![
        3 => moment().prop_map(ToolStep::Work),
        1 => moment().prop_map(ToolStep::Ask),
        1 => Just(ToolStep::Report),
    ];
    let end = prop_oneof![
        4 => Just(ToolEnding::Result), 1 => Just(ToolEnding::TooLarge), 1 => Just(ToolEnding::Error), 1 => Just(ToolEnding::Panic), 1 => Just(ToolEnding::Never)
    ];
    let leave = prop_oneof![
        3 => Just(CallerDeparture::Stay), 1 => moment().prop_map(CallerDeparture::Cancel), 1 => moment().prop_map(CallerDeparture::Drop)
    ];
    let tool = prop_oneof![
        2 => Just("plain"), 3 => Just("waits"), 2 => Just("serial"), 1 => Just("silent"), 1 => Just("nobody"), 4 => Just("asking")
    ];
    let key = prop::option::weighted(0.3, 0u8..3);
    (
        moment(),
        tool,
        prop::collection::vec(step, 0..4),
        end,
        prop::option::of(moment()),
        leave,
        key,
        prop::bool::weighted(0.8),
        any::<bool>(),
    )
        .prop_map(|(at, tool, steps, end, timeout, leave, key, same, there)| CallPlan {
            at,
            tool,
            steps,
            end,
            timeout,
            departure: leave,
            key,
            repeats_first: same,
            can_be_asked: there,
        })
}

fn planned_answer() -> impl Strategy<Value = PlannedAnswer> {
    let choice = prop_oneof![5 => Just(ConsentDecision::Granted), 2 => Just(ConsentDecision::Denied), 1 => Just(ConsentDecision::DeniedAlways)];
    let scope = prop_oneof![
        6 => Just(ConsentScope::Once), 1 => Just(ConsentScope::Session), 1 => Just(ConsentScope::Agent), 1 => Just(ConsentScope::Always)
    ];
    (moment(), 0usize..4, choice, scope).prop_map(|(at, which, choice, scope)| PlannedAnswer {
        at,
        which,
        choice,
        scope,
    })
}

fn scenario() -> impl Strategy<Value = CallScenario> {
    let shutdown = prop::option::weighted(0.3, (moment(), moment()));
    let words = prop::collection::vec(planned_answer(), 0..15);
    (prop::collection::vec(plan(), 1..25), shutdown, any::<bool>(), prop::bool::weighted(0.7), words)
        .prop_map(|(plans, shutdown, durable, watched, words)| CallScenario {
            plans,
            shutdown,
            durable,
            watched,
            answers: words,
        })
}

/// Largest output in these tests, in bytes.
const OUTPUT: usize = 10;

/// Runs the plan named by the arguments, and counts the run.
async fn run_plan(
    plans: &[CallPlan],
    runs: &[AtomicUsize],
    arguments: &Arguments,
    cx: &CallContext,
) -> ToolRunResult {
    let at = usize::try_from(arguments.value()["plan"].as_u64().unwrap()).unwrap();
    runs[at].fetch_add(1, Ordering::SeqCst);
    for step in &plans[at].steps {
        match step {
            ToolStep::Work(time) => sleep(millis(*time)).await,
            ToolStep::Ask(time) => {
                cx.pause_for_person();
                sleep(millis(*time)).await;
                cx.resume();
            }
            ToolStep::Report => {
                cx.report_progress(ProgressReport {
                    progress: 1.0,
                    total: None,
                    message: None,
                    content: Vec::new(),
                });
            }
        }
    }
    match plans[at].end {
        ToolEnding::Result => Ok(ToolOutput::text("fine")),
        ToolEnding::TooLarge => Ok(ToolOutput::text("x".repeat(OUTPUT + 1))),
        ToolEnding::Error => Err(ToolError::new(Code::ToolFailed, "it failed")),
        ToolEnding::Panic => std::panic::panic_any(at),
        ToolEnding::Never => std::future::pending().await,
    }
}

/// Result of one caller, or None if it left before.
type CallerResult = (CallId, Option<FinishedCall>);

fn settings() -> EngineSettings {
    EngineSettings {
        default_timeout: secs(10),
        person_timeout: secs(5),
        output_bytes: OUTPUT,
        ..EngineSettings::default()
    }
}

fn tools(plans: &Arc<Vec<CallPlan>>, runs: &Arc<Vec<AtomicUsize>>) -> Vec<Arc<dyn Tool>> {
    let made = |document: SpecDocument| {
        let (plans, runs) = (plans.clone(), runs.clone());
        scripted_tool(document, move |arguments, cx| {
            let (plans, runs) = (plans.clone(), runs.clone());
            async move { run_plan(&plans, &runs, &arguments, &cx).await }
        })
    };
    let tools = [
        made(document("plain")),
        made(document("waits")).run_inline(),
        made(SpecDocument { sequential: true, ..document("serial") }),
        made(SpecDocument { progress_timeout_ms: Some(3000), ..document("silent") }),
        made(document_with_permissions("asking", &["files.write"])),
    ];
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

fn call_of_plan(plans: &[CallPlan], at: usize) -> CallRequest {
    let plan = &plans[at];
    let first = plans.iter().position(|it| it.key == plan.key).unwrap_or(at);
    let means = if plan.key.is_some() && plan.repeats_first { first } else { at };
    CallRequest {
        timeout: plan.timeout.map(millis),
        idempotency_key: plan.key.map(|key| format!("key {key}").into()),
        questions: plan.can_be_asked.then(|| -> crate::consent::QuestionSink { Arc::new(|_| {}) }),
        caller: chat_caller("c", "cook", "s1"),
        ..call(plan.tool, &format!(r#"{{"plan":{means}}}"#))
    }
}

/// Everything visible at the end of a scenario.
struct ScenarioResult {
    world: EngineHarness,
    got: Vec<CallerResult>,
    /// Number of runs of each plan.
    runs: Vec<usize>,
    /// Call of each question, and how often it was opened and closed.
    questions: Vec<(CallId, usize, usize)>,
    /// Accepted answers, by call.
    answers: Vec<(CallId, ConsentDecision)>,
}

/// Answers open questions as planned, and returns the accepted answers.
async fn answer_questions(
    world_engine: Arc<crate::Engine>,
    mut words: Vec<PlannedAnswer>,
) -> Vec<(CallId, ConsentDecision)> {
    words.sort_by_key(|word| word.at);
    let mut taken = Vec::new();
    let mut now = 0;
    for word in words {
        sleep(millis(word.at - now)).await;
        now = word.at;
        let open = world_engine.questions().visible_to(&owner());
        let Some(question) = open.get(word.which % open.len().max(1)) else { continue };
        match world_engine.questions().answer(question.id, &owner(), word.choice, word.scope) {
            Ok(question) => taken.push((question.call, word.choice)),
            Err(error) => assert_eq!(error, AnswerError::NotOpen),
        }
    }
    taken
}

async fn run_scenario(story: CallScenario) -> ScenarioResult {
    let plans = Arc::new(story.plans);
    let runs: Arc<Vec<_>> = Arc::new(plans.iter().map(|_| AtomicUsize::new(0)).collect());
    let world = EngineHarness::with_settings(settings(), tools(&plans, &runs));
    world.set_policy(r#"{"permissions":{"rules":[{"permission":"files.write","state":"ask"}]}}"#);
    let mut watching = story.watched.then(|| world.engine.questions().watch());
    let speaking = tokio::spawn(answer_questions(world.engine.clone(), story.answers));
    if story.durable {
        world.recorder.durable.store(true, Ordering::SeqCst);
        let recorder = world.recorder.clone();
        tokio::spawn(async move {
            loop {
                sleep(millis(250)).await;
                recorder.commit();
            }
        });
    }
    let callers: Vec<_> = (0..plans.len())
        .map(|at| {
            let (engine, plans) = (world.engine.clone(), plans.clone());
            tokio::spawn(async move {
                let mut call = call_of_plan(&plans, at);
                let id = call.id;
                sleep(millis(plans[at].at)).await;
                let got = match plans[at].departure {
                    CallerDeparture::Stay => Some(engine.call(call).await),
                    CallerDeparture::Drop(after) => {
                        tokio::time::timeout(millis(after), engine.call(call)).await.ok()
                    }
                    CallerDeparture::Cancel(after) => {
                        let cancel = CancellationToken::new();
                        call.cancel = Some(cancel.clone());
                        tokio::spawn(async move {
                            sleep(millis(after)).await;
                            cancel.cancel();
                        });
                        Some(engine.call(call).await)
                    }
                };
                (id, got)
            })
        })
        .collect();
    if let Some((at, grace)) = story.shutdown {
        sleep(millis(at)).await;
        world.engine.shut_down(millis(grace)).await;
        world.recorder.assert_each_closed_once();
    }
    let mut got = Vec::new();
    for caller in callers {
        got.push(caller.await.unwrap());
    }
    let answers = speaking.await.unwrap();
    yield_to_tasks().await;
    let runs = runs.iter().map(|runs| runs.load(Ordering::SeqCst)).collect();
    let mut questions = BTreeMap::new();
    while let Some(Ok(event)) = watching.as_mut().map(|watching| watching.events.try_recv()) {
        let (QuestionEvent::Asked(question) | QuestionEvent::Closed(question, _)) = &event;
        let (_, asked, over) = questions.entry(question.id).or_insert((question.call, 0, 0));
        *if matches!(event, QuestionEvent::Asked(_)) { asked } else { over } += 1;
    }
    ScenarioResult { world, got, runs, questions: questions.into_values().collect(), answers }
}

fn check_result(plans: &[CallPlan], seen: &ScenarioResult) -> Result<(), TestCaseError> {
    let ScenarioResult { world, got, runs, questions, answers } = seen;
    let mut opened: Vec<_> = world.recorder.opened().iter().map(|call| call.id).collect();
    let closed = world.recorder.closed();
    let mut closed_ids: Vec<_> = closed.iter().map(|call| call.opened.id).collect();
    opened.sort();
    closed_ids.sort();
    prop_assert_eq!(&opened, &closed_ids, "each is closed once");
    opened.dedup();
    prop_assert_eq!(opened.len(), closed_ids.len(), "no id is used twice");

    let records: BTreeMap<_, _> = closed.iter().map(|call| (call.opened.id, call)).collect();
    for ((id, finished), plan) in got.iter().zip(plans) {
        let Some(finished) = finished else {
            prop_assert!(matches!(plan.departure, CallerDeparture::Drop(_)));
            continue;
        };
        let Some(record) = records.get(&finished.id) else {
            return Err(TestCaseError::fail("an outcome that is not recorded"));
        };
        prop_assert_eq!(&record.outcome, &finished.outcome);
        prop_assert_eq!(record.durations, finished.durations);
        prop_assert_eq!(&record.opened.tool, &finished.tool);
        if finished.id != *id {
            prop_assert!(plan.key.is_some() && !records.contains_key(id), "only a key leads to another call");
        }
        let whole = finished.durations;
        prop_assert!(whole.total >= whole.waiting + whole.queued + whole.running);
        prop_assert!(whole.total <= secs(20) + millis(1), "deadline and persons bound it: {:?}", whole);
    }
    for record in &closed {
        let ran = record.attempts > 0;
        match record.outcome.as_ref() {
            Outcome::Success(_) => prop_assert!(ran),
            Outcome::Error(error) => match error.code {
                Code::ToolFailed => prop_assert!(ran),
                Code::ToolPanicked | Code::OutputTooLarge => prop_assert!(ran && error.dispatched),
                Code::ToolNotAvailable | Code::IdempotencyConflict => {
                    prop_assert!(!ran && !error.dispatched);
                }
                Code::NoProgress => prop_assert!(ran && error.dispatched),
                Code::Timeout => {
                    // A call that only waited for another with its key may report that one as dispatched.
                    prop_assert!(ran == error.dispatched || record.opened.key.is_none());
                }
                Code::Cancelled | Code::ShuttingDown => prop_assert_eq!(ran, error.dispatched),
                Code::Denied | Code::DeniedAlways | Code::ApprovalUnavailable => {
                    prop_assert!(!ran && !error.dispatched && &*record.opened.name == "asking");
                }
                other => return Err(TestCaseError::fail(format!("{other} is unexpected"))),
            },
        }
    }
    prop_assert!(world.engine.questions().is_empty());
    for (call, asked, over) in questions {
        prop_assert_eq!((*asked, *over), (1, 1), "each question is over once: {}", call);
    }
    for (call, choice) in answers {
        let record = records.get(call).copied();
        let Some(record) = record else {
            return Err(TestCaseError::fail("an answer to a call without a record"));
        };
        let code = record.outcome.error().map(|error| error.code);
        let was_ended = matches!(code, Some(Code::Cancelled | Code::ShuttingDown));
        match choice {
            ConsentDecision::Granted => {
                let approved = record.notes.as_ref().is_some_and(|notes| notes.approved_by.is_some());
                prop_assert!(approved || (was_ended && record.attempts == 0));
            }
            ConsentDecision::Denied => prop_assert!(was_ended || code == Some(Code::Denied)),
            ConsentDecision::DeniedAlways => prop_assert!(was_ended || code == Some(Code::DeniedAlways)),
        }
    }
    prop_assert!(runs.iter().all(|runs| *runs <= 1), "nothing runs twice: {:?}", runs);
    prop_assert_eq!((world.engine.in_flight(), world.engine.abandoned_runs()), (0, 0));
    Ok(())
}

/// Suppresses the output of planned panics.
fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<usize>().is_none() {
                usual(info);
            }
        }));
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_call_ends_in_one_recorded_outcome(story in scenario()) {
        quiet_panics();
        let plans = story.plans.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let seen = runtime.unwrap().block_on(run_scenario(story));
        check_result(&plans, &seen)?;
    }
}

/// Deterministic pseudo-random numbers.
struct PseudoRandom(u64);

impl PseudoRandom {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

async fn yields(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// The same with several threads, in nondeterministic order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_call_ends_in_one_recorded_outcome_on_several_threads() {
    quiet_panics();
    let runs: Arc<Vec<_>> = Arc::new((0..3000).map(|_| AtomicUsize::new(0)).collect());
    let counted = runs.clone();
    let act = move |arguments: Arguments, cx: CallContext| {
        let counted = counted.clone();
        async move {
            let at = usize::try_from(arguments.value()["plan"].as_u64().unwrap()).unwrap();
            counted[at].fetch_add(1, Ordering::SeqCst);
            let mut dice = PseudoRandom(at as u64);
            yields(dice.below(20)).await;
            if dice.below(4) == 0 {
                cx.pause_for_person();
                yields(dice.below(5)).await;
                cx.resume();
            }
            match dice.below(6) {
                0 => Err(ToolError::new(Code::ToolFailed, "it failed")),
                1 => std::panic::panic_any(at),
                2 => std::future::pending().await,
                _ => Ok(ToolOutput::text("fine")),
            }
        }
    };
    let world = EngineHarness::with_settings(
        settings(),
        vec![
            tool(document("plain"), act.clone()),
            inline_tool(document("waits"), act.clone()),
            tool(SpecDocument { sequential: true, ..document("serial") }, act.clone()),
            tool(document_with_permissions("asking", &["files.write"]), act),
        ],
    );
    world.set_policy(r#"{"permissions":{"rules":[{"permission":"files.write","state":"ask"}]}}"#);
    let _watching = world.engine.questions().watch();
    let answering = (0..2).map(|person: u64| {
        let engine = world.engine.clone();
        tokio::spawn(async move {
            let mut dice = PseudoRandom(person);
            loop {
                tokio::task::yield_now().await;
                let Some(question) = engine.questions().visible_to(&owner()).pop() else { continue };
                let choice = [ConsentDecision::Granted, ConsentDecision::Granted, ConsentDecision::Denied]
                    [dice.below(3) as usize];
                // Another answer may have been faster.
                let _ = engine.questions().answer(question.id, &owner(), choice, ConsentScope::Once);
            }
        })
    });
    let answering: Vec<_> = answering.collect();
    let callers: Vec<_> = (0..3000u64)
        .map(|at| {
            let engine = world.engine.clone();
            tokio::spawn(async move {
                let mut dice = PseudoRandom(at ^ 0xABCD);
                let tool = ["serial", "asking", "asking", "waits", "waits", "waits"]
                    .get(dice.below(10) as usize)
                    .unwrap_or(&"plain");
                let means = if dice.below(2) == 0 { at } else { at - at % 10 };
                let mut call = call(tool, &format!(r#"{{"plan":{means}}}"#));
                call.timeout = Some(millis(5 + dice.below(20)));
                if means != at || at % 10 == 0 {
                    call.idempotency_key = Some(format!("{tool} {means}").into());
                }
                let id = call.id;
                let timeout = dice.below(40);
                let got = match dice.below(3) {
                    0 => Some(engine.call(call).await),
                    1 => {
                        let cancel = CancellationToken::new();
                        call.cancel = Some(cancel.clone());
                        tokio::join!(engine.call(call), async {
                            yields(timeout).await;
                            cancel.cancel();
                        })
                        .0
                        .into()
                    }
                    _ => tokio::select! {
                        finished = engine.call(call) => Some(finished),
                        () = yields(timeout) => None,
                    },
                };
                (id, got)
            })
        })
        .collect();
    for caller in callers {
        let (_, got) = caller.await.unwrap();
        let Some(finished) = got else { continue };
        let records = world.recorder.records_of(finished.id);
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].outcome, finished.outcome);
    }
    world.engine.shut_down(secs(0)).await;
    answering.iter().for_each(tokio::task::JoinHandle::abort);
    world.recorder.assert_each_closed_once();
    assert_eq!(world.engine.in_flight(), 0);
    assert!(world.engine.questions().is_empty());
    let asked = world.recorder.closed().iter().filter(|record| record.notes.is_some()).count();
    assert!(asked > 0, "persons had their say");
    let twice = runs.iter().filter(|runs| runs.load(Ordering::SeqCst) > 4).count();
    assert_eq!(twice, 0, "once for each of the four tools");
}

#[tokio::test(start_paused = true)]
async fn seventy_parallel_calls_all_end_after_a_disconnect_r3() {
    let (gone, going) = tokio::sync::watch::channel(false);
    let world = EngineHarness::new(vec![tool(document("scan"), move |_, cx| {
        let mut going = going.clone();
        async move {
            let _ = going.wait_for(|gone| *gone).await;
            Err(ToolError::new(Code::DeviceDisconnected, "phone went away")
                .with_dispatched(cx.is_dispatched()))
        }
    })]);
    let running: Vec<_> = (0..70).map(|_| world.start(call("scan", "{}"))).collect();
    sleep(secs(1)).await;
    gone.send_replace(true);
    world.phone.replace(Vec::new());
    for running in running {
        let finished = running.await.unwrap();
        assert_code(&finished, Code::DeviceDisconnected);
        assert!(expect_error(&finished).dispatched);
        assert_eq!(finished.durations.total, secs(1));
    }
    assert_eq!(world.recorder.closed().len(), 70);
    world.recorder.assert_each_closed_once();
}
