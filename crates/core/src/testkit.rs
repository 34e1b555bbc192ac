//! Shared parts of the tests: tools made from closures, a recorder in memory, a manual clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;
use toolway_types::{
    CallId, Clock, Code, Outcome, Principal, PrincipalId, RawJson, Role, Slug, SpecDocument, ToolError,
    ToolName, ToolOutput,
};

use crate::consent::{ConsentDecision, ConsentScope};
use crate::{
    Arguments, CallContext, CallRequest, Caller, ClosedCall, EarlierCall, Engine, EngineParts,
    EngineSettings, EntryPoint, FinishedCall, Lease, OpenedCall, Policy, PolicyProblem, Question,
    RawArguments, RecordCommit, Recorder, Registry, SourceRetention, Tool, ToolSpec,
};

pub(crate) type ToolRunResult = Result<ToolOutput, ToolError>;
type ToolFn =
    dyn Fn(Arguments, CallContext) -> Pin<Box<dyn Future<Output = ToolRunResult> + Send>> + Send + Sync;

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

pub(crate) fn name(text: &str) -> ToolName {
    text.parse().unwrap()
}

pub(crate) fn raw(json: &str) -> RawJson {
    RawJson::parse(json).unwrap()
}

pub(crate) fn document(name: &str) -> SpecDocument {
    SpecDocument { description: Some("Made for a test.".to_owned()), ..SpecDocument::named(name) }
}

pub(crate) fn annotated_document(name: &str, annotations: &str) -> SpecDocument {
    SpecDocument { annotations: Some(raw(annotations)), ..document(name) }
}

pub(crate) fn document_with_permissions(name: &str, permissions: &[&str]) -> SpecDocument {
    SpecDocument { permissions: permissions.iter().map(ToString::to_string).collect(), ..document(name) }
}

pub(crate) fn sequential_document(name: &str) -> SpecDocument {
    SpecDocument { sequential: true, ..document(name) }
}

/// Parses policy settings from JSON with `policy`, `approval` and `permissions`.
#[track_caller]
pub(crate) fn try_policy(rules: &str) -> Result<Policy, Vec<PolicyProblem>> {
    let rules = json(rules);
    let part = |name: &str| rules.get(name).cloned().unwrap_or(Value::Object(Default::default()));
    Policy::compile(
        &serde_json::from_value(part("policy")).unwrap(),
        &serde_json::from_value(part("approval")).unwrap(),
        &serde_json::from_value(part("permissions")).unwrap(),
    )
}

#[track_caller]
pub(crate) fn policy(rules: &str) -> Policy {
    try_policy(rules).unwrap()
}

pub(crate) fn document_with_parameters(name: &str, parameters: &str) -> SpecDocument {
    SpecDocument { parameters: Some(raw(parameters)), ..document(name) }
}

/// A tool that runs a closure.
pub(crate) struct ScriptedTool {
    spec: Arc<ToolSpec>,
    run: Box<ToolFn>,
    pub(crate) marks_dispatch: bool,
    can_run_inline: bool,
}

impl ScriptedTool {
    /// Makes the tool run inline in its caller's task.
    pub(crate) fn run_inline(self) -> Self {
        Self { can_run_inline: true, ..self }
    }
}

pub(crate) fn scripted_tool<F, R>(document: SpecDocument, run: F) -> ScriptedTool
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = ToolRunResult> + Send + 'static,
{
    let spec = Arc::new(ToolSpec::compile(document).unwrap());
    let run = Box::new(move |arguments, cx| Box::pin(run(arguments, cx)) as _);
    ScriptedTool { spec, run, marks_dispatch: false, can_run_inline: false }
}

pub(crate) fn tool<F, R>(document: SpecDocument, run: F) -> Arc<dyn Tool>
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = ToolRunResult> + Send + 'static,
{
    Arc::new(scripted_tool(document, run))
}

/// A tool that runs inline in its caller's task.
pub(crate) fn inline_tool<F, R>(document: SpecDocument, run: F) -> Arc<dyn Tool>
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = ToolRunResult> + Send + 'static,
{
    Arc::new(scripted_tool(document, run).run_inline())
}

/// A tool that returns `says` at once.
pub(crate) fn answering_tool(name: &str, says: &str) -> Arc<dyn Tool> {
    let says = says.to_owned();
    tool(document(name), move |_, _| std::future::ready(Ok(ToolOutput::text(says.clone()))))
}

/// A tool that never returns.
pub(crate) fn endless_tool(document: SpecDocument) -> Arc<dyn Tool> {
    tool(document, |_, _| std::future::pending())
}

