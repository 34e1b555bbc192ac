//! MCP in this gateway: the server behind its doors, and the MCP servers that are sources of its tools. What both do is
//! `toolway-mcp`'s; here they are given what they need.

pub mod alone;
pub mod sign_in;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use toolway_core::{Engine, Registry, SpecCache};
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::definition::{Apply, Definitions, DefinitionsParts, SettingsServers};
use toolway_mcp::oauth::Oauth;
use toolway_mcp::offering::Offerings;
use toolway_mcp::server::{HttpServer, SessionLimits, Sessions, Shared};
use toolway_mcp::upstream::{
    HttpClient, HttpMaker, Registered, SecretSource, UpstreamParts, UpstreamSettings, Upstreams,
};
use toolway_tools::secrets::Secrets;
use toolway_types::{Clock, Slug};

use self::sign_in::SignInParts;
use crate::changes::Changes;
use crate::rules::SettingsOrigin;
use crate::settings::Settings;
use crate::sources::Sources;
use crate::toolbox::{KeptSecrets, ToolSurroundings};

/// The file in the data folder that defines MCP servers.
pub const SERVERS_FILE: &str = "mcp.toml";
/// The folder in the data folder that their programs run in.
const FOLDER: &str = "mcp";
/// The variables that every program is given: where it finds others, its user's folders, how it is to speak.
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
/// Most MCP sessions of one principal, as a part of all: one over.
const SHARE_OF_ONE: usize = 2;

/// MCP in this gateway.
pub struct Mcp {
    /// The server over HTTP.
    pub(crate) http: HttpServer,
    /// What all visitors' servers share.
    pub(crate) shared: Arc<Shared>,
    /// The connections to MCP servers.
    pub upstreams: Arc<Upstreams>,
    /// Which there are.
    pub definitions: Arc<Definitions>,
    /// The tokens that they want.
    pub(crate) oauth: Arc<Oauth>,
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("definitions", &self.definitions).finish_non_exhaustive()
    }
}

/// What it is made of.
pub(crate) struct McpParts<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) registry: &'a Arc<Registry>,
    pub(crate) specs: &'a Arc<SpecCache>,
    pub(crate) sources: &'a Arc<Sources>,
    pub(crate) changes: &'a Arc<Changes>,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) data_dir: &'a Path,
    pub(crate) surroundings: &'a ToolSurroundings,
    pub(crate) settings: &'a Settings,
    pub(crate) origin: &'a SettingsOrigin,
    pub(crate) closing: CancellationToken,
}

impl Mcp {
    /// Connects to all servers that are defined, and waits for none of them.
    pub(crate) async fn open(parts: McpParts<'_>) -> Arc<Self> {
        let settings = parts.settings;
        // Weak, since the definitions hold the connections, which hold this.
        let defined: Arc<OnceLock<Weak<Definitions>>> = Arc::default();
        let looked_up = Arc::clone(&defined);
        let oauth = sign_in::oauth(SignInParts {
            data_dir: parts.data_dir,
            settings,
            surroundings: parts.surroundings,
            clock: Arc::clone(parts.clock),
            definition: Arc::new(move |slug| {
                Some(looked_up.get()?.upgrade()?.get(slug.as_str())?.definition)
            }),
            keyring: None,
            browser: None,
        });
        let upstreams = Upstreams::new(UpstreamParts {
            registry: Arc::clone(parts.registry),
            specs: Arc::clone(parts.specs),
            on_registered: registered(parts.changes),
            clock: Arc::clone(parts.clock),
            environment: environment(parts.surroundings),
            folder: parts.data_dir.join(FOLDER),
            secrets: Arc::new(NamedSecrets(KeptSecrets::new(
                settings.secrets.clone(),
                parts.data_dir.join("secrets"),
                Arc::clone(&parts.surroundings.secrets),
            ))),
            http: http_maker(parts.surroundings),
            authorizer: Arc::clone(&oauth) as _,
            client_name: "toolway".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: UpstreamSettings {
                list: settings.mcp.list_s.duration(),
                ..UpstreamSettings::default()
            },
        });
        let definitions = Definitions::open(DefinitionsParts {
            file: parts.data_dir.join(SERVERS_FILE),
            settings: of_settings(settings, parts.origin),
            apply: apply(&upstreams, parts.sources),
        })
        .await;
        // From now on the settings of a server's OAuth can be looked up; before, no connection was waited for.
        let _ = defined.set(Arc::downgrade(&definitions));
        let shared = Shared::new(
            Arc::clone(parts.engine),
            Arc::clone(&upstreams) as Arc<dyn Offerings>,
            env!("CARGO_PKG_VERSION"),
            settings.timeouts.person_s.duration(),
            Arc::clone(parts.clock),
        );
        let most = settings.mcp.sessions;
        let sessions = Sessions::new(SessionLimits {
            most,
            most_of_one: most.div_ceil(SHARE_OF_ONE).max(1),
            idle: settings.mcp.session_idle_s.duration(),
        });
        let body = settings.limits.frame_bytes;
        let http = HttpServer::new(Arc::clone(&shared), sessions, body, parts.closing);
        Arc::new(Self { http, shared, upstreams, definitions, oauth })
    }

