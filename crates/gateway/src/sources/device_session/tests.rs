//! Tests the invariant "exactly one recorded outcome" under any order of events of a device's calls: each
//! accepted call ends in exactly one recorded outcome, which is the one that its caller gets. Exactly those
//! answers of the device that were acknowledged as accepted become outcomes.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use tokio::task::JoinHandle;
use toolway_core::{
    CallRequest, Caller, ClosedCall, EarlierCall, Engine, EngineParts, EngineSettings, FinishedCall,
    OpenedCall, RawArguments, RecordCommit, Recorder, Registry, SourceRetention, SpecCache,
};
use toolway_types::{Outcome, PrincipalId, SpecDocument, SystemClock, ToolOutput};
use toolway_wire::GatewayMessage;

use super::*;
use crate::memory_budget::MemoryBudget;
use crate::outbox::{OutgoingFrame, OutgoingFrames};
use crate::sources::device_source::{DeviceSource, DeviceSourceState};
use crate::sources::remote_tool::remote_tools;

/// An event. Numbers select one of the calls so far.
#[derive(Debug, Clone)]
enum DeviceSessionEvent {
    /// A call with a timeout in milliseconds.
    Call(u64),
    /// The device answers.
    Answer(usize),
    /// The device reports a failure.
    Fail(usize),
    /// The device reports progress.
    Report(usize),
    /// The device asks a person.
    AskPerson(usize),
    /// The caller cancels.
    Cancel(usize),
    /// The caller's task is dropped.
    DropCaller(usize),
    /// Time passes.
    AdvanceTime(u64),
    /// The network drops the socket; the session waits.
    Disconnect,
    /// The device comes back and resumes.
    Resume,
    /// The device comes back without its state: a new session.
    Restart,
    /// All tasks run until they wait.
    Settle,
}

fn events() -> impl Strategy<Value = Vec<DeviceSessionEvent>> {
    let call = 0usize..12;
    prop::collection::vec(
        prop_oneof![
            4 => (1u64..400).prop_map(DeviceSessionEvent::Call),
            5 => call.clone().prop_map(DeviceSessionEvent::Answer),
            1 => call.clone().prop_map(DeviceSessionEvent::Fail),
            1 => call.clone().prop_map(DeviceSessionEvent::Report),
            1 => call.clone().prop_map(DeviceSessionEvent::AskPerson),
            2 => call.clone().prop_map(DeviceSessionEvent::Cancel),
            1 => call.prop_map(DeviceSessionEvent::DropCaller),
            2 => (1u64..200).prop_map(DeviceSessionEvent::AdvanceTime),
            1 => Just(DeviceSessionEvent::Disconnect),
            2 => Just(DeviceSessionEvent::Resume),
            1 => Just(DeviceSessionEvent::Restart),
            4 => Just(DeviceSessionEvent::Settle),
        ],
        1..60,
    )
}

/// Counts in memory how often each call was opened and closed, and its outcomes.
#[derive(Default)]
struct CallCountingRecorder(Mutex<HashMap<CallId, CallCounts>>);

#[derive(Default)]
struct CallCounts {
    opened: u32,
    outcomes: Vec<Arc<Outcome>>,
}

#[async_trait]
impl Recorder for CallCountingRecorder {
    fn open(&self, call: Arc<OpenedCall>) -> RecordCommit {
        self.0.lock().entry(call.id).or_default().opened += 1;
        RecordCommit::Queued
    }

    fn close(&self, call: ClosedCall) -> RecordCommit {
        self.0.lock().entry(call.opened.id).or_default().outcomes.push(call.outcome);
        RecordCommit::Queued
    }

    async fn find_by_key(&self, _: &PrincipalId, _: &str, _: i64) -> Option<EarlierCall> {
        None
    }
}

struct StartedCall {
    id: CallId,
    cancel: CancellationToken,
    task: JoinHandle<FinishedCall>,
    vanished: bool,
    /// Answers of the device that were acknowledged as accepted.
    accepted: Vec<DeviceReply>,
}

struct DeviceSessionHarness {
    registry: Arc<Registry>,
    engine: Arc<Engine>,
    log: Arc<CallCountingRecorder>,
    source: Arc<DeviceSource>,
    session: Arc<DeviceSession>,
    attachment: Option<DeviceAttachment>,
    queue: Option<OutgoingFrames>,
    calls: Vec<StartedCall>,
    /// Number of times that each request reached the device in the current session.
    requests: HashMap<String, u32>,
}

