//! Invariant 1 under any interleaving: every record that was opened is closed exactly once, with what the caller
//! got if it was still there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolway_types::{CallId, Code, Outcome, SpecDocument, ToolError, ToolOutput};

use crate::consent::{CannotAnswer, Choice, QuestionEvent, Scope};
use crate::testkit::{
    RunResult, World, assert_code, call, chatting, document, error, millis, needing, owner, scripted, secs,
    settle, tool, waiting,
};
use crate::{Arguments, Call, CallContext, EngineSettings, Finished, Progress, Tool};

/// What a tool does on its way.
#[derive(Debug, Clone)]
enum Step {
    Work(u64),
    Ask(u64),
    Report,
}

/// How a tool ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Result,
    TooLarge,
    Error,
    Panic,
    Never,
}

/// What the caller does, so many milliseconds after it called.
#[derive(Debug, Clone, Copy)]
enum Leave {
    Stays,
    Cancels(u64),
    Goes(u64),
}

/// One call.
#[derive(Debug, Clone)]
struct Plan {
    at: u64,
    tool: &'static str,
    steps: Vec<Step>,
    end: End,
    timeout: Option<u64>,
    leave: Leave,
    key: Option<u8>,
    /// Whether it says the same as the first call with its key.
    same: bool,
    /// Whether the caller is there to be asked.
    there: bool,
}

/// What a person says to one of the open questions.
#[derive(Debug, Clone, Copy)]
struct Word {
    at: u64,
    which: usize,
    choice: Choice,
    scope: Scope,
}

#[derive(Debug, Clone)]
struct Story {
    plans: Vec<Plan>,
    /// When the engine is shut down, and how much grace it gives.
    shutdown: Option<(u64, u64)>,
    durable: bool,
    /// Whether the owner sees all questions, from the start to the end.
    watched: bool,
    words: Vec<Word>,
}

/// Times fall together often, so that things happen at the same moment.
fn moment() -> impl Strategy<Value = u64> {
    (0u64..30).prop_map(|half_seconds| half_seconds * 500)
}

