//! Invariant 1 under any order of what can happen to a device's calls: each call that the engine accepted ends
//! in exactly one recorded outcome, which is what its caller got; and of the device's answers exactly those
//! that were acknowledged as accepted became outcomes.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toolway_core::{
    Call, Caller, ClosedCall, Commit, EarlierCall, Engine, EngineParts, EngineSettings, Finished, Keep,
    OpenedCall, RawArguments, Recorder, Registry, SpecCache,
};
use toolway_types::{Outcome, PrincipalId, SpecDocument, SystemClock, ToolOutput};
use toolway_wire::GatewayMessage;

use super::*;
use crate::socket::outbox::Outgoing;
use crate::sources::source::SourceState;

/// Something that happens. Numbers pick one of the calls made so far.
#[derive(Debug, Clone)]
enum Event {
    /// A call with so many milliseconds to run.
    Call(u64),
    /// The device answers.
    Answer(usize),
    /// The device says that it failed.
    Fail(usize),
    /// The device reports progress.
    Report(usize),
    /// The device asks a person.
    AskPerson(usize),
    /// The caller cancels.
    Cancel(usize),
    /// The caller's task is gone.
    Vanish(usize),
    /// Time passes.
    Pass(u64),
    /// The network drops the socket; the seat waits.
    Disconnect,
    /// The device comes back and resumes.
    Resume,
    /// The device comes back without its memory: a new seat.
    Restart,
    /// Everything that can run does.
    Settle,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let call = 0usize..12;
    prop::collection::vec(
        prop_oneof![
            4 => (1u64..400).prop_map(Event::Call),
            5 => call.clone().prop_map(Event::Answer),
            1 => call.clone().prop_map(Event::Fail),
            1 => call.clone().prop_map(Event::Report),
            1 => call.clone().prop_map(Event::AskPerson),
            2 => call.clone().prop_map(Event::Cancel),
            1 => call.prop_map(Event::Vanish),
            2 => (1u64..200).prop_map(Event::Pass),
            1 => Just(Event::Disconnect),
            2 => Just(Event::Resume),
            1 => Just(Event::Restart),
            4 => Just(Event::Settle),
        ],
        1..60,
    )
}

/// Keeps in memory how often each call was opened and closed, and how it ended.
#[derive(Default)]
struct Log(Mutex<HashMap<CallId, Entry>>);

#[derive(Default)]
struct Entry {
    opened: u32,
    outcomes: Vec<Arc<Outcome>>,
}

#[async_trait]
impl Recorder for Log {
    fn open(&self, call: Arc<OpenedCall>) -> Commit {
        self.0.lock().entry(call.id).or_default().opened += 1;
        Commit::Queued
    }

    fn close(&self, call: ClosedCall) -> Commit {
        self.0.lock().entry(call.opened.id).or_default().outcomes.push(call.outcome);
        Commit::Queued
    }

    async fn find_keyed(&self, _: &PrincipalId, _: &str, _: i64) -> Option<EarlierCall> {
        None
    }
}

struct MadeCall {
    id: CallId,
    cancel: CancellationToken,
    task: JoinHandle<Finished>,
    vanished: bool,
    /// What the device answered, where it was told that it was accepted.
    accepted: Vec<Reply>,
}

struct World {
    registry: Arc<Registry>,
    engine: Arc<Engine>,
    log: Arc<Log>,
    source: Arc<Source>,
    seat: Arc<Seat>,
    stay: Option<Stay>,
    queue: Option<mpsc::Receiver<Outgoing>>,
    calls: Vec<MadeCall>,
    /// How often each request reached the device on the present seat.
    requests: HashMap<String, u32>,
}

impl World {
    async fn new() -> Self {
        let (registry, log) = (Registry::new(), Arc::new(Log::default()));
        let engine = Engine::new(EngineParts {
            recorder: log.clone(),
            settings: EngineSettings {
                person_timeout: Duration::from_millis(300),
                ..EngineSettings::default()
            },
            ..EngineParts::new(registry.clone(), Arc::new(SystemClock))
        });
        let slug = "phone".parse().unwrap();
        let source = Source::new(slug, PrincipalId::from("t"), None, SourceState::default());
        let seat = new_seat(&registry, &source);
        let mut world = Self {
            registry,
            engine,
            log,
            source,
            seat,
            stay: None,
            queue: None,
            calls: Vec::new(),
            requests: HashMap::new(),
        };
        world.attach().await;
        world
    }

