//! A test harness: an engine with tools, agents, a scripted model, and conversations.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use tempfile::TempDir;
use toolway_core::{
    Arguments, CallContext, CallerRegistration, Engine, EngineParts, Lease, Registry, SourceRetention, Tool,
    ToolSpec, UnlimitedMemory,
};
use toolway_models::MessagePart;
use toolway_store::{Store, StoreOptions};
use toolway_types::{
    CallId, Clock, Code, Outcome, Principal, Role, Slug, SpecDocument, ToolError, ToolOutput,
};

use super::memory_store::MemoryConversationStore;
use super::scripted_provider::ScriptedProvider;
use crate::agents::{AgentCatalog, AgentCatalogDeps, TimeZoneCheck};
use crate::budget::{BudgetSettings, BudgetTracker};
use crate::conversations::{ConversationDeps, ConversationSettings, Conversations, StartTurnError};
use crate::definition::AgentDefinition;
use crate::event::{TurnEnd, TurnEvent};
use crate::models::{ModelCatalog, ModelFacts};
use crate::prices::PriceCatalog;
use crate::turn::{ConnectionRegistration, TurnInput, TurnRequest, TurnViewer};

type ClosureToolResult = Result<ToolOutput, ToolError>;
type ClosureToolFn =
    dyn Fn(Arguments, CallContext) -> Pin<Box<dyn Future<Output = ClosureToolResult> + Send>> + Send + Sync;

/// Start of the clock: 2026-01-01T00:00:00Z.
const START_MS: i64 = 1_767_225_600_000;

/// A wall clock that tests advance.
#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

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

struct ClosureTool {
    spec: Arc<ToolSpec>,
    run: Box<ClosureToolFn>,
}

#[async_trait]
impl Tool for ClosureTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> ClosureToolResult {
        (self.run)(arguments, cx.clone()).await
    }
}

pub(crate) fn document(name: &str) -> SpecDocument {
    SpecDocument { description: Some("Made for a test.".to_owned()), ..SpecDocument::named(name) }
}

pub(crate) fn tool<F, R>(document: SpecDocument, run: F) -> Arc<dyn Tool>
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = ClosureToolResult> + Send + 'static,
{
    let spec = Arc::new(ToolSpec::compile(document).unwrap());
    Arc::new(ClosureTool { spec, run: Box::new(move |arguments, cx| Box::pin(run(arguments, cx))) })
}

/// Creates a tool that answers at once.
pub(crate) fn answering(name: &str, says: &str) -> Arc<dyn Tool> {
    let says = says.to_owned();
    tool(document(name), move |_, _| std::future::ready(Ok(ToolOutput::text(says.clone()))))
}

/// Creates a tool that fails at once.
pub(crate) fn failing(name: &str, says: &str) -> Arc<dyn Tool> {
    let says = says.to_owned();
    tool(document(name), move |_, _| std::future::ready(Err(ToolError::new(Code::ToolFailed, says.clone()))))
}

/// Creates a tool that never answers.
pub(crate) fn endless(name: &str) -> Arc<dyn Tool> {
    tool(document(name), |_, _| std::future::pending())
}

pub(crate) fn principal(id: &str, role: Role) -> Arc<Principal> {
    Arc::new(Principal { id: id.into(), role, agent: None })
}

pub(crate) fn client(id: &str) -> Arc<Principal> {
    principal(id, Role::Client)
}

pub(crate) fn owner() -> Arc<Principal> {
    principal("owner", Role::Owner)
}

pub(crate) fn agent(name: &str) -> AgentDefinition {
    AgentDefinition { name: name.to_owned(), ..AgentDefinition::default() }
}

pub(crate) fn phone_caller(lease: &Lease) -> CallerRegistration {
    CallerRegistration { source: lease.slug().clone(), lease: lease.id() }
}

