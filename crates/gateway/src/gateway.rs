//! A gateway from start to stop: opens the data, binds, serves, and shuts down in an order that loses
//! nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolway_core::{ActiveGrants, BlockingPool, Engine, EngineParts, EngineSettings, Registry, SpecCache};
use toolway_mcp::oauth::OauthHttpClient;
use toolway_store::{Durability as StoreDurability, Store, StoreError, StoreOptions};
use toolway_types::Clock;

use crate::access::interfaces::own_addresses;
use crate::access::{AccessControl, AccessError, TokenIssuer};
use crate::call_recorder::{CallRecorder, CallTail};
use crate::chat::{self, ChatParts, ChatService};
use crate::gateway_tools::{self, GatewayTools, ToolEnv};
use crate::grants::{self, DatabaseGrantStore};
use crate::http;
use crate::listener::GatewayAddress;
use crate::log_limiter::LogLimiter;
use crate::mcp::{McpParts, McpService};
use crate::memory_budget::{LastingMemory, MemoryBudget, machine};
use crate::metrics::GatewayMetrics;
use crate::peer_connection::ConnectionPool;
use crate::principal_shares::PrincipalShares;
use crate::router;
use crate::rules::{PolicyRules, SettingsOrigin};
use crate::server::{self, BindError, ListenerHandle, ServeOptions};
use crate::settings::{Durability, SettingError, Settings};
use crate::sources::{DeviceSources, SourceLimits};
use crate::state::{AppState, ReloadError};
use crate::tls::{ListenerTls, TlsError};
use crate::tool_changes::ToolChangeTracker;

/// Maximum number of large JSON texts that are parsed at the same time.
const MAX_PARSE_JOBS: usize = 4;
/// Maximum number of those of one principal.
const MAX_PARSE_JOBS_PER_PRINCIPAL: usize = 2;

/// Options for starting a gateway.
#[derive(Debug)]
pub struct GatewayOptions {
    /// The settings.
    pub settings: Settings,
    /// The data folder.
    pub data_dir: PathBuf,
    /// Location of the settings.
    pub origin: SettingsOrigin,
    /// Environment of the gateway's own tools and hooks.
    pub tool_env: ToolEnv,
    /// Names of this computer, for the gateway's own certificate.
    pub host_names: Vec<String>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}