/// A tool that returns `done` after a time.
pub(crate) fn slow_tool(document: SpecDocument, time: Duration) -> Arc<dyn Tool> {
    tool(document, move |_, _| async move {
        tokio::time::sleep(time).await;
        Ok(ToolOutput::text("done"))
    })
}

#[async_trait]
impl Tool for ScriptedTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> ToolRunResult {
        (self.run)(arguments, cx.clone()).await
    }

    fn can_run_inline(&self) -> bool {
        self.can_run_inline
    }

    fn marks_dispatch(&self) -> bool {
        self.marks_dispatch
    }
}

/// Keeps records in memory, and finds keys in them as a database would.
#[derive(Default)]
pub(crate) struct MemoryRecorder {
    opened: Mutex<Vec<Arc<OpenedCall>>>,
    closed: Mutex<Vec<ClosedCall>>,
    /// True if calls must wait for each record.
    pub(crate) durable: AtomicBool,
    commits: Mutex<Vec<oneshot::Sender<()>>>,
    /// True if the search for a key never ends.
    pub(crate) slow: AtomicBool,
    /// Number of searches for a key.
    pub(crate) key_lookups: AtomicUsize,
}

impl MemoryRecorder {
    pub(crate) fn opened(&self) -> Vec<Arc<OpenedCall>> {
        self.opened.lock().clone()
    }

    pub(crate) fn closed(&self) -> Vec<ClosedCall> {
        self.closed.lock().clone()
    }

    /// The only record.
    #[track_caller]
    pub(crate) fn single_record(&self) -> ClosedCall {
        let closed = self.closed();
        assert_eq!((self.opened().len(), closed.len()), (1, 1), "one record, opened and closed");
        closed.into_iter().next().unwrap()
    }

    /// All records of one call.
    pub(crate) fn records_of(&self, id: CallId) -> Vec<ClosedCall> {
        self.closed().into_iter().filter(|closed| closed.opened.id == id).collect()
    }

    /// Commits all pending records.
    pub(crate) fn commit(&self) {
        for done in self.commits.lock().drain(..) {
            let _ = done.send(());
        }
    }

    /// Gives up all pending records.
    pub(crate) fn give_up(&self) {
        self.commits.lock().clear();
    }

    pub(crate) fn waiting_commits(&self) -> usize {
        self.commits.lock().len()
    }

    fn new_commit(&self) -> RecordCommit {
        if !self.durable.load(Ordering::SeqCst) {
            return RecordCommit::Queued;
        }
        let (sender, receiver) = oneshot::channel();
        self.commits.lock().push(sender);
        RecordCommit::Pending(receiver)
    }

    /// Checks that every opened record was closed once, and no other record.
    #[track_caller]
    pub(crate) fn assert_each_closed_once(&self) {
        let mut opened: Vec<_> = self.opened().iter().map(|call| call.id).collect();
        let mut closed: Vec<_> = self.closed().iter().map(|call| call.opened.id).collect();
        opened.sort();
        closed.sort();
        assert_eq!(opened, closed);
    }
}

#[async_trait]
impl Recorder for MemoryRecorder {
    fn open(&self, call: Arc<OpenedCall>) -> RecordCommit {
        self.opened.lock().push(call);
        self.new_commit()
    }

    fn close(&self, call: ClosedCall) -> RecordCommit {
        self.closed.lock().push(call);
        self.new_commit()
    }

    async fn find_by_key(&self, principal: &PrincipalId, key: &str, since_ms: i64) -> Option<EarlierCall> {
        self.key_lookups.fetch_add(1, Ordering::SeqCst);
        if self.slow.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let opened = self.opened();
        let is_it = |call: &&Arc<OpenedCall>| {
            call.principal == *principal
                && call.key.as_ref().is_some_and(|it| &*it.key == key)
                && call.started_ms >= since_ms
        };
        let call = opened.iter().rev().find(is_it)?;
        let closed = self.records_of(call.id).into_iter().next();
        Some(EarlierCall {
            id: call.id,
            hash: call.key.as_ref()?.hash,
            outcome: closed.as_ref().map(|closed| closed.outcome.clone()),
            durations: closed.map(|closed| closed.durations).unwrap_or_default(),
        })
    }
}

/// A manual wall clock.
#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

/// Initial time of the clock: 2026-01-01T00:00:00Z.
pub(crate) const START_MS: i64 = 1_767_225_600_000;