    async fn attach(&mut self) {
        let (outbox, queue) = Outbox::new(256);
        self.stay = Some(self.seat.attach(outbox, CancellationToken::new(), 0).await);
        self.queue = Some(queue);
    }

    fn call(&mut self, run_ms: u64) {
        let cancel = CancellationToken::new();
        let call = Call {
            timeout: Some(Duration::from_millis(run_ms)),
            cancel: Some(cancel.clone()),
            ..Call::new("phone__echo", RawArguments::None, Caller::local_owner())
        };
        let (id, engine) = (call.id, self.engine.clone());
        let task = tokio::spawn(async move { engine.call(call).await });
        self.calls.push(MadeCall { id, cancel, task, vanished: false, accepted: Vec::new() });
    }

    fn answer(&mut self, at: usize, reply: Reply) {
        let Some(call) = self.calls.get_mut(at) else { return };
        let given = reply.clone();
        if self.seat.answer(&call.id.to_string(), move || given) == ResultStatus::Accepted {
            call.accepted.push(reply);
        }
    }

    async fn happen(&mut self, event: Event) {
        match event {
            Event::Call(run_ms) => self.call(run_ms),
            Event::Answer(at) => self.answer(at, Ok(ToolOutput::text(format!("answer {at}")))),
            Event::Fail(at) => self.answer(at, Err(ToolError::new(Code::ToolFailed, "no").dispatched(true))),
            Event::Report(at) => {
                if let Some(call) = self.calls.get(at) {
                    let report = Progress { progress: 0.5, total: None, message: None, content: Vec::new() };
                    self.seat.progress(&call.id.to_string(), report);
                }
            }
            Event::AskPerson(at) => {
                if let Some(call) = self.calls.get(at) {
                    self.seat.waiting(&call.id.to_string(), || Some("Allow it?".to_owned()));
                }
            }
            Event::Cancel(at) => {
                if let Some(call) = self.calls.get(at) {
                    call.cancel.cancel();
                }
            }
            Event::Vanish(at) => {
                if let Some(call) = self.calls.get_mut(at) {
                    call.vanished = true;
                    call.task.abort();
                }
            }
            Event::Pass(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Event::Disconnect => {
                if let Some(stay) = self.stay.take() {
                    stay.leave();
                    self.queue = None;
                }
            }
            Event::Resume => self.attach().await,
            Event::Restart => {
                let new = new_seat(&self.registry, &self.source);
                std::mem::replace(&mut self.seat, new).end();
                self.requests.clear();
                self.attach().await;
            }
            Event::Settle => settle().await,
        }
        self.read();
    }

    /// Reads what was sent to the device.
    fn read(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        while let Ok(outgoing) = queue.try_recv() {
            let Outgoing::Text(text) = outgoing else { continue };
            if let Ok(GatewayMessage::ToolCallRequest(request)) = GatewayMessage::decode(text.as_str()) {
                let times = self.requests.entry(request.id).or_default();
                // A call's request is counted; it may come again only with a higher attempt.
                assert!(request.attempt.unwrap() > *times, "an attempt came twice");
                *times = request.attempt.unwrap();
            }
        }
    }

    async fn finish(mut self) {
        self.seat.end();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        for call in std::mem::take(&mut self.calls) {
            let got = call.task.await.ok();
            let entry = self.log.0.lock().remove(&call.id);
            let Some(entry) = entry else {
                assert!(call.vanished, "{} was never recorded", call.id);
                continue;
            };
            assert_eq!((entry.opened, entry.outcomes.len()), (1, 1), "{} has one outcome", call.id);
            let outcome = &entry.outcomes[0];
            if let Some(got) = got {
                assert_eq!(&got.outcome, outcome, "the caller got what was recorded");
            }
            assert!(call.accepted.len() <= 1, "two answers were accepted");
            match call.accepted.into_iter().next() {
                Some(reply) if !call.vanished => assert_eq!(**outcome, Outcome::from(reply)),
                Some(_) => {}
                None => assert!(!outcome.is_success(), "an outcome that no device gave"),
            }
        }
        assert!(self.log.0.lock().is_empty());
        assert_eq!(self.engine.in_flight(), 0);
        assert_eq!(self.engine.abandoned(), 0);
    }
}

fn new_seat(registry: &Arc<Registry>, source: &Arc<Source>) -> Arc<Seat> {
    let lease = registry.lease(source.slug().clone(), Keep::Nothing);
    let terms = SeatTerms { version: 2, resume_token: Some("again".to_owned()), calls_limit: 8 };
    let seat = Seat::new(source.clone(), lease, terms);
    let spec = SpecCache::default().compile(SpecDocument::named("echo")).unwrap();
    let tools = seat.tools(vec![spec]);
    seat.with_lease(|lease| lease.replace(tools)).unwrap();
    seat
}

/// Lets every task run as far as it can without time passing.
async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_call_ends_in_one_outcome(events in events()) {
        runtime().block_on(async move {
            let mut world = World::new().await;
            for event in events {
                world.happen(event).await;
            }
            world.finish().await;
        });
    }
}