fn plan() -> impl Strategy<Value = Plan> {
    let step = prop_oneof![
        3 => moment().prop_map(Step::Work),
        1 => moment().prop_map(Step::Ask),
        1 => Just(Step::Report),
    ];
    let end = prop_oneof![
        4 => Just(End::Result), 1 => Just(End::TooLarge), 1 => Just(End::Error), 1 => Just(End::Panic), 1 => Just(End::Never)
    ];
    let leave = prop_oneof![
        3 => Just(Leave::Stays), 1 => moment().prop_map(Leave::Cancels), 1 => moment().prop_map(Leave::Goes)
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
        .prop_map(|(at, tool, steps, end, timeout, leave, key, same, there)| Plan {
            at,
            tool,
            steps,
            end,
            timeout,
            leave,
            key,
            same,
            there,
        })
}

fn word() -> impl Strategy<Value = Word> {
    let choice =
        prop_oneof![5 => Just(Choice::Granted), 2 => Just(Choice::Denied), 1 => Just(Choice::DeniedAlways)];
    let scope = prop_oneof![
        6 => Just(Scope::Once), 1 => Just(Scope::Session), 1 => Just(Scope::Agent), 1 => Just(Scope::Always)
    ];
    (moment(), 0usize..4, choice, scope).prop_map(|(at, which, choice, scope)| Word {
        at,
        which,
        choice,
        scope,
    })
}

fn story() -> impl Strategy<Value = Story> {
    let shutdown = prop::option::weighted(0.3, (moment(), moment()));
    let words = prop::collection::vec(word(), 0..15);
    (prop::collection::vec(plan(), 1..25), shutdown, any::<bool>(), prop::bool::weighted(0.7), words)
        .prop_map(|(plans, shutdown, durable, watched, words)| Story {
            plans,
            shutdown,
            durable,
            watched,
            words,
        })
}

/// Largest output in these tests, in bytes.
const OUTPUT: usize = 10;

/// Does what the plan says that the arguments name, and counts that.
async fn act(plans: &[Plan], runs: &[AtomicUsize], arguments: &Arguments, cx: &CallContext) -> RunResult {
    let at = usize::try_from(arguments.value()["plan"].as_u64().unwrap()).unwrap();
    runs[at].fetch_add(1, Ordering::SeqCst);
    for step in &plans[at].steps {
        match step {
            Step::Work(time) => sleep(millis(*time)).await,
            Step::Ask(time) => {
                cx.wait_for_person();
                sleep(millis(*time)).await;
                cx.resume();
            }
            Step::Report => {
                cx.progress(Progress { progress: 1.0, total: None, message: None, content: Vec::new() });
            }
        }
    }
    match plans[at].end {
        End::Result => Ok(ToolOutput::text("fine")),
        End::TooLarge => Ok(ToolOutput::text("x".repeat(OUTPUT + 1))),
        End::Error => Err(ToolError::new(Code::ToolFailed, "it failed")),
        End::Panic => std::panic::panic_any(at),
        End::Never => std::future::pending().await,
    }
}

/// What became of one caller: what it got, or nothing where it went before.
type Got = (CallId, Option<Finished>);

fn settings() -> EngineSettings {
    EngineSettings {
        default_timeout: secs(10),
        person_timeout: secs(5),
        output_bytes: OUTPUT,
        ..EngineSettings::default()
    }
}

fn tools(plans: &Arc<Vec<Plan>>, runs: &Arc<Vec<AtomicUsize>>) -> Vec<Arc<dyn Tool>> {
    let made = |document: SpecDocument| {
        let (plans, runs) = (plans.clone(), runs.clone());
        scripted(document, move |arguments, cx| {
            let (plans, runs) = (plans.clone(), runs.clone());
            async move { act(&plans, &runs, &arguments, &cx).await }
        })
    };
    let tools = [
        made(document("plain")),
        made(document("waits")).that_only_waits(),
        made(SpecDocument { sequential: true, ..document("serial") }),
        made(SpecDocument { progress_timeout_ms: Some(3000), ..document("silent") }),
        made(needing("asking", &["files.write"])),
    ];
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

fn called(plans: &[Plan], at: usize) -> Call {
    let plan = &plans[at];
    let first = plans.iter().position(|it| it.key == plan.key).unwrap_or(at);
    let means = if plan.key.is_some() && plan.same { first } else { at };
    Call {
        timeout: plan.timeout.map(millis),
        idempotency_key: plan.key.map(|key| format!("key {key}").into()),
        questions: plan.there.then(|| -> crate::consent::QuestionSink { Arc::new(|_| {}) }),
        caller: chatting("c", "cook", "s1"),
        ..call(plan.tool, &format!(r#"{{"plan":{means}}}"#))
    }
}

/// What there is to see when everything is over.
struct Seen {
    world: World,
    got: Vec<Got>,
    /// How often each plan ran.
    runs: Vec<usize>,
    /// Of each question that was told of, its call and how often it was asked and over.
    questions: Vec<(CallId, usize, usize)>,
    /// The answers that were taken, by call.
    answers: Vec<(CallId, Choice)>,
}

/// Answers open questions as planned; gives what was taken.
async fn speak(world_engine: Arc<crate::Engine>, mut words: Vec<Word>) -> Vec<(CallId, Choice)> {
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
            Err(error) => assert_eq!(error, CannotAnswer::NotOpen),
        }
    }
    taken
}

async fn live(story: Story) -> Seen {
    let plans = Arc::new(story.plans);
    let runs: Arc<Vec<_>> = Arc::new(plans.iter().map(|_| AtomicUsize::new(0)).collect());
    let world = World::with(settings(), tools(&plans, &runs));
    world.rule(r#"{"permissions":{"rules":[{"permission":"files.write","state":"ask"}]}}"#);
    let mut watching = story.watched.then(|| world.engine.questions().watch());
    let speaking = tokio::spawn(speak(world.engine.clone(), story.words));
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
                let mut call = called(&plans, at);
                let id = call.id;
                sleep(millis(plans[at].at)).await;
                let got = match plans[at].leave {
                    Leave::Stays => Some(engine.call(call).await),
                    Leave::Goes(after) => tokio::time::timeout(millis(after), engine.call(call)).await.ok(),
                    Leave::Cancels(after) => {
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
    settle().await;
    let runs = runs.iter().map(|runs| runs.load(Ordering::SeqCst)).collect();
    let mut questions = BTreeMap::new();
    while let Some(Ok(event)) = watching.as_mut().map(|watching| watching.events.try_recv()) {
        let (QuestionEvent::Asked(question) | QuestionEvent::Over(question, _)) = &event;
        let (_, asked, over) = questions.entry(question.id).or_insert((question.call, 0, 0));
        *if matches!(event, QuestionEvent::Asked(_)) { asked } else { over } += 1;
    }
    Seen { world, got, runs, questions: questions.into_values().collect(), answers }
}

fn check(plans: &[Plan], seen: &Seen) -> Result<(), TestCaseError> {
    let Seen { world, got, runs, questions, answers } = seen;
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
            prop_assert!(matches!(plan.leave, Leave::Goes(_)));
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
                    // Who only waited for another call with its key says that that one may have run.
                    prop_assert!(ran == error.dispatched || record.opened.key.is_none());
                }
                Code::Cancelled | Code::ShuttingDown => prop_assert_eq!(ran, error.dispatched),
                Code::Denied | Code::DeniedAlways | Code::ApprovalUnavailable => {
                    prop_assert!(!ran && !error.dispatched && &*record.opened.name == "asking");
                }
                other => return Err(TestCaseError::fail(format!("{other} has no place here"))),
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
            Choice::Granted => {
                let approved = record.notes.as_ref().is_some_and(|notes| notes.approved_by.is_some());
                prop_assert!(approved || (was_ended && record.attempts == 0));
            }
            Choice::Denied => prop_assert!(was_ended || code == Some(Code::Denied)),
            Choice::DeniedAlways => prop_assert!(was_ended || code == Some(Code::DeniedAlways)),
        }
    }
    prop_assert!(runs.iter().all(|runs| *runs <= 1), "nothing runs twice: {:?}", runs);
    prop_assert_eq!((world.engine.in_flight(), world.engine.abandoned()), (0, 0));
    Ok(())
}

/// Panics that a plan asked for are not worth a line each.
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
    fn every_call_ends_in_one_recorded_outcome(story in story()) {
        quiet_panics();
        let plans = story.plans.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let seen = runtime.unwrap().block_on(live(story));
        check(&plans, &seen)?;
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
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

/// The same on several threads, where the order is the machine's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_too() {
    quiet_panics();
    let runs: Arc<Vec<_>> = Arc::new((0..3000).map(|_| AtomicUsize::new(0)).collect());
    let counted = runs.clone();
    let act = move |arguments: Arguments, cx: CallContext| {
        let counted = counted.clone();
        async move {
            let at = usize::try_from(arguments.value()["plan"].as_u64().unwrap()).unwrap();
            counted[at].fetch_add(1, Ordering::SeqCst);
            let mut dice = Dice(at as u64);
            yields(dice.below(20)).await;
            if dice.below(4) == 0 {
                cx.wait_for_person();
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
    let world = World::with(
        settings(),
        vec![
            tool(document("plain"), act.clone()),
            waiting(document("waits"), act.clone()),
            tool(SpecDocument { sequential: true, ..document("serial") }, act.clone()),
            tool(needing("asking", &["files.write"]), act),
        ],
    );
    world.rule(r#"{"permissions":{"rules":[{"permission":"files.write","state":"ask"}]}}"#);
    let _watching = world.engine.questions().watch();
    let answering = (0..2).map(|person: u64| {
        let engine = world.engine.clone();
        tokio::spawn(async move {
            let mut dice = Dice(person);
            loop {
                tokio::task::yield_now().await;
                let Some(question) = engine.questions().visible_to(&owner()).pop() else { continue };
                let choice = [Choice::Granted, Choice::Granted, Choice::Denied][dice.below(3) as usize];
                // The other one may have been quicker.
                let _ = engine.questions().answer(question.id, &owner(), choice, Scope::Once);
            }
        })
    });
    let answering: Vec<_> = answering.collect();
    let callers: Vec<_> = (0..3000u64)
        .map(|at| {
            let engine = world.engine.clone();
            tokio::spawn(async move {
                let mut dice = Dice(at ^ 0xABCD);
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
                let patience = dice.below(40);
                let got = match dice.below(3) {
                    0 => Some(engine.call(call).await),
                    1 => {
                        let cancel = CancellationToken::new();
                        call.cancel = Some(cancel.clone());
                        tokio::join!(engine.call(call), async {
                            yields(patience).await;
                            cancel.cancel();
                        })
                        .0
                        .into()
                    }
                    _ => tokio::select! {
                        finished = engine.call(call) => Some(finished),
                        () = yields(patience) => None,
                    },
                };
                (id, got)
            })
        })
        .collect();
    for caller in callers {
        let (_, got) = caller.await.unwrap();
        let Some(finished) = got else { continue };
        let records = world.recorder.of(finished.id);
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
async fn r3_seventy_calls_and_a_disconnect_all_end() {
    let (gone, going) = tokio::sync::watch::channel(false);
    let world = World::new(vec![tool(document("scan"), move |_, cx| {
        let mut going = going.clone();
        async move {
            let _ = going.wait_for(|gone| *gone).await;
            Err(ToolError::new(Code::DeviceDisconnected, "phone went away").dispatched(cx.is_dispatched()))
        }
    })]);
    let running: Vec<_> = (0..70).map(|_| world.start(call("scan", "{}"))).collect();
    sleep(secs(1)).await;
    gone.send_replace(true);
    world.phone.replace(Vec::new());
    for running in running {
        let finished = running.await.unwrap();
        assert_code(&finished, Code::DeviceDisconnected);
        assert!(error(&finished).dispatched);
        assert_eq!(finished.durations.total, secs(1));
    }
    assert_eq!(world.recorder.closed().len(), 70);
    world.recorder.assert_each_closed_once();
}
