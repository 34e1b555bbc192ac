//! What this crate's tests share: tools made from closures, a recorder in memory, a clock that stands still.

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

use crate::consent::{Choice, Scope};
use crate::{
    Arguments, Call, CallContext, Caller, ClosedCall, Commit, Door, EarlierCall, Engine, EngineParts,
    EngineSettings, Finished, Keep, Lease, OpenedCall, Policy, PolicyProblem, Question, RawArguments,
    Recorder, Registry, Tool, ToolSpec,
};

pub(crate) type RunResult = Result<ToolOutput, ToolError>;
type Run = dyn Fn(Arguments, CallContext) -> Pin<Box<dyn Future<Output = RunResult> + Send>> + Send + Sync;

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

pub(crate) fn annotated(name: &str, annotations: &str) -> SpecDocument {
    SpecDocument { annotations: Some(raw(annotations)), ..document(name) }
}

pub(crate) fn needing(name: &str, permissions: &[&str]) -> SpecDocument {
    SpecDocument { permissions: permissions.iter().map(ToString::to_string).collect(), ..document(name) }
}

pub(crate) fn sequential(name: &str) -> SpecDocument {
    SpecDocument { sequential: true, ..document(name) }
}

/// Rules as the owner writes them, as JSON with `policy`, `approval` and `permissions`.
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

pub(crate) fn with_parameters(name: &str, parameters: &str) -> SpecDocument {
    SpecDocument { parameters: Some(raw(parameters)), ..document(name) }
}

/// A tool that does what a closure says.
pub(crate) struct Scripted {
    spec: Arc<ToolSpec>,
    run: Box<Run>,
    pub(crate) marks_dispatch: bool,
    only_waits: bool,
}

impl Scripted {
    /// The same within its caller's task.
    pub(crate) fn that_only_waits(self) -> Self {
        Self { only_waits: true, ..self }
    }
}

pub(crate) fn scripted<F, R>(document: SpecDocument, run: F) -> Scripted
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = RunResult> + Send + 'static,
{
    let spec = Arc::new(ToolSpec::compile(document).unwrap());
    let run = Box::new(move |arguments, cx| Box::pin(run(arguments, cx)) as _);
    Scripted { spec, run, marks_dispatch: false, only_waits: false }
}

pub(crate) fn tool<F, R>(document: SpecDocument, run: F) -> Arc<dyn Tool>
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = RunResult> + Send + 'static,
{
    Arc::new(scripted(document, run))
}

/// A tool that runs within its caller's task.
pub(crate) fn waiting<F, R>(document: SpecDocument, run: F) -> Arc<dyn Tool>
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = RunResult> + Send + 'static,
{
    Arc::new(scripted(document, run).that_only_waits())
}

/// A tool that answers `says` at once.
pub(crate) fn answering(name: &str, says: &str) -> Arc<dyn Tool> {
    let says = says.to_owned();
    tool(document(name), move |_, _| std::future::ready(Ok(ToolOutput::text(says.clone()))))
}

/// A tool that never answers.
pub(crate) fn endless(document: SpecDocument) -> Arc<dyn Tool> {
    tool(document, |_, _| std::future::pending())
}

/// A tool that answers `done` after a time.
pub(crate) fn lasting(document: SpecDocument, time: Duration) -> Arc<dyn Tool> {
    tool(document, move |_, _| async move {
        tokio::time::sleep(time).await;
        Ok(ToolOutput::text("done"))
    })
}

#[async_trait]
impl Tool for Scripted {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> RunResult {
        (self.run)(arguments, cx.clone()).await
    }

    fn only_waits(&self) -> bool {
        self.only_waits
    }

    fn marks_dispatch(&self) -> bool {
        self.marks_dispatch
    }
}

/// Keeps records in memory, and looks keys up in them as a database would.
#[derive(Default)]
pub(crate) struct Memory {
    opened: Mutex<Vec<Arc<OpenedCall>>>,
    closed: Mutex<Vec<ClosedCall>>,
    /// Whether each record is to be waited for.
    pub(crate) durable: AtomicBool,
    commits: Mutex<Vec<oneshot::Sender<()>>>,
    /// Whether it never comes to an end looking for a key.
    pub(crate) slow: AtomicBool,
    /// How often it was asked for a key.
    pub(crate) asked: AtomicUsize,
}

impl Memory {
    pub(crate) fn opened(&self) -> Vec<Arc<OpenedCall>> {
        self.opened.lock().clone()
    }

    pub(crate) fn closed(&self) -> Vec<ClosedCall> {
        self.closed.lock().clone()
    }

    /// The one record there is.
    #[track_caller]
    pub(crate) fn only(&self) -> ClosedCall {
        let closed = self.closed();
        assert_eq!((self.opened().len(), closed.len()), (1, 1), "one record, opened and closed");
        closed.into_iter().next().unwrap()
    }

    /// All records of one call.
    pub(crate) fn of(&self, id: CallId) -> Vec<ClosedCall> {
        self.closed().into_iter().filter(|closed| closed.opened.id == id).collect()
    }

    /// Commits everything that waits for it.
    pub(crate) fn commit(&self) {
        for done in self.commits.lock().drain(..) {
            let _ = done.send(());
        }
    }

    /// Gives up on everything that waits for it.
    pub(crate) fn give_up(&self) {
        self.commits.lock().clear();
    }

    pub(crate) fn waiting_commits(&self) -> usize {
        self.commits.lock().len()
    }