fn run(events: Vec<Event>) {
    runtime().block_on(async move {
        let mut world = World::new().await;
        for event in events {
            world.happen(event).await;
        }
        world.finish().await;
    });
}

#[test]
fn r3_many_calls_and_a_disconnect_all_end() {
    let mut events: Vec<_> = (0..70).map(|_| Event::Call(5000)).collect();
    events.extend([Event::Settle, Event::Disconnect, Event::Restart]);
    run(events);
}

#[test]
fn an_answer_in_the_moment_of_the_cancel_counts_once() {
    run(vec![Event::Call(300), Event::Settle, Event::Answer(0), Event::Cancel(0)]);
    run(vec![Event::Call(300), Event::Settle, Event::Cancel(0), Event::Answer(0)]);
}

#[test]
fn unanswered_requests_are_sent_again_with_a_higher_attempt() {
    runtime().block_on(async {
        let mut world = World::new().await;
        for event in [Event::Call(300), Event::Settle, Event::Disconnect, Event::Resume, Event::Settle] {
            world.happen(event).await;
        }
        let id = world.calls[0].id.to_string();
        assert_eq!(world.requests.get(&id), Some(&2));
        world.happen(Event::Answer(0)).await;
        world.happen(Event::Answer(0)).await;
        assert_eq!(world.calls[0].accepted.len(), 1);
        world.finish().await;
    });
}

#[test]
fn r2_an_older_socket_can_no_longer_undo_a_newer_one() {
    runtime().block_on(async {
        let mut world = World::new().await;
        let old = world.stay.take().unwrap();
        world.attach().await;
        assert!(!old.leave(), "the old socket no longer sits there");
        assert!(world.seat.is_attached());
        world.finish().await;
    });
}

/// What a socket says for its whole source counts only while it sits there: not once another does, nor once the
/// seat has ended, however late it comes.
#[test]
fn an_older_socket_can_no_longer_speak_for_its_source() {
    runtime().block_on(async {
        let mut world = World::new().await;
        let first = world.stay.take().unwrap();
        assert_eq!(first.while_seated(|| 1), Some(1));
        world.attach().await;
        let second = world.stay.take().unwrap();
        assert_eq!((first.while_seated(|| 1), second.while_seated(|| 2)), (None, Some(2)));
        // Another seat at the same source, as when the device has started anew.
        world.happen(Event::Restart).await;
        let third = world.stay.take().unwrap();
        assert_eq!((second.while_seated(|| 2), third.while_seated(|| 3)), (None, Some(3)));
        assert!(third.leave());
        assert_eq!(third.while_seated(|| 3), None, "it has got up");
        world.finish().await;
    });
}

#[test]
fn r8_late_duplicate_and_unknown_answers_are_told_apart() {
    runtime().block_on(async {
        let mut world = World::new().await;
        for event in [Event::Call(300), Event::Call(100), Event::Settle, Event::Answer(0)] {
            world.happen(event).await;
        }
        world.happen(Event::Pass(150)).await;
        let (answered, timed_out) = (world.calls[0].id.to_string(), world.calls[1].id.to_string());
        let reply = || Ok(ToolOutput::text("again"));
        assert_eq!(world.seat.answer(&answered, reply), ResultStatus::Duplicate);
        assert_eq!(world.seat.answer(&timed_out, reply), ResultStatus::Late);
        assert_eq!(world.seat.answer(&CallId::new().to_string(), reply), ResultStatus::Unknown);
        assert_eq!(world.seat.answer("nonsense", reply), ResultStatus::Unknown);
        world.finish().await;
    });
}
