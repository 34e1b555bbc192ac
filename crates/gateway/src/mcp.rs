//! MCP in this gateway: the server for MCP clients, and the connections to MCP servers, which are sources of
//! tools. Both are in `toolway-mcp`. This module connects them to the gateway and has the rules for changing
//! servers at run time.

mod server_admin;
mod server_change;
pub mod sign_in;
pub mod standalone;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolway_core::{BlockingPool, Engine, PeerMemory, Registry, SpecCache};
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::definition::{ApplyServersFn, ServerDefinitions, ServerDefinitionsDeps, SettingsServers};
use toolway_mcp::offering::OfferingRegistry;
use toolway_mcp::server::{McpHttpServer, McpServerState, McpSessionLimits, McpSessions};
use toolway_mcp::upstream::{
    HttpClientFactory, OnToolsRegistered, UpstreamDeps, UpstreamHttpClient, UpstreamManager, UpstreamSettings,
};
use toolway_types::{Clock, Slug};

use self::server_admin::McpServerAdmin;
pub(crate) use self::server_change::{ServerChangeError, parse_name};
use self::sign_in::SignInParts;
use crate::gateway_tools::ToolEnv;
use crate::rules::SettingsOrigin;
use crate::settings::Settings;
use crate::sources::DeviceSources;
use crate::tool_changes::ToolChangeTracker;
use toolway_secrets::NamedSecrets;

/// The file in the data folder that defines MCP servers.
pub const SERVERS_FILE: &str = "mcp.toml";
/// Working folder of the servers' programs, in the data folder.
const FOLDER: &str = "mcp";
/// Environment variables that every program gets: search paths, user folders and language.
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TERM",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "COMSPEC",
    "PROGRAMFILES",
];
/// Maximum number of MCP sessions of one principal, as a divisor of the maximum of all.
const PRINCIPAL_SESSION_SHARE: usize = 2;

/// MCP in this gateway.
pub struct McpService {
    /// The server over HTTP.
    pub(crate) http: McpHttpServer,
    /// The state that the servers of all clients share.
    pub(crate) shared: Arc<McpServerState>,
    /// The connections to MCP servers.
    pub upstreams: Arc<UpstreamManager>,
    /// The defined servers.
    pub definitions: Arc<ServerDefinitions>,
    /// Changes the definitions at run time.
    pub(crate) admin: McpServerAdmin,
}

impl fmt::Debug for McpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpService").field("definitions", &self.definitions).finish_non_exhaustive()
    }
}

/// The parts of an [`McpService`].
pub(crate) struct McpParts<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) registry: &'a Arc<Registry>,
    pub(crate) specs: &'a Arc<SpecCache>,
    pub(crate) sources: &'a Arc<DeviceSources>,
    pub(crate) changes: &'a Arc<ToolChangeTracker>,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) parse_jobs: &'a Arc<BlockingPool>,
    pub(crate) data_dir: &'a Path,
    pub(crate) tool_env: &'a ToolEnv,
    pub(crate) settings: &'a Settings,
    pub(crate) origin: &'a SettingsOrigin,
    pub(crate) closing: CancellationToken,
    /// Memory of the sessions.
    pub(crate) memory: Arc<dyn PeerMemory>,
}