impl DeviceSessionHarness {
    async fn new() -> Self {
        let (registry, log) = (Registry::new(), Arc::new(CallCountingRecorder::default()));
        let engine = Engine::new(EngineParts {
            recorder: log.clone(),
            settings: EngineSettings {
                person_timeout: Duration::from_millis(300),
                ..EngineSettings::default()
            },
            ..EngineParts::new(registry.clone(), Arc::new(SystemClock))
        });
        let slug = "phone".parse().unwrap();
        let source =
            DeviceSource::new(slug, PrincipalId::from("t"), None, None, DeviceSourceState::default());
        let session = new_session(&registry, &source);
        let mut world = Self {
            registry,
            engine,
            log,
            source,
            session,
            attachment: None,
            queue: None,
            calls: Vec::new(),
            requests: HashMap::new(),
        };
        world.attach().await;
        world
    }

    async fn attach(&mut self) {
        let (outbox, queue) = Outbox::new(256, MemoryBudget::new(1 << 30, 1 << 20).open_anonymous());
        self.attachment = Some(self.session.attach(outbox, CancellationToken::new(), 0).await);
        self.queue = Some(queue);
    }

    fn call(&mut self, run_ms: u64) {
        let cancel = CancellationToken::new();
        let call = CallRequest {
            timeout: Some(Duration::from_millis(run_ms)),
            cancel: Some(cancel.clone()),
            ..CallRequest::new("phone__echo", RawArguments::None, Caller::local_owner())
        };
        let (id, engine) = (call.id, self.engine.clone());
        let task = tokio::spawn(async move { engine.call(call).await });
        self.calls.push(StartedCall { id, cancel, task, vanished: false, accepted: Vec::new() });
    }

    fn answer(&mut self, at: usize, reply: DeviceReply) {
        let Some(call) = self.calls.get_mut(at) else { return };
        let given = reply.clone();
        if self.session.answer(&call.id.to_string(), move || given) == ResultStatus::Accepted {
            call.accepted.push(reply);
        }
    }

    async fn apply_event(&mut self, event: DeviceSessionEvent) {
        match event {
            DeviceSessionEvent::Call(run_ms) => self.call(run_ms),
            DeviceSessionEvent::Answer(at) => self.answer(at, Ok(ToolOutput::text(format!("answer {at}")))),
            DeviceSessionEvent::Fail(at) => {
                self.answer(at, Err(ToolError::new(Code::ToolFailed, "no").with_dispatched(true)))
            }
            DeviceSessionEvent::Report(at) => {
                if let Some(call) = self.calls.get(at) {
                    let report =
                        ProgressReport { progress: 0.5, total: None, message: None, content: Vec::new() };
                    self.session.report_progress(&call.id.to_string(), report);
                }
            }
            DeviceSessionEvent::AskPerson(at) => {
                if let Some(call) = self.calls.get(at) {
                    self.session.report_waiting(&call.id.to_string(), || Some("Allow it?".to_owned()));
                }
            }
            DeviceSessionEvent::Cancel(at) => {
                if let Some(call) = self.calls.get(at) {
                    call.cancel.cancel();
                }
            }
            DeviceSessionEvent::DropCaller(at) => {
                if let Some(call) = self.calls.get_mut(at) {
                    call.vanished = true;
                    call.task.abort();
                }
            }
            DeviceSessionEvent::AdvanceTime(millis) => {
                tokio::time::sleep(Duration::from_millis(millis)).await
            }
            DeviceSessionEvent::Disconnect => {
                if let Some(stay) = self.attachment.take() {
                    stay.detach();
                    self.queue = None;
                }
            }
            DeviceSessionEvent::Resume => self.attach().await,
            DeviceSessionEvent::Restart => {
                let new = new_session(&self.registry, &self.source);
                std::mem::replace(&mut self.session, new).end();
                self.requests.clear();
                self.attach().await;
            }
            DeviceSessionEvent::Settle => settle().await,
        }
        self.read();
    }

    /// Reads the frames that were sent to the device.
    fn read(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        while let Some(outgoing) = queue.try_recv() {
            let OutgoingFrame::Text(queued) = outgoing else { continue };
            let text = queued.text;
            if let Ok(GatewayMessage::ToolCallRequest(request)) = GatewayMessage::decode(text.as_str()) {
                let times = self.requests.entry(request.id).or_default();
                // A call's request may be repeated only with a higher attempt.
                assert!(request.attempt.unwrap() > *times, "an attempt came twice");
                *times = request.attempt.unwrap();
            }
        }
    }

    async fn finish(mut self) {
        self.session.end();
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
        assert_eq!(self.engine.abandoned_runs(), 0);
    }
}

fn new_session(registry: &Arc<Registry>, source: &Arc<DeviceSource>) -> Arc<DeviceSession> {
    let lease = registry.lease(source.slug().clone(), SourceRetention::Nothing);
    let terms = DeviceSessionOptions { version: 2, resume_token: Some("again".to_owned()), calls_limit: 8 };
    let session = DeviceSession::new(source.slug().clone(), lease, terms);
    let spec = SpecCache::default().compile(SpecDocument::named("echo")).unwrap();
    let tools = remote_tools(&session, vec![spec]);
    session.with_lease(|lease| lease.replace(tools)).unwrap();
    session
}