impl ManualClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// An engine with one source, `phone`.
pub(crate) struct EngineHarness {
    pub(crate) registry: Arc<Registry>,
    pub(crate) recorder: Arc<MemoryRecorder>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) phone: Lease,
}

impl EngineHarness {
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::with_settings(EngineSettings::default(), tools)
    }

    pub(crate) fn with_settings(settings: EngineSettings, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::build(Arc::default(), Arc::new(ManualClock(AtomicI64::new(START_MS))), settings, tools)
    }

    fn build(
        recorder: Arc<MemoryRecorder>,
        clock: Arc<ManualClock>,
        settings: EngineSettings,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let registry = Registry::new();
        let phone = registry.lease(slug("phone"), SourceRetention::Names);
        phone.replace(tools);
        let engine = Engine::new(EngineParts {
            recorder: recorder.clone(),
            settings,
            ..EngineParts::new(registry.clone(), clock.clone())
        });
        Self { registry, recorder, clock, engine, phone }
    }

    /// Creates an engine with the same records and tools but an empty memory, as after a restart.
    pub(crate) fn restart(&self) -> Self {
        let settings = EngineSettings::default();
        Self::build(self.recorder.clone(), self.clock.clone(), settings, self.phone.tools().to_vec())
    }

    /// Starts a call in its own task.
    pub(crate) fn start(&self, call: CallRequest) -> tokio::task::JoinHandle<FinishedCall> {
        let engine = self.engine.clone();
        tokio::spawn(async move { engine.call(call).await })
    }

    /// Replaces the rules; see [`policy`].
    #[track_caller]
    pub(crate) fn set_policy(&self, rules: &str) {
        self.engine.set_policy(policy(rules));
    }

    /// Waits until all tasks are idle, and returns the only open question.
    #[track_caller]
    pub(crate) fn open_question(&self) -> impl Future<Output = Arc<Question>> {
        let place = std::panic::Location::caller();
        async move {
            yield_to_tasks().await;
            let open = self.engine.questions().visible_to(&owner());
            assert_eq!(open.len(), 1, "one open question at {place}: {open:?}");
            open[0].clone()
        }
    }

    /// Answers the only open question as the owner.
    #[track_caller]
    pub(crate) fn answer_question(
        &self,
        choice: ConsentDecision,
        scope: ConsentScope,
    ) -> impl Future<Output = Arc<Question>> {
        let question = self.open_question();
        async move {
            let question = question.await;
            self.engine.questions().answer(question.id, &owner(), choice, scope).unwrap();
            question
        }
    }

    pub(crate) async fn run(&self, name: &str, arguments: &str) -> FinishedCall {
        self.engine.call(call(name, arguments)).await
    }
}

/// A call by the owner.
pub(crate) fn call(name: &str, arguments: &str) -> CallRequest {
    CallRequest::new(name, RawArguments::Json(raw(arguments)), Caller::local_owner())
}

pub(crate) fn principal(id: &str, role: Role) -> Principal {
    Principal { id: id.into(), role, agent: None }
}

pub(crate) fn owner() -> Principal {
    principal("owner", Role::Owner)
}

pub(crate) fn caller(id: &str, role: Role) -> Caller {
    Caller::new(Arc::new(principal(id, role)), EntryPoint::Rest)
}

pub(crate) fn client(id: &str) -> Caller {
    caller(id, Role::Client)
}

/// A caller with an agent and a conversation.
pub(crate) fn chat_caller(id: &str, agent: &str, session: &str) -> Caller {
    Caller { agent: Some(agent.into()), session: Some(session.into()), ..client(id) }
}

pub(crate) fn call_of(caller: Caller, name: &str) -> CallRequest {
    CallRequest { caller, ..call(name, "{}") }
}

#[track_caller]
pub(crate) fn success_text(finished: &FinishedCall) -> String {
    match finished.outcome.as_ref() {
        Outcome::Success(output) => output.joined_text(),
        Outcome::Error(error) => panic!("not a success: {error:?}"),
    }
}

#[track_caller]
pub(crate) fn expect_error(finished: &FinishedCall) -> &ToolError {
    match finished.outcome.as_ref() {
        Outcome::Success(output) => panic!("not an error: {output:?}"),
        Outcome::Error(error) => error,
    }
}

#[track_caller]
pub(crate) fn assert_code(finished: &FinishedCall, code: Code) {
    assert_eq!(expect_error(finished).code, code, "{:?}", finished.outcome);
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Yields several times, so that all ready tasks run while the paused clock does not move.
pub(crate) async fn yield_to_tasks() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}