    fn committing(&self) -> Commit {
        if !self.durable.load(Ordering::SeqCst) {
            return Commit::Queued;
        }
        let (sender, receiver) = oneshot::channel();
        self.commits.lock().push(sender);
        Commit::Pending(receiver)
    }

    /// Every record that was opened was closed once, and none was closed that was not opened.
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
impl Recorder for Memory {
    fn open(&self, call: Arc<OpenedCall>) -> Commit {
        self.opened.lock().push(call);
        self.committing()
    }

    fn close(&self, call: ClosedCall) -> Commit {
        self.closed.lock().push(call);
        self.committing()
    }

    async fn find_keyed(&self, principal: &PrincipalId, key: &str, since_ms: i64) -> Option<EarlierCall> {
        self.asked.fetch_add(1, Ordering::SeqCst);
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
        let closed = self.of(call.id).into_iter().next();
        Some(EarlierCall {
            id: call.id,
            hash: call.key.as_ref()?.hash,
            outcome: closed.as_ref().map(|closed| closed.outcome.clone()),
            durations: closed.map(|closed| closed.durations).unwrap_or_default(),
        })
    }
}

/// A wall clock that shows what it is set to.
#[derive(Debug)]
pub(crate) struct HandClock(AtomicI64);

/// Where the clock stands at first: 2026-01-01T00:00:00Z.
pub(crate) const START_MS: i64 = 1_767_225_600_000;

impl HandClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// An engine with one source, `phone`.
pub(crate) struct World {
    pub(crate) registry: Arc<Registry>,
    pub(crate) recorder: Arc<Memory>,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) phone: Lease,
}

impl World {
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::with(EngineSettings::default(), tools)
    }

    pub(crate) fn with(settings: EngineSettings, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::over(Arc::default(), Arc::new(HandClock(AtomicI64::new(START_MS))), settings, tools)
    }

    fn over(
        recorder: Arc<Memory>,
        clock: Arc<HandClock>,
        settings: EngineSettings,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let registry = Registry::new();
        let phone = registry.lease(slug("phone"), Keep::Known);
        phone.replace(tools);
        let engine = Engine::new(EngineParts {
            recorder: recorder.clone(),
            settings,
            ..EngineParts::new(registry.clone(), clock.clone())
        });
        Self { registry, recorder, clock, engine, phone }
    }

    /// The same records and tools, but nothing in memory: as after a restart.
    pub(crate) fn restarted(&self) -> Self {
        let settings = EngineSettings::default();
        Self::over(self.recorder.clone(), self.clock.clone(), settings, self.phone.tools().to_vec())
    }

    /// Starts a call in a task of its own.
    pub(crate) fn start(&self, call: Call) -> tokio::task::JoinHandle<Finished> {
        let engine = self.engine.clone();
        tokio::spawn(async move { engine.call(call).await })
    }

    /// Takes other rules; see [`policy`].
    #[track_caller]
    pub(crate) fn rule(&self, rules: &str) {
        self.engine.set_policy(policy(rules));
    }

    /// The one question that is open, after everything that can run has.
    #[track_caller]
    pub(crate) fn question(&self) -> impl Future<Output = Arc<Question>> {
        let place = std::panic::Location::caller();
        async move {
            settle().await;
            let open = self.engine.questions().visible_to(&owner());
            assert_eq!(open.len(), 1, "one open question at {place}: {open:?}");
            open[0].clone()
        }
    }

    /// The owner answers the one question that is open.
    #[track_caller]
    pub(crate) fn answer(&self, choice: Choice, scope: Scope) -> impl Future<Output = Arc<Question>> {
        let question = self.question();
        async move {
            let question = question.await;
            self.engine.questions().answer(question.id, &owner(), choice, scope).unwrap();
            question
        }
    }

    pub(crate) async fn run(&self, name: &str, arguments: &str) -> Finished {
        self.engine.call(call(name, arguments)).await
    }
}

/// A call of the owner's.
pub(crate) fn call(name: &str, arguments: &str) -> Call {
    Call::new(name, RawArguments::Json(raw(arguments)), Caller::local_owner())
}

pub(crate) fn principal(id: &str, role: Role) -> Principal {
    Principal { id: id.into(), role, agent: None }
}

pub(crate) fn owner() -> Principal {
    principal("owner", Role::Owner)
}

pub(crate) fn caller(id: &str, role: Role) -> Caller {
    Caller::new(Arc::new(principal(id, role)), Door::Rest)
}

pub(crate) fn client(id: &str) -> Caller {
    caller(id, Role::Client)
}

/// A caller in an agent's name, in a conversation.
pub(crate) fn chatting(id: &str, agent: &str, session: &str) -> Caller {
    Caller { agent: Some(agent.into()), session: Some(session.into()), ..client(id) }
}

pub(crate) fn call_of(caller: Caller, name: &str) -> Call {
    Call { caller, ..call(name, "{}") }
}

#[track_caller]
pub(crate) fn text(finished: &Finished) -> String {
    match finished.outcome.as_ref() {
        Outcome::Success(output) => output.joined_text(),
        Outcome::Error(error) => panic!("not a success: {error:?}"),
    }
}

#[track_caller]
pub(crate) fn error(finished: &Finished) -> &ToolError {
    match finished.outcome.as_ref() {
        Outcome::Success(output) => panic!("not an error: {output:?}"),
        Outcome::Error(error) => error,
    }
}

#[track_caller]
pub(crate) fn assert_code(finished: &Finished, code: Code) {
    assert_eq!(error(finished).code, code, "{:?}", finished.outcome);
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Lets all tasks that can run do so, several times over; the paused clock does not move.
pub(crate) async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}
