//! The MCP server: it shows each client the tools that it may call.
//!
//! The gateway authenticates a caller, creates a [`ClientScope`], and passes it on with the request
//! ([`McpHttpServer`]) or the connection ([`McpConnection`](crate::socket::McpConnection)). Both read messages with
//! `json_rpc` and answer them with `dispatch`, so there is one path for each method. Features of upstreams beyond tools
//! pass through; everything else comes from the engine.

mod call;
mod client;
mod client_handle;
mod client_requests;
mod client_scope;
mod consent;
mod dispatch;
mod era;
mod event_stream;
mod exchange;
mod exchange_run;
mod http;
mod http_session;
mod json_fields;
mod json_rpc;
mod listing;
mod message_sink;
mod naming;
mod notifications;
mod outgoing;
mod page_cache;
mod pending_requests;
mod principal_quota;
mod protocol;
mod restrictions;
mod scoped_offerings;
mod scoped_server;
mod server_requests;
mod session;
mod sessions;
mod tasks;
mod tool_result;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Implementation;
use toolway_core::{BlockingPool, Engine};
use toolway_types::Clock;

pub use self::client_scope::{ClientScope, EndpointScope, PROMPTS_FEATURE, RESOURCES_FEATURE};
pub use self::http::{McpHttpServer, McpResponseBody, error_response};
pub use self::message_sink::{MessageSink, SinkClosed};
pub use self::restrictions::{MAX_PATTERN, MAX_PATTERNS, ToolRestrictions, ToolRestrictionsError};
pub use self::sessions::{McpSessionLimits, McpSessionPermit, McpSessions, SessionLimitReached};
use crate::offering::OfferingRegistry;
use crate::protocol_era::ProtocolEra;

/// The state that all clients share.
pub struct McpServerState {
    pub(crate) engine: Arc<Engine>,
    pub(crate) offerings: Arc<dyn OfferingRegistry>,
    pub(crate) pending_requests: Arc<pending_requests::PendingRequests>,
    pub(crate) tasks: Arc<tasks::TaskRegistry>,
    pub(crate) page_cache: page_cache::ToolPageCache,
    pub(crate) server_info: Implementation,
    /// `server_info` as JSON.
    pub(crate) server_info_json: String,
    /// Places for parsing long messages.
    pub(crate) parse_jobs: Arc<BlockingPool>,
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
    /// Creates the state of a gateway of this version. A client has `timeout` to answer a question. `parse_jobs` has the
    /// places for parsing long messages.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        offerings: Arc<dyn OfferingRegistry>,
        version: &'static str,
        timeout: Duration,
        clock: Arc<dyn Clock>,
        parse_jobs: Arc<BlockingPool>,
    ) -> Arc<Self> {
        let server = Implementation::new("toolway", version);
        let server_json = serde_json::to_string(&server).unwrap_or_else(|_| "{}".to_owned());
        Arc::new(Self {
            engine,
            offerings,
            pending_requests: Arc::default(),
            tasks: tasks::TaskRegistry::new(clock),
            page_cache: page_cache::ToolPageCache::default(),
            server_info: server,
            server_info_json: server_json,
            parse_jobs,
            answer_timeout: timeout,
        })
    }

    /// Returns true if a client in this scope sees any tool, resource or prompt.
    #[must_use]
    pub fn has_anything_for(&self, scope: &ClientScope) -> bool {
        let offerings = scoped_offerings::ScopedOfferings {
            engine: &self.engine,
            offerings: self.offerings.as_ref(),
            scope,
            era: ProtocolEra::Stateless,
        };
        !scope.visible_tools(&self.engine).is_empty()
            || !offerings.permitted(RESOURCES_FEATURE).is_empty()
            || !offerings.permitted(PROMPTS_FEATURE).is_empty()
    }
}

/// The parts of the server that a connection of messages is made of.
pub(crate) mod socket_parts {
    pub(crate) use super::client_handle::ClientHandle;
    pub(crate) use super::dispatch::RequestContext;
    pub(crate) use super::json_rpc::{
        BLOCKING_PARSE_BYTES, IncomingMessage, IncomingRequest, MessageError, ParsedText, parse,
    };
    pub(crate) use super::outgoing::{error_message, response_message, result_message};
    pub(crate) use super::protocol::{check_client_description, check_supported, is_modern};
    pub(crate) use super::scoped_server::ScopedServer;
    pub(crate) use super::session::{ClientSession, DeclaredClient, too_many_requests};
}