/// Error when starting a gateway.
#[derive(Debug, thiserror::Error)]
pub enum GatewayStartError {
    /// The settings are invalid.
    #[error("{} of the settings can't be used", .0.len())]
    Settings(Vec<SettingError>),
    /// The address can't be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// TLS can't be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The database can't be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The tokens can't be read or created.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Error when applying settings.
#[derive(Debug, thiserror::Error)]
pub enum ApplySettingsError {
    /// The settings are invalid.
    #[error("{} of the settings can't be used", .0.len())]
    Settings(Vec<SettingError>),
    /// The database can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    app: Arc<AppState>,
    serving: ListenerHandle,
    background: TaskTracker,
    stop_background: CancellationToken,
}

impl Gateway {
    /// Starts a gateway.
    ///
    /// # Errors
    /// [`GatewayStartError`]; then nothing listens.
    pub async fn start(options: GatewayOptions) -> Result<Self, GatewayStartError> {
        let GatewayOptions { settings, origin, tool_env: tools, data_dir, host_names, clock } = options;
        settings.validate().map_err(GatewayStartError::Settings)?;
        for warning in settings.warnings() {
            tracing::warn!(hint = warning.hint, "{warning}");
        }
        let listener = server::bind(settings.listen)?;
        let local =
            listener.local_addr().map_err(|source| BindError { address: settings.listen.0, source })?;
        let store = Store::open(&data_dir, Arc::clone(&clock), store_options(&settings)).await?;
        let tls = match settings.tls.is_on(settings.listen) {
            true => Some(Arc::new(
                ListenerTls::open(&settings.tls, &data_dir, certificate_names(&settings, host_names)).await?,
            )),
            false => None,
        };
        let access = AccessControl::open(&settings, &data_dir, store.clone(), Arc::clone(&clock)).await?;
        let access = access.with_issuer(build_issuer(&settings, &tools, &clock));
        let metrics = Arc::new(GatewayMetrics::default());
        let registry = Registry::new();
        let tail = CallTail::default();
        let recorder = CallRecorder::new(store.recorder(), Arc::clone(&metrics), tail.clone());
        let engine = Engine::new(EngineParts {
            recorder,
            settings: engine_settings(&settings),
            grants: ActiveGrants::new(
                grants::load_grants(&store, clock.now_ms()).await?,
                DatabaseGrantStore::new(store.clone(), Arc::clone(&clock)),
            ),
            ..EngineParts::new(Arc::clone(&registry), Arc::clone(&clock))
        });
        let sources = DeviceSources::load(
            Arc::clone(&registry),
            store.clone(),
            Arc::clone(&clock),
            SourceLimits {
                per_owner: settings.limits.sources_per_owner,
                per_token: settings.limits.sources_per_token,
            },
        )
        .await?;
        let rules = PolicyRules::open(
            Arc::clone(&engine),
            store.clone(),
            Arc::clone(&clock),
            &settings,
            origin.clone(),
        )
        .await?;
        let (changes, comparing) =
            ToolChangeTracker::open(Arc::clone(&engine), store.clone(), Arc::clone(&clock)).await?;
        let memory = MemoryBudget::new(
            settings.limits.memory_bytes.map_or_else(machine::default_bytes, |bytes| bytes as u64),
            settings.limits.frame_bytes as u64,
        );
        let lasting_memory = Arc::new(LastingMemory(Arc::clone(&memory)));
        let chat = ChatService::open(ChatParts {
            memory: Arc::clone(&lasting_memory) as _,
            engine: Arc::clone(&engine),
            store: store.clone(),
            clock: Arc::clone(&clock),
            data_dir: data_dir.clone(),
            tool_env: tools.clone(),
            settings: &settings,
        })
        .await?;
        let specs = Arc::new(SpecCache::default());
        let closing = CancellationToken::new();
        let parse_jobs = Arc::new(BlockingPool::new(MAX_PARSE_JOBS, MAX_PARSE_JOBS_PER_PRINCIPAL));
        let mcp = McpService::open(McpParts {
            engine: &engine,
            registry: &registry,
            specs: &specs,
            sources: &sources,
            changes: &changes,
            clock: &clock,
            parse_jobs: &parse_jobs,
            data_dir: &data_dir,
            tool_env: &tools,
            settings: &settings,
            origin: &origin,
            closing: closing.clone(),
            memory: lasting_memory,
        })
        .await;
        let toolbox =
            GatewayTools::open(Arc::clone(&engine), Arc::clone(&clock), data_dir.clone(), tools, &settings)
                .await
                .map_err(GatewayStartError::Settings)?;
        toolbox.merge_agent_folders(&settings, chat.agent_names()).await;
        let address = GatewayAddress {
            local,
            tls: tls.is_some(),
            pin: tls.as_ref().and_then(|tls| tls.own_pin()),
            public_url: settings.public_url.clone(),
        };
        let app = Arc::new(AppState {
            parse_jobs,
            connection_pool: ConnectionPool::new(
                settings.limits.connections,
                settings.limits.connections_per_principal,
            ),
            memory,
            peer_log: LogLimiter::default(),
            event_streams: PrincipalShares::new(settings.limits.sse_streams),
            settings: Arc::new(settings),
            clock,
            store,
            access: Arc::new(access),
            metrics,
            registry,
            engine,
            sources,
            gateway_tools: toolbox,
            rules,
            tool_changes: changes,
            chat,
            mcp,
            call_tail: tail,
            specs,
            tls,
            address,
            connections: TaskTracker::new(),
            closing,
            started: Instant::now(),
        });
        let (background, stop_background) = (TaskTracker::new(), CancellationToken::new());
        if let Some(tls) = &app.tls {
            background.spawn(Arc::clone(tls).watch(stop_background.clone()));
        }
        background.spawn(gateway_tools::watch(Arc::clone(&app.gateway_tools), stop_background.clone()));
        background.spawn(chat::watch(Arc::clone(&app.chat), stop_background.clone()));
        background.spawn(Arc::clone(&app.mcp).watch(stop_background.clone()));
        background.spawn(run_until_stopped(stop_background.clone(), comparing));
        background.spawn(run_retention(app.store.clone(), stop_background.clone()));
        let serving = server::serve(
            listener,
            ServeOptions {
                router: router::router(Arc::clone(&app)),
                tls: app.tls.clone(),
                max_connections: app.settings.limits.connections,
                pool: Arc::clone(&app.connection_pool),
                handshake_timeout: app.settings.timeouts.request_s.duration(),
                write_timeout: app.settings.timeouts.write_s.duration(),
                open_connections: app.connections.clone(),
            },
        );
        tracing::info!(url = app.address.own_url(), tls = app.address.tls, "listening");
        Ok(Self { app, serving, background, stop_background })
    }

    /// Returns the state of the gateway.
    #[must_use]
    pub fn app(&self) -> &Arc<AppState> {
        &self.app
    }

    /// Returns the URL for programs on this computer.
    #[must_use]
    pub fn url(&self) -> String {
        self.app.address.own_url()
    }

    /// Creates a token for this computer's own device.
    ///
    /// # Errors
    /// [`AccessError`] if it can't be stored.
    pub async fn issue_local_device(&self) -> Result<SecretString, AccessError> {
        self.app.access.issue_local_device().await
    }

    /// Reloads what may have changed outside: the owner's certificate and a restored database.
    ///
    /// # Errors
    /// [`ReloadError`]; the part that failed is unchanged.
    pub async fn reload(&self) -> Result<(), ReloadError> {
        self.app.reload().await
    }

