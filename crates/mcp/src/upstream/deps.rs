//! The dependencies and limits of the connections.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use toolway_core::{Registry, SpecCache, ToolSpec};
use toolway_types::{Clock, Slug};

use super::authorizer::Authorizer;
use super::http_client::UpstreamHttpClient;
use toolway_secrets::SecretReader;

/// Creates the HTTP client for a connection to a server at an address. It may read files.
pub type HttpClientFactory = Arc<dyn Fn() -> Result<UpstreamHttpClient, String> + Send + Sync>;

/// Receives all specs of a server, ordered by name, before its tools are registered. They are registered after the
/// future has completed, so changed tools can be marked before anyone sees them.
pub type OnToolsRegistered = Arc<dyn Fn(Slug, Vec<Arc<ToolSpec>>) -> BoxFuture<'static, ()> + Send + Sync>;

/// The dependencies of the connections.
#[derive(Clone)]
pub struct UpstreamDeps {
    /// The registry of the tools.
    pub registry: Arc<Registry>,
    /// Compiles the specs.
    pub specs: Arc<SpecCache>,
    /// Receives the specs before they are registered.
    pub on_registered: OnToolsRegistered,
    /// The wall clock, for timestamps.
    pub clock: Arc<dyn Clock>,
    /// The environment variables of every child process besides its own: `PATH`, `HOME`, `TMPDIR`, `LANG` and the
    /// like.
    pub environment: BTreeMap<String, String>,
    /// The default working directory of child processes, and the base of relative ones.
    pub folder: PathBuf,
    /// Resolves `secret:NAME`.
    pub secrets: Arc<dyn SecretReader>,
    /// Creates the HTTP client.
    pub http: HttpClientFactory,
    /// Provides access tokens.
    pub authorizer: Arc<dyn Authorizer>,
    /// The client name in the handshake.
    pub client_name: String,
    /// The client version in the handshake.
    pub client_version: String,
    /// The limits of the connections.
    pub settings: UpstreamSettings,
}

impl std::fmt::Debug for UpstreamDeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamDeps").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The limits of the connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Timeout for connecting, from the start of a program to the end of the handshake. A program may have to be
    /// downloaded first.
    pub connect_timeout: Duration,
    /// Timeout for `server/discover`, after which the server counts as one of the older era.
    pub probe_timeout: Duration,
    /// Timeout for listing the tools of a server.
    pub list_timeout: Duration,
    /// Timeout for requests without a deadline of the engine: lists, resources, prompts, completion.
    pub request_timeout: Duration,
    /// Time that a call waits for a server that is reconnecting.
    pub reconnect_timeout: Duration,
    /// Time for a program to exit before it is killed.
    pub stop_timeout: Duration,
    /// Maximum delay before a reconnect.
    pub max_backoff: Duration,
    /// Uptime of a connection after which the delays start small again.
    pub stable_after: Duration,
    /// Time after which an unused second connection, for clients of the older era, is closed.
    pub older_idle_timeout: Duration,
    /// Maximum length of a message, in bytes.
    pub max_message_bytes: usize,
    /// Maximum number of tools of one server.
    pub max_tools: usize,
    /// Maximum number of pages of one list.
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
            older_idle_timeout: Duration::from_secs(300),
            max_message_bytes: 32 << 20,
            max_tools: 2000,
            max_pages: 100,
        }
    }
}