/// Returns a check that knows two time zones.
pub(crate) fn testing_zones() -> TimeZoneCheck {
    Arc::new(|name| match name {
        "Europe/Berlin" | "Asia/Tokyo" => Ok(()),
        other => Err(format!("Unknown timezone {other:?}.")),
    })
}

/// Parts of the harness.
pub(crate) struct ConversationHarnessBuilder {
    pub(crate) model: ScriptedProvider,
    pub(crate) facts: ModelFacts,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) agents: Vec<AgentDefinition>,
    pub(crate) settings: ConversationSettings,
    pub(crate) budget: BudgetSettings,
    /// Text of `prices.toml`.
    pub(crate) prices: &'static str,
    /// True to store messages on disk instead of in memory.
    pub(crate) on_disk: bool,
}

impl ConversationHarnessBuilder {
    pub(crate) fn new(model: ScriptedProvider, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self {
            model,
            facts: ModelFacts::default(),
            tools,
            agents: Vec::new(),
            settings: ConversationSettings { titles: false, ..ConversationSettings::default() },
            budget: BudgetSettings::default(),
            prices: "",
            on_disk: false,
        }
    }

    /// Builds the harness. Its time is paused from now on, except with a store on disk.
    pub(crate) async fn build(self) -> ConversationHarness {
        let folder = tempfile::tempdir().unwrap();
        self.build_in(folder).await
    }

    pub(crate) async fn build_in(self, folder: TempDir) -> ConversationHarness {
        let clock = Arc::new(ManualClock(AtomicI64::new(START_MS)));
        let registry = Registry::new();
        let phone = registry.lease("phone".parse::<Slug>().unwrap(), SourceRetention::Names);
        phone.replace(self.tools);
        let store = Store::open(folder.path(), clock.clone(), StoreOptions::default()).await.unwrap();
        let mut parts = EngineParts::new(Arc::clone(&registry), clock.clone());
        if self.on_disk {
            parts.recorder = store.recorder();
        }
        let engine = Engine::new(parts);
        let model = Arc::new(self.model);
        let models = ModelCatalog::from_providers(vec![(model.clone(), "fake-1", self.facts)]);
        let agents = AgentCatalog::open(AgentCatalogDeps {
            engine: Arc::clone(&engine),
            store: store.clone(),
            folder: folder.path().join("agents"),
            models: Arc::clone(&models),
            clock: clock.clone(),
            time_zones: testing_zones(),
        });
        let agents = agents.await.unwrap();
        for definition in self.agents {
            agents.put(definition).await.unwrap();
        }
        let prices = folder.path().join("prices.toml");
        std::fs::write(&prices, self.prices).unwrap();
        let zone = Arc::new(|| TimeZone::UTC);
        let parts = ConversationDeps {
            engine: Arc::clone(&engine),
            store: store.clone(),
            agents: Arc::clone(&agents),
            models,
            prices: PriceCatalog::open(prices).await,
            budgets: Arc::new(BudgetTracker::new(store.clone(), clock.clone(), zone, self.budget)),
            clock: clock.clone(),
            settings: self.settings,
            memory: Arc::new(UnlimitedMemory),
        };
        let memory = Arc::new(MemoryConversationStore::default());
        let conversations = match self.on_disk {
            true => Conversations::new(parts),
            false => Conversations::with_store(parts, memory.clone()),
        };
        // The store on disk has its own thread, whose time is not paused.
        let pause = (!self.on_disk).then(PausedClockGuard::begin);
        ConversationHarness {
            _pause: pause,
            folder,
            clock,
            registry,
            phone,
            store,
            engine,
            model,
            memory,
            conversations,
        }
    }
}

/// Pauses the time while it lives.
pub(crate) struct PausedClockGuard(());

impl PausedClockGuard {
    fn begin() -> Self {
        tokio::time::pause();
        Self(())
    }
}

impl Drop for PausedClockGuard {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}