    /// Applies settings that take effect at once ([`Settings::applies_immediately`]). Others take effect at the
    /// next start. All settings are checked before any is replaced.
    ///
    /// # Errors
    /// [`ApplySettingsError`]; then nothing has changed.
    pub async fn apply(&self, settings: &Settings, origin: SettingsOrigin) -> Result<(), ApplySettingsError> {
        settings.validate().map_err(ApplySettingsError::Settings)?;
        let tools = self.app.gateway_tools.prepare(settings).await.map_err(ApplySettingsError::Settings)?;
        self.app.rules.apply(settings, origin.clone()).await?;
        tools.activate();
        self.app.gateway_tools.merge_agent_folders(settings, self.app.chat.agent_names()).await;
        self.app.mcp.apply_definitions(settings, &origin).await;
        self.app.engine.set_settings(engine_settings(settings));
        self.app.chat.apply(settings);
        Ok(())
    }

    /// Shuts down within `timeouts.shutdown_s`: accepts no more connections, lets turns and calls finish or
    /// ends them, closes sockets with a reason, and writes pending data.
    pub async fn shut_down(self) {
        let within = self.app.settings.timeouts.shutdown_s.duration();
        let deadline = Instant::now() + within;
        self.serving.stop_accepting();
        // Half of the time is for turns and then other calls to finish; the other half is for clients to
        // receive the results. Turns make calls, so turns end first.
        self.app.chat.conversations.shut_down(within / 4).await;
        let half = within.saturating_sub(within / 2);
        let left = deadline.saturating_duration_since(Instant::now()).saturating_sub(half);
        self.app.engine.shut_down(left).await;
        let rest = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        self.app.mcp.shut_down(rest.min(Duration::from_secs(5))).await;
        self.app.closing.cancel();
        self.stop_background.cancel();
        let left = self.serving.shut_down(deadline.saturating_duration_since(Instant::now())).await;
        if left > 0 {
            tracing::warn!(left, "connections were still open after timeouts.shutdown_s");
        }
        self.background.close();
        self.background.wait().await;
        // Writing gets at least a second, even after the deadline.
        let rest = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        if tokio::time::timeout(rest, self.app.store.close()).await.is_err() {
            tracing::error!("the database did not close in time; the last call records may be lost");
        }
    }
}

/// Runs `work` until `stop`.
async fn run_until_stopped(stop: CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Removes old records periodically.
async fn run_retention(store: Store, stop: CancellationToken) {
    while tokio::time::timeout(RETENTION_EVERY, stop.cancelled()).await.is_err() {
        match store.enforce_retention().await {
            Ok(removed) if removed.calls == 0 => {}
            Ok(removed) => tracing::info!(calls = removed.calls, "removed old call records"),
            Err(error) => tracing::warn!(%error, "cannot remove old call records"),
        }
    }
}

/// Interval between removals of old records.
const RETENTION_EVERY: Duration = Duration::from_secs(600);

/// Creates the issuer whose tokens are valid for MCP clients, if one is set.
fn build_issuer(settings: &Settings, given: &ToolEnv, clock: &Arc<dyn Clock>) -> Option<TokenIssuer> {
    let issuer = settings.mcp.issuer.clone()?;
    let resource = settings
        .public_url
        .as_ref()
        .map(|url| format!("{}{}", url.trim_end_matches('/'), http::MCP_RESOURCE));
    let tls = given.tls.clone();
    Some(TokenIssuer::new(
        issuer,
        resource.as_deref(),
        OauthHttpClient::new(move || tls.make()),
        Arc::clone(clock),
    ))
}

fn certificate_names(settings: &Settings, mut names: Vec<String>) -> Vec<String> {
    let public = settings.public_url.as_deref().and_then(crate::net::address::WebOrigin::parse);
    names.extend(public.map(|origin| origin.host.to_string().trim_matches(['[', ']']).to_owned()));
    names.extend(own_addresses().into_iter().map(|ip| ip.to_string()));
    names
}

fn store_options(settings: &Settings) -> StoreOptions {
    let calls = &settings.calls;
    StoreOptions {
        durability: match calls.durability {
            Durability::Batch => StoreDurability::Batch,
            Durability::PerCall => StoreDurability::Each,
        },
        record_bytes: calls.record_bytes,
        retention_days: calls.retention_days,
        retention_bytes: calls.retention_bytes,
        ..StoreOptions::default()
    }
}

fn engine_settings(settings: &Settings) -> EngineSettings {
    let (timeouts, limits) = (&settings.timeouts, &settings.limits);
    EngineSettings {
        default_timeout: timeouts.tool_s.duration(),
        timeout_cap: timeouts.max_tool_s.duration(),
        tool_timeouts: timeouts
            .tools
            .iter()
            .filter_map(|(tool, limit)| Some((tool.parse().ok()?, limit.duration())))
            .collect(),
        person_timeout: timeouts.approval_s.duration(),
        calls_in_flight: limits.calls_in_flight,
        parallel_calls: limits.parallel_calls_per_principal,
        output_bytes: limits.output_bytes,
        model_text_bytes: limits.model_result_bytes,
        redact: settings.calls.redact.iter().map(|name| name.to_lowercase()).collect(),
        ..EngineSettings::default()
    }
}
