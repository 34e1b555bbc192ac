//! What every handler and connection shares.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolway_core::consent::{AnswerError, ConsentDecision, ConsentScope, Question, QuestionKind};
use toolway_core::{Engine, Registry, SpecCache};
use toolway_store::{Store, StoreError};
use toolway_types::{Clock, Principal};
use toolway_wire::limits::ConnectionLimits;

use crate::access::{AccessControl, AccessError};
use crate::call_recorder::CallTail;
use crate::chat::ChatService;
use crate::gateway_tools::GatewayTools;
use crate::grants;
use crate::listener::GatewayAddress;
use crate::mcp::McpService;
use crate::metrics::{GatewayMetrics, MetricsSnapshot};
use crate::rules::PolicyRules;
use crate::settings::Settings;
use crate::sources::DeviceSources;
use crate::tls::{ListenerTls, TlsError};
use crate::tool_changes::{AcceptedVersion, ToolChangeTracker};

/// Why something that changed could not be taken in.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tokens.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// What is stored: sources, rules, grants, specs.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// As many event streams are open as may be.
#[derive(Debug, thiserror::Error)]
#[error("{0} event streams are open already")]
pub(crate) struct TooManyEventStreams(usize);

/// A running gateway's parts.
#[derive(Debug)]
pub struct AppState {
    /// The settings it was started with.
    pub settings: Arc<Settings>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What is kept.
    pub store: Store,
    /// Who may come in.
    pub access: Arc<AccessControl>,
    /// What is counted.
    pub metrics: Arc<GatewayMetrics>,
    /// Which tools there are.
    pub registry: Arc<Registry>,
    /// What runs calls.
    pub engine: Arc<Engine>,
    /// Who offers tools.
    pub sources: Arc<DeviceSources>,
    /// The gateway's own tools.
    pub(crate) gateway_tools: Arc<GatewayTools>,
    /// The rules that hold.
    pub(crate) rules: Arc<PolicyRules>,
    /// Whether tools are what they were.
    pub(crate) tool_changes: Arc<ToolChangeTracker>,
    /// Models, agents and what is said with them.
    pub chat: Arc<ChatService>,
    /// MCP, out and in.
    pub mcp: Arc<McpService>,
    /// Where ended calls can be followed.
    pub(crate) call_tail: CallTail,
    /// Compiled specs; equal ones share one.
    pub specs: Arc<SpecCache>,
    /// What encrypts, where something does.
    pub tls: Option<Arc<ListenerTls>>,
    /// Where it is reached.
    pub address: GatewayAddress,
    /// Room for event streams.
    pub(crate) event_streams: Arc<Semaphore>,
    /// Open connections, WebSockets among them.
    pub connections: TaskTracker,
    /// Cancelled when connections are to close.
    pub closing: CancellationToken,
    /// When it was started.
    pub started: Instant,
}

/// The state of the router: handlers take all of the gateway from it, or the parts that they name in `State<…>`.
///
/// It is a type of its own because [`FromRef`] can't be implemented for `Arc<AppState>`: neither is of this crate.
#[derive(Debug, Clone)]
pub(crate) struct RouterState(pub(crate) Arc<AppState>);

impl FromRef<RouterState> for Arc<AppState> {
    fn from_ref(RouterState(app): &RouterState) -> Self {
        Self::clone(app)
    }
}

/// Lets handlers take these fields of [`AppState`].
macro_rules! substates {
    ($($field:ident: $type:ty),+ $(,)?) => {
        $(impl FromRef<RouterState> for $type {
            fn from_ref(RouterState(app): &RouterState) -> Self {
                app.$field.clone()
            }
        })+
    };
}

substates!(
    access: Arc<AccessControl>,
    chat: Arc<ChatService>,
    clock: Arc<dyn Clock>,
    engine: Arc<Engine>,
    mcp: Arc<McpService>,
    registry: Arc<Registry>,
    rules: Arc<PolicyRules>,
    store: Store,
);

impl AppState {
    /// Takes in what changed outside: the owner's certificate, definitions of tools, models and agents, and a
    /// database that was restored.
    ///
    /// # Errors
    /// [`ReloadError`]; what could not be taken in stands as before.
    pub async fn reload(&self) -> Result<(), ReloadError> {
        if let Some(tls) = &self.tls {
            tls.reload().await?;
        }
        self.access.tokens.reload().await?;
        self.sources.reload().await?;
        self.gateway_tools.reload().await;
        if let Err(problems) = self.mcp.definitions.reload().await {
            tracing::warn!(
                problems = problems.len(),
                "the file of MCP servers can't be used; what stood before stands"
            );
        }
        self.rules.reload().await?;
        self.chat.reload().await?;
        self.engine.grants().load(grants::load_grants(&self.store, self.clock.now_ms()).await?);
        self.compare_registered().await?;
        tracing::info!(
            "read the certificate, the tokens, the sources, the owner's tools, models, agents, rules and grants again"
        );
        Ok(())
    }