/// Asserts that a time has passed. The runtime's timers count milliseconds.
#[track_caller]
pub(crate) fn assert_passed(since: tokio::time::Instant, time: Duration) {
    let passed = since.elapsed();
    assert!(passed >= time && passed < time + Duration::from_millis(5), "{passed:?} and not {time:?}");
}

/// The test harness. Only one with a paused clock exists at a time.
pub(crate) struct ConversationHarness {
    _pause: Option<PausedClockGuard>,
    pub(crate) folder: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) registry: Arc<Registry>,
    /// A device with the tools of the harness.
    pub(crate) phone: Lease,
    pub(crate) store: Store,
    pub(crate) engine: Arc<Engine>,
    pub(crate) model: Arc<ScriptedProvider>,
    pub(crate) memory: Arc<MemoryConversationStore>,
    pub(crate) conversations: Arc<Conversations>,
}

impl ConversationHarness {
    pub(crate) async fn new(scripts: Vec<super::ModelScript>, tools: Vec<Arc<dyn Tool>>) -> Self {
        ConversationHarnessBuilder::new(ScriptedProvider::new(scripts), tools).build().await
    }

    /// Creates a turn of the client `ann` in the session `s`.
    pub(crate) fn turn_request(&self, says: &str) -> TurnRequest {
        TurnRequest {
            session: "s".into(),
            title: None,
            principal: client("ann"),
            agent: None,
            input: TurnInput::Message(vec![MessagePart::text(says)]),
            registration: ConnectionRegistration::default(),
            questions: None,
            debug: false,
            time_zone: None,
        }
    }

    pub(crate) async fn try_start(&self, turn: TurnRequest) -> Result<TurnViewer, StartTurnError> {
        self.conversations.start(turn).await
    }

    pub(crate) async fn start(&self, turn: TurnRequest) -> TurnViewer {
        self.try_start(turn).await.unwrap()
    }

    /// Sends a message and waits for the whole answer.
    pub(crate) async fn say(&self, says: &str) -> TurnEventLog {
        TurnEventLog::collect(self.start(self.turn_request(says)).await).await
    }
}

/// All events that a viewer received.
#[derive(Debug)]
pub(crate) struct TurnEventLog {
    pub(crate) events: Vec<TurnEvent>,
}

impl TurnEventLog {
    /// Collects events until the channel closes.
    pub(crate) async fn collect(mut viewer: TurnViewer) -> Self {
        let mut events = Vec::new();
        while let Some(event) = viewer.events.recv().await {
            events.push(event);
        }
        Self { events }
    }

    /// Returns the end of the turn, which is published once.
    #[track_caller]
    pub(crate) fn end(&self) -> &TurnEnd {
        let ends: Vec<_> = self
            .events
            .iter()
            .filter_map(|event| match event {
                TurnEvent::Ended(end) => Some(end),
                _ => None,
            })
            .collect();
        assert_eq!(ends.len(), 1, "{:?}", self.events);
        ends[0]
    }

    /// Returns the text of all chunks that were not discarded.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for event in &self.events {
            match event {
                TurnEvent::Chunk(chunk) => text.push_str(chunk),
                TurnEvent::ChunkReset => text.clear(),
                _ => {}
            }
        }
        text
    }

    /// Returns the results of calls, in the order of their ends.
    pub(crate) fn tool_results(&self) -> Vec<(CallId, String, Arc<Outcome>)> {
        let result = |event: &TurnEvent| match event {
            TurnEvent::ToolResult { id, name, outcome, .. } => Some((*id, name.clone(), Arc::clone(outcome))),
            _ => None,
        };
        self.events.iter().filter_map(result).collect()
    }

    pub(crate) fn notices(&self) -> Vec<(crate::event::NoticeCode, String)> {
        let notice = |event: &TurnEvent| match event {
            TurnEvent::Notice { code, message } => Some((*code, message.clone())),
            _ => None,
        };
        self.events.iter().filter_map(notice).collect()
    }
}

/// Lets all ready tasks run several times; the paused clock does not advance.
pub(crate) async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}
