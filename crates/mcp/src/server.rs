//! The MCP server: it shows each client the tools that it may call.
//!
//! The gateway authenticates a caller, creates a [`ClientScope`], and passes it on with the request
//! ([`McpHttpServer`]) or the connection ([`McpServerState::handler`]). Features of upstreams beyond tools pass
//! through; everything else comes from the engine.

mod call;
mod client;
mod client_handle;
mod client_requests;
mod client_scope;
mod consent;
mod era;
mod exchange;
mod exchange_run;
mod fast_path;
mod handler;
mod http;
mod http_response;
mod json_fields;
mod listing;
mod naming;
mod notifications;
mod page_cache;
mod pending_requests;
mod raw_message;
mod restrictions;
mod scoped_offerings;
mod scoped_server;
mod sessions;
mod tasks;
mod tool_result;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Implementation;
use toolway_core::Engine;
use toolway_types::Clock;

pub use self::client_scope::{ClientScope, EndpointScope, PROMPTS_FEATURE, RESOURCES_FEATURE};
pub use self::handler::McpHandler;
pub use self::http::McpHttpServer;
pub use self::http_response::McpResponseBody;
pub use self::raw_message::RawMessage;
pub use self::restrictions::{MAX_PATTERN, MAX_PATTERNS, ToolRestrictions, ToolRestrictionsError};
pub use self::sessions::{McpSessionLimits, McpSessionPermit, McpSessions, SessionLimitReached};
use crate::offering::OfferingRegistry;
use crate::verbatim::VerbatimMarker;

/// The state that all clients share.
pub struct McpServerState {
    pub(crate) engine: Arc<Engine>,
    pub(crate) offerings: Arc<dyn OfferingRegistry>,
    pub(crate) verbatim: VerbatimMarker,
    pub(crate) pending_requests: Arc<pending_requests::PendingRequests>,
    pub(crate) tasks: Arc<tasks::TaskRegistry>,
    pub(crate) page_cache: page_cache::ToolPageCache,
    pub(crate) server_info: Implementation,
    /// `server_info` as JSON.
    pub(crate) server_info_json: String,
    /// Timeout for a client's answer to a question.
    pub(crate) answer_timeout: Duration,
}

impl std::fmt::Debug for McpServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServerState")
            .field("pending_requests", &self.pending_requests)
            .finish_non_exhaustive()
    }
}

impl McpServerState {
    /// Creates the state of a gateway of this version. A client has `timeout` to answer a question.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        offerings: Arc<dyn OfferingRegistry>,
        version: &'static str,
        timeout: Duration,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let server = Implementation::new("toolway", version);
        let server_json = serde_json::to_string(&server).unwrap_or_else(|_| "{}".to_owned());
        let verbatim = VerbatimMarker::default();
        Arc::new(Self {
            engine,
            offerings,
            pending_requests: Arc::default(),
            tasks: tasks::TaskRegistry::new(clock, verbatim.clone()),
            verbatim,
            page_cache: page_cache::ToolPageCache::default(),
            server_info: server,
            server_info_json: server_json,
            answer_timeout: timeout,
        })
    }

    /// Creates the handler for a client with a connection of its own, to be driven by `rmcp`. Its output must pass
    /// through [`McpServerState::verbatim`] before it reaches the client.
    #[must_use]
    pub fn handler(self: &Arc<Self>, scope: ClientScope) -> McpHandler {
        McpHandler::new(Arc::clone(self), scope)
    }

    /// The marker that restores unchanged JSON in the output.
    #[must_use]
    pub fn verbatim(&self) -> &VerbatimMarker {
        &self.verbatim
    }
}
