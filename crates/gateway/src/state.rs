//! The state that handlers and connections share, and the parts of it that handlers can extract.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolway_core::consent::{AnswerError, ConsentDecision, ConsentScope, Question, QuestionKind};
use toolway_core::{BlockingPool, Engine, Registry, SpecCache};
use toolway_store::{Store, StoreError};
use toolway_types::{Clock, Principal};
use toolway_wire::limits::ConnectionLimits;

use crate::access::{AccessControl, AccessError};
use crate::call_recorder::CallTail;
use crate::chat::ChatService;
use crate::gateway_tools::GatewayTools;
use crate::grants;
use crate::listener::GatewayAddress;
use crate::log_limiter::LogLimiter;
use crate::mcp::McpService;
use crate::memory_budget::MemoryBudget;
use crate::metrics::{GatewayMetrics, MetricsSnapshot};
use crate::peer_connection::ConnectionPool;
use crate::principal_shares::{NoPlace, PrincipalShares, SharedPlace};
use crate::rules::PolicyRules;
use crate::settings::Settings;
use crate::sources::DeviceSources;
use crate::tls::{ListenerTls, TlsError};
use crate::tool_changes::{AcceptedVersion, ToolChangeTracker};

/// Error when reloading data that has changed.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The certificate can't be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tokens can't be read.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The database can't be read: sources, rules, grants and specs.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The maximum number of event streams is open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TooManyEventStreams {
    /// All principals together have this many.
    #[error("{0} event streams are open already")]
    InTotal(usize),
    /// This principal alone has this many.
    #[error("this token has {0} event streams open already")]
    OfPrincipal(usize),
}

/// The parts of a running gateway.
#[derive(Debug)]
pub struct AppState {
    /// The settings that the gateway was started with.
    pub settings: Arc<Settings>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The database.
    pub store: Store,
    /// Tokens, pairing codes and the other checks of a request's sender.
    pub access: Arc<AccessControl>,
    /// The metrics.
    pub metrics: Arc<GatewayMetrics>,
    /// The registered tools.
    pub registry: Arc<Registry>,
    /// The engine that runs calls.
    pub engine: Arc<Engine>,
    /// The devices and their sessions.
    pub sources: Arc<DeviceSources>,
    /// The gateway's own tools.
    pub(crate) gateway_tools: Arc<GatewayTools>,
    /// The policy rules.
    pub(crate) rules: Arc<PolicyRules>,
    /// The changes of tools since the owner accepted them.
    pub(crate) tool_changes: Arc<ToolChangeTracker>,
    /// Models, agents and conversations.
    pub chat: Arc<ChatService>,
    /// The MCP server, and the connections to MCP servers.
    pub mcp: Arc<McpService>,
    /// The stream of ended calls.
    pub(crate) call_tail: CallTail,
    /// Compiled specs. Equal specs share one.
    pub specs: Arc<SpecCache>,
    /// Places for parsing large JSON on blocking threads.
    pub(crate) parse_jobs: Arc<BlockingPool>,
    /// TLS, if it is on.
    pub tls: Option<Arc<ListenerTls>>,
    /// The gateway's address.
    pub address: GatewayAddress,
    /// Limits the log lines that peers cause.
    pub(crate) peer_log: LogLimiter,
    /// The memory that peers may hold.
    pub(crate) memory: Arc<MemoryBudget>,
    /// The connections of the listener.
    pub(crate) connection_pool: Arc<ConnectionPool>,
    /// Places for open event streams.
    pub(crate) event_streams: Arc<PrincipalShares>,
    /// Open connections, including WebSockets.
    pub connections: TaskTracker,
    /// Cancelled when the gateway closes its connections.
    pub closing: CancellationToken,
    /// The time of the gateway's start.
    pub started: Instant,
}

/// The state of the router. Handlers extract all of the gateway, or the parts that they name in `State<…>`.
///
/// It is a separate type because [`FromRef`] can't be implemented for `Arc<AppState>`: neither is of this
/// crate.
#[derive(Debug, Clone)]
pub(crate) struct RouterState(pub(crate) Arc<AppState>);

impl FromRef<RouterState> for Arc<AppState> {
    fn from_ref(RouterState(app): &RouterState) -> Self {
        Self::clone(app)
    }
}

/// Lets handlers extract these fields of [`AppState`].
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
    /// Reloads external changes: the owner's certificate, definitions of tools, models and agents, and a
    /// restored database.
    ///
    /// # Errors
    /// [`ReloadError`]. The part that failed and the parts after it stay as they were.
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
                "the file of MCP servers is invalid; the previous version stays active"
            );
        }
        self.rules.reload().await?;
        self.chat.reload().await?;
        self.engine.grants().load(grants::load_grants(&self.store, self.clock.now_ms()).await?);
        self.compare_registered().await?;
        tracing::info!("reloaded the certificate, tokens, sources, tools, models, agents, rules and grants");
        Ok(())
    }

    /// Compares all registered tools with the accepted ones again: a restored database may have older ones.
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
    /// [`AnswerError`] if the answer is refused. The question stays open.
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
                    tracing::warn!(%tool, "a tool changed again before the owner's answer and is not accepted");
                }
                Err(error) => tracing::warn!(%error, %tool, "cannot accept a changed tool"),
            }
        }
        Ok(question)
    }

    /// Reserves one of the limited event streams.
    ///
    /// # Errors
    /// [`TooManyEventStreams`] if a limit is reached.
    pub(crate) fn reserve_event_stream(
        &self,
        principal: &Principal,
    ) -> Result<SharedPlace, TooManyEventStreams> {
        let share = self.settings.limits.sse_streams_per_principal;
        self.event_streams.take(principal, share).map_err(|refusal| match refusal {
            NoPlace::Full(limit) => TooManyEventStreams::InTotal(limit),
            NoPlace::ShareUsed(limit) => TooManyEventStreams::OfPrincipal(limit),
        })
    }

    /// Returns the interval between pings of a connection.
    #[must_use]
    pub fn heartbeat(&self) -> Duration {
        self.settings.timeouts.heartbeat_s.duration()
    }

    /// Returns the interval between pings in milliseconds, for `connected`.
    #[must_use]
    pub fn heartbeat_ms(&self) -> u64 {
        u64::try_from(self.heartbeat().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the time after which a connection that accepts no data is closed.
    #[must_use]
    pub fn write_timeout(&self) -> Duration {
        self.settings.timeouts.write_s.duration()
    }

    /// Returns the time for a disconnected device to come back.
    #[must_use]
    pub fn resume_grace(&self) -> Duration {
        self.settings.timeouts.resume_grace_s.duration()
    }

    /// Returns the limits for `connected`.
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

    /// Reads the values for metrics from other parts of the gateway.
    #[must_use]
    pub fn metrics_snapshot(&self) -> MetricsSnapshot {
        let snapshot = self.registry.snapshot();
        let health = self.store.health();
        let memory = self.memory.usage();
        MetricsSnapshot {
            connections: self.connections.len(),
            connections_without_token: self.connection_pool.anonymous(),
            memory_used: memory.used,
            memory_limit: memory.total,
            memory_closed: memory.closed,
            schema_bytes: self.specs.compiled_bytes(),
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
