//! What the connections need from outside, and what bounds them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use toolway_core::{Registry, SpecCache, ToolSpec};
use toolway_types::{Clock, Slug};

use super::authorizer::Authorizer;
use super::http_client::UpstreamHttpClient;
use super::secrets::SecretResolver;

/// Makes the HTTP client, when a server at an address is connected to. It may read the disk.
pub type HttpClientFactory = Arc<dyn Fn() -> Result<UpstreamHttpClient, String> + Send + Sync>;

/// Is told of a server's tools whenever they are about to be registered: all of them, by name. They are registered when
/// it has ended, so that what has changed can be marked before anybody sees it.
pub type OnToolsRegistered = Arc<dyn Fn(Slug, Vec<Arc<ToolSpec>>) -> BoxFuture<'static, ()> + Send + Sync>;

/// What the connections need from outside.
#[derive(Clone)]
pub struct UpstreamDeps {
    /// Where tools are registered.
    pub registry: Arc<Registry>,
    /// Compiles their specs.
    pub specs: Arc<SpecCache>,
    /// Is told of what was registered.
    pub on_registered: OnToolsRegistered,
    /// For labels.
    pub clock: Arc<dyn Clock>,
    /// The variables that every child process gets, apart from its own: `PATH`, `HOME`, `TMPDIR`, `LANG` and the like.
    pub environment: BTreeMap<String, String>,
    /// The folder that child processes run in where their definition names none, and where relative ones start.
    pub folder: PathBuf,
    /// Resolves `secret:NAME`.
    pub secrets: Arc<dyn SecretResolver>,
    /// Makes the HTTP client.
    pub http: HttpClientFactory,
    /// Gives tokens.
    pub authorizer: Arc<dyn Authorizer>,
    /// What servers are told of this client: its name.
    pub client_name: String,
    /// And its version.
    pub client_version: String,
    /// What bounds the connections.
    pub settings: UpstreamSettings,
}

impl std::fmt::Debug for UpstreamDeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamDeps").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What bounds the connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// How long connecting may take, from the start of a program to the end of the handshake. Programs may have to be
    /// downloaded first.
    pub connect_timeout: Duration,
    /// How long a server may leave `server/discover` without an answer until it is taken for one of the older era.
    pub probe_timeout: Duration,
    /// How long listing a server's tools may take.
    pub list_timeout: Duration,
    /// How long a request may take that no engine gives a deadline: lists, resources, prompts, completion.
    pub request_timeout: Duration,
    /// How long a call waits for a server that is just being connected to anew.
    pub reconnect_timeout: Duration,
    /// How long a program that was told to end may take before it is killed.
    pub stop_timeout: Duration,
    /// The longest wait before connecting anew.
    pub max_backoff: Duration,
    /// How long a connection must have stood until the waits begin small again.
    pub stable_after: Duration,
    /// The longest message, in bytes.
    pub max_message_bytes: usize,
    /// Most tools of one server.
    pub max_tools: usize,
    /// Most pages of one list.
    pub max_pages: usize,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(60),
            probe_timeout: Duration::from_secs(5),
            list_timeout: Duration::from_secs(15),
            request_timeout: Duration::from_secs(60),
            reconnect_timeout: Duration::from_secs(5),
            stop_timeout: Duration::from_secs(2),
            max_backoff: Duration::from_secs(60),
            stable_after: Duration::from_secs(60),
            max_message_bytes: 32 << 20,
            max_tools: 2000,
            max_pages: 100,
        }
    }
}