    /// The MCP sessions over HTTP.
    #[must_use]
    pub fn sessions(&self) -> &Arc<Sessions> {
        self.http.sessions()
    }

    /// Takes other settings, as far as they count at once.
    pub(crate) async fn apply(&self, settings: &Settings, origin: &SettingsOrigin) {
        self.definitions.set_settings(of_settings(settings, origin)).await;
    }

    /// Ends sessions that are idle, and follows the file that defines servers, until it is told to stop.
    pub(crate) async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let sessions = Arc::clone(self.http.sessions()).watch(stop.clone());
        tokio::join!(sessions, Arc::clone(&self.definitions).watch(stop));
    }

    /// Ends the connections to MCP servers, and their programs.
    pub(crate) async fn shut_down(&self, within: Duration) {
        self.upstreams.shut_down(within).await;
    }
}

fn of_settings(settings: &Settings, origin: &SettingsOrigin) -> SettingsServers {
    SettingsServers {
        servers: settings.mcp.servers.clone(),
        file: origin.file.clone(),
        lines: origin.server_lines.clone(),
    }
}

/// The servers under their own names, but for those whose names devices have already.
fn apply(upstreams: &Arc<Upstreams>, sources: &Arc<Sources>) -> Apply {
    let (upstreams, sources) = (Arc::clone(upstreams), Arc::clone(sources));
    Arc::new(move |definitions: BTreeMap<Slug, ServerDefinition>| {
        let free = definitions.into_iter().filter(|(slug, _)| {
            let is_free = sources.reserve(slug);
            if !is_free {
                tracing::warn!(
                    server = %slug,
                    "an MCP server has the name of a device, and is left out; give it another name"
                );
            }
            is_free
        });
        upstreams.apply(free.collect());
    })
}

fn registered(changes: &Arc<Changes>) -> Registered {
    let changes = Arc::clone(changes);
    Arc::new(move |slug, specs| {
        let changes = Arc::clone(&changes);
        Box::pin(async move { changes.registered(&slug, &specs).await })
    })
}

fn environment(surroundings: &ToolSurroundings) -> BTreeMap<String, String> {
    let of = |name: &&str| {
        let value = surroundings.environment.get(OsStr::new(name))?.to_str()?;
        Some(((*name).to_owned(), value.to_owned()))
    };
    ENVIRONMENT.iter().filter_map(of).collect()
}

fn http_maker(surroundings: &ToolSurroundings) -> HttpMaker {
    let tls = surroundings.tls.clone();
    Arc::new(move || {
        // Without authorities plain HTTP on loopback still works.
        let tls = tls.make().or_else(|_| toolway_tools::web::nobody_trusted())?;
        HttpClient::new(tls, concat!("toolway/", env!("CARGO_PKG_VERSION")))
    })
}

/// The secrets that the owner's tools name, for servers' environments and headers.
struct NamedSecrets(KeptSecrets);

impl SecretSource for NamedSecrets {
    fn secret(&self, name: &str) -> Result<SecretString, String> {
        self.0.named(name).map_err(|error| format!("can't be had: {error}"))
    }
}