impl McpService {
    /// Connects to all defined servers without waiting for any.
    pub(crate) async fn open(parts: McpParts<'_>) -> Arc<Self> {
        let settings = parts.settings;
        // Weak, because the definitions own the connections, which own this.
        let defined: Arc<OnceLock<Weak<ServerDefinitions>>> = Arc::default();
        let looked_up = Arc::clone(&defined);
        let oauth = sign_in::build_oauth(SignInParts {
            data_dir: parts.data_dir,
            settings,
            tool_env: parts.tool_env,
            clock: Arc::clone(parts.clock),
            // The first connections may need it before it is set. It is called on threads for blocking work.
            definition: Arc::new(move |slug| {
                Some(looked_up.wait().upgrade()?.get(slug.as_str())?.definition)
            }),
            keyring: None,
            browser: None,
        });
        let upstreams = UpstreamManager::new(UpstreamDeps {
            registry: Arc::clone(parts.registry),
            specs: Arc::clone(parts.specs),
            on_registered: registration_callback(parts.changes),
            clock: Arc::clone(parts.clock),
            environment: environment(parts.tool_env),
            folder: parts.data_dir.join(FOLDER),
            secrets: Arc::new(NamedSecrets::new(
                &settings.secrets,
                parts.data_dir.join("secrets"),
                Arc::clone(&parts.tool_env.secrets),
            )),
            http: http_maker(parts.tool_env),
            authorizer: Arc::clone(&oauth) as _,
            client_name: "toolway".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: UpstreamSettings {
                list_timeout: settings.mcp.list_timeout_s.duration(),
                ..UpstreamSettings::default()
            },
        });
        let definitions = ServerDefinitions::open(ServerDefinitionsDeps {
            file: parts.data_dir.join(SERVERS_FILE),
            settings: settings_servers(settings, parts.origin),
            apply: apply(&upstreams, parts.sources),
        })
        .await;
        // From here on, the OAuth settings of a server can be looked up.
        let _ = defined.set(Arc::downgrade(&definitions));
        let shared = McpServerState::new(
            Arc::clone(parts.engine),
            Arc::clone(&upstreams) as Arc<dyn OfferingRegistry>,
            env!("CARGO_PKG_VERSION"),
            settings.timeouts.approval_s.duration(),
            Arc::clone(parts.clock),
            Arc::clone(parts.parse_jobs),
        );
        let most = settings.mcp.max_sessions;
        let limits = McpSessionLimits {
            max_sessions: most,
            max_per_principal: most.div_ceil(PRINCIPAL_SESSION_SHARE).max(1),
            idle_timeout: settings.mcp.session_idle_s.duration(),
        };
        let sessions = McpSessions::new(limits, parts.memory);
        let body = settings.limits.frame_bytes;
        let http = McpHttpServer::new(Arc::clone(&shared), sessions, body, parts.closing);
        let admin = McpServerAdmin {
            definitions: Arc::clone(&definitions),
            upstreams: Arc::clone(&upstreams),
            oauth,
            sources: Arc::clone(parts.sources),
            allow_commands: settings.allow_remote_commands,
        };
        Arc::new(Self { http, shared, upstreams, definitions, admin })
    }

    /// Returns the MCP sessions over HTTP.
    #[must_use]
    pub fn sessions(&self) -> &Arc<McpSessions> {
        self.http.sessions()
    }

    /// Applies settings that take effect at once.
    pub(crate) async fn apply_definitions(&self, settings: &Settings, origin: &SettingsOrigin) {
        self.definitions.set_settings(settings_servers(settings, origin)).await;
    }

    /// Ends idle sessions and follows the file of MCP servers, until `stop`.
    pub(crate) async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let sessions = Arc::clone(self.http.sessions()).expire_idle(stop.clone());
        tokio::join!(sessions, Arc::clone(&self.definitions).watch(stop));
    }

    /// Closes the connections to MCP servers and ends their programs.
    pub(crate) async fn shut_down(&self, within: Duration) {
        self.upstreams.shut_down(within).await;
    }
}

fn settings_servers(settings: &Settings, origin: &SettingsOrigin) -> SettingsServers {
    SettingsServers {
        servers: settings.mcp.servers.clone(),
        file: origin.file.clone(),
        lines: origin.server_lines.clone(),
    }
}

/// Connects to the servers under their names, except those whose names belong to devices.
fn apply(upstreams: &Arc<UpstreamManager>, sources: &Arc<DeviceSources>) -> ApplyServersFn {
    let (upstreams, sources) = (Arc::clone(upstreams), Arc::clone(sources));
    Arc::new(move |definitions: BTreeMap<Slug, ServerDefinition>| {
        let free = definitions.into_iter().filter(|(slug, _)| {
            let is_free = sources.reserve(slug);
            if !is_free {
                tracing::warn!(
                    server = %slug,
                    "MCP server not connected: a device has this name; add the server under another name"
                );
            }
            is_free
        });
        upstreams.apply(free.collect());
    })
}

fn registration_callback(changes: &Arc<ToolChangeTracker>) -> OnToolsRegistered {
    let changes = Arc::clone(changes);
    Arc::new(move |slug, specs| {
        let changes = Arc::clone(&changes);
        Box::pin(async move { changes.submit(&slug, &specs).await })
    })
}

fn environment(env: &ToolEnv) -> BTreeMap<String, String> {
    let of = |name: &&str| {
        let value = env.environment.get(OsStr::new(name))?.to_str()?;
        Some(((*name).to_owned(), value.to_owned()))
    };
    ENVIRONMENT.iter().filter_map(of).collect()
}

fn http_maker(env: &ToolEnv) -> HttpClientFactory {
    let tls = env.tls.clone();
    Arc::new(move || {
        // Without certificate authorities, plain HTTP on loopback still works.
        let tls = tls.make().or_else(|_| toolway_tools::web::empty_tls_config())?;
        UpstreamHttpClient::new(tls, concat!("toolway/", env!("CARGO_PKG_VERSION")))
    })
}