/// Lets every task run as far as it can without advancing the time.
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
            let mut world = DeviceSessionHarness::new().await;
            for event in events {
                world.apply_event(event).await;
            }
            world.finish().await;
        });
    }
}

fn run(events: Vec<DeviceSessionEvent>) {
    runtime().block_on(async move {
        let mut world = DeviceSessionHarness::new().await;
        for event in events {
            world.apply_event(event).await;
        }
        world.finish().await;
    });
}

#[test]
fn many_parallel_calls_all_end_after_a_disconnect_r3() {
    let mut events: Vec<_> = (0..70).map(|_| DeviceSessionEvent::Call(5000)).collect();
    events.extend([DeviceSessionEvent::Settle, DeviceSessionEvent::Disconnect, DeviceSessionEvent::Restart]);
    run(events);
}

#[test]
fn an_answer_simultaneous_with_a_cancel_counts_once() {
    run(vec![
        DeviceSessionEvent::Call(300),
        DeviceSessionEvent::Settle,
        DeviceSessionEvent::Answer(0),
        DeviceSessionEvent::Cancel(0),
    ]);
    run(vec![
        DeviceSessionEvent::Call(300),
        DeviceSessionEvent::Settle,
        DeviceSessionEvent::Cancel(0),
        DeviceSessionEvent::Answer(0),
    ]);
}

#[test]
fn unanswered_requests_are_sent_again_with_a_higher_attempt() {
    runtime().block_on(async {
        let mut world = DeviceSessionHarness::new().await;
        for event in [
            DeviceSessionEvent::Call(300),
            DeviceSessionEvent::Settle,
            DeviceSessionEvent::Disconnect,
            DeviceSessionEvent::Resume,
            DeviceSessionEvent::Settle,
        ] {
            world.apply_event(event).await;
        }
        let id = world.calls[0].id.to_string();
        assert_eq!(world.requests.get(&id), Some(&2));
        world.apply_event(DeviceSessionEvent::Answer(0)).await;
        world.apply_event(DeviceSessionEvent::Answer(0)).await;
        assert_eq!(world.calls[0].accepted.len(), 1);
        world.finish().await;
    });
}

#[test]
fn an_older_socket_cannot_remove_the_tools_of_a_newer_one_r2() {
    runtime().block_on(async {
        let mut world = DeviceSessionHarness::new().await;
        let old = world.attachment.take().unwrap();
        world.attach().await;
        assert!(!old.detach(), "the old socket no longer sits there");
        assert!(world.session.is_attached());
        world.finish().await;
    });
}

/// A socket's report for its whole source counts only while it is attached: not after another socket has
/// attached or the session has ended, regardless of the delay.
#[test]
fn an_older_socket_can_no_longer_report_for_its_source() {
    runtime().block_on(async {
        let mut world = DeviceSessionHarness::new().await;
        let first = world.attachment.take().unwrap();
        assert_eq!(first.while_attached(|| 1), Some(1));
        world.attach().await;
        let second = world.attachment.take().unwrap();
        assert_eq!((first.while_attached(|| 1), second.while_attached(|| 2)), (None, Some(2)));
        // Another session of the same source, as after a restart of the device.
        world.apply_event(DeviceSessionEvent::Restart).await;
        let third = world.attachment.take().unwrap();
        assert_eq!((second.while_attached(|| 2), third.while_attached(|| 3)), (None, Some(3)));
        assert!(third.detach());
        assert_eq!(third.while_attached(|| 3), None, "it has got up");
        world.finish().await;
    });
}

#[test]
fn late_duplicate_and_unknown_results_have_different_statuses_r8() {
    runtime().block_on(async {
        let mut world = DeviceSessionHarness::new().await;
        for event in [
            DeviceSessionEvent::Call(300),
            DeviceSessionEvent::Call(100),
            DeviceSessionEvent::Settle,
            DeviceSessionEvent::Answer(0),
        ] {
            world.apply_event(event).await;
        }
        world.apply_event(DeviceSessionEvent::AdvanceTime(150)).await;
        let (answered, timed_out) = (world.calls[0].id.to_string(), world.calls[1].id.to_string());
        let reply = || Ok(ToolOutput::text("again"));
        assert_eq!(world.session.answer(&answered, reply), ResultStatus::Duplicate);
        assert_eq!(world.session.answer(&timed_out, reply), ResultStatus::Late);
        assert_eq!(world.session.answer(&CallId::new().to_string(), reply), ResultStatus::Unknown);
        assert_eq!(world.session.answer("nonsense", reply), ResultStatus::Unknown);
        world.finish().await;
    });
}
