//! What the connections need from outside, and what bounds them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use toolway_core::{Registry, SpecCache, ToolSpec};
use toolway_types::{Clock, Slug};

use super::authorize::Authorizer;
use super::client::HttpClient;
use super::secrets::SecretSource;

/// Makes the HTTP client, when a server at an address is connected to. It may read the disk.
pub type HttpMaker = Arc<dyn Fn() -> Result<HttpClient, String> + Send + Sync>;

/// Is told of a server's tools whenever they are about to be registered: all of them, by name. They are registered when
/// it has ended, so that what has changed can be marked before anybody sees it.
pub type Registered = Arc<dyn Fn(Slug, Vec<Arc<ToolSpec>>) -> BoxFuture<'static, ()> + Send + Sync>;

/// What the connections need from outside.
#[derive(Clone)]
pub struct UpstreamParts {
    /// Where tools are registered.
    pub registry: Arc<Registry>,
    /// Compiles their specs.
    pub specs: Arc<SpecCache>,
    /// Is told of what was registered.
    pub on_registered: Registered,
    /// For labels.
    pub clock: Arc<dyn Clock>,
    /// The variables that every child process gets, apart from its own: `PATH`, `HOME`, `TMPDIR`, `LANG` and the like.
    pub environment: BTreeMap<String, String>,
    /// The folder that child processes run in where their definition names none, and where relative ones start.
    pub folder: PathBuf,
    /// Resolves `secret:NAME`.
    pub secrets: Arc<dyn SecretSource>,
    /// Makes the HTTP client.
    pub http: HttpMaker,
    /// Gives tokens.
    pub authorizer: Arc<dyn Authorizer>,
    /// What servers are told of this client: its name.
    pub client_name: String,
    /// And its version.
    pub client_version: String,
    /// What bounds the connections.
    pub settings: UpstreamSettings,
}

impl std::fmt::Debug for UpstreamParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamParts").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What bounds the connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// How long connecting may take, from the start of a program to the end of the handshake. Programs may have to be
    /// downloaded first.
    pub connect: Duration,
    /// How long a server may leave `server/discover` without an answer until it is taken for one of the older era.
    pub probe: Duration,
    /// How long listing a server's tools may take.
    pub list: Duration,
    /// How long a request may take that no engine gives a deadline: lists, resources, prompts, completion.
    pub request: Duration,
    /// How long a call waits for a server that is just being connected to anew.
    pub reconnect: Duration,
    /// How long a program that was told to end may take before it is killed.
    pub stop: Duration,
    /// The longest wait before connecting anew.
    pub backoff: Duration,
    /// How long a connection must have stood until the waits begin small again.
    pub stable: Duration,
    /// The longest message, in bytes.
    pub message_bytes: usize,
    /// Most tools of one server.
    pub tools: usize,
    /// Most pages of one list.
    pub pages: usize,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(60),
            probe: Duration::from_secs(5),
            list: Duration::from_secs(15),
            request: Duration::from_secs(60),
            reconnect: Duration::from_secs(5),
            stop: Duration::from_secs(2),
            backoff: Duration::from_secs(60),
            stable: Duration::from_secs(60),
            message_bytes: 32 << 20,
            tools: 2000,
            pages: 100,
        }
    }
}