    /// Compares all that is registered with what is stored, which may be older than what was compared with.
    async fn compare_registered(&self) -> Result<(), StoreError> {
        for source in self.sources.all().iter().filter(|source| source.identity().is_some()) {
            let snapshot = self.registry.snapshot();
            let tools = snapshot.source(source.slug()).map(|source| source.tools().to_vec());
            let specs: Vec<_> =
                tools.unwrap_or_default().iter().map(|tool| Arc::clone(tool.spec())).collect();
            self.tool_changes.submit(source.slug(), &specs).await;
        }
        self.tool_changes.reload().await
    }

    /// Answers an open question.
    ///
    /// # Errors
    /// [`CannotAnswer`]; the question stays open.
    pub(crate) async fn answer(
        &self,
        question: &str,
        by: &Principal,
        choice: ConsentDecision,
        scope: ConsentScope,
    ) -> Result<Arc<Question>, AnswerError> {
        let id = question.parse().map_err(|_| AnswerError::NotOpen)?;
        let question = self.engine.questions().answer(id, by, choice, scope)?;
        tracing::info!(tool = %question.tool, by = %by.id, ?choice, ?scope, "a question was answered");
        let accepts = choice == ConsentDecision::Granted && scope == ConsentScope::Always;
        if question.kind == QuestionKind::ChangedTool && accepts {
            let tool = &question.tool;
            match self.tool_changes.accept(tool, AcceptedVersion::AsOf(question.asked_ms)).await {
                Ok(true) => {}
                Ok(false) => {
                    tracing::warn!(%tool, "a tool changed again while the owner was asked, and is not accepted");
                }
                Err(error) => tracing::warn!(%error, %tool, "a changed tool could not be accepted"),
            }
        }
        Ok(question)
    }

    /// Room for one more event stream.
    ///
    /// # Errors
    /// Where as many are open as may be.
    pub(crate) fn reserve_event_stream(&self) -> Result<OwnedSemaphorePermit, TooManyEventStreams> {
        let limit = self.settings.limits.sse_streams;
        Arc::clone(&self.event_streams).try_acquire_owned().map_err(|_| TooManyEventStreams(limit))
    }

    /// How often connections are pinged.
    #[must_use]
    pub fn heartbeat(&self) -> Duration {
        self.settings.timeouts.heartbeat_s.duration()
    }

    /// The same in milliseconds, as devices are told.
    #[must_use]
    pub fn heartbeat_ms(&self) -> u64 {
        u64::try_from(self.heartbeat().as_millis()).unwrap_or(u64::MAX)
    }

    /// How long a connection may take nothing of what it is sent until it counts as not reading.
    #[must_use]
    pub fn write_timeout(&self) -> Duration {
        self.settings.timeouts.write_s.duration()
    }

    /// How long a device that lost its connection may take to come back.
    #[must_use]
    pub fn resume_grace(&self) -> Duration {
        self.settings.timeouts.resume_grace_s.duration()
    }

    /// The limits that a connection is told.
    #[must_use]
    pub fn wire_limits(&self) -> ConnectionLimits {
        let limits = &self.settings.limits;
        ConnectionLimits {
            frame_bytes: limits.frame_bytes,
            tools_per_connection: limits.tools_per_connection,
            spec_bytes_per_connection: limits.spec_bytes_per_connection,
            calls_in_flight_per_device: limits.calls_in_flight_per_device,
            json_depth: toolway_wire::MAX_DEPTH,
        }
    }

    /// What metrics read from elsewhere.
    #[must_use]
    pub fn metrics_snapshot(&self) -> MetricsSnapshot {
        let snapshot = self.registry.snapshot();
        let health = self.store.health();
        MetricsSnapshot {
            connections: self.connections.len(),
            sources: snapshot.sources().filter(|(_, source)| source.is_online()).count(),
            tools: snapshot.tools().count(),
            calls_in_flight: self.engine.in_flight(),
            calls_abandoned: self.engine.abandoned_runs(),
            records_written: health.records_written,
            records_lost: health.records_lost,
            records_waiting: health.records_waiting,
            uptime_s: self.started.elapsed().as_secs(),
        }
    }
}
