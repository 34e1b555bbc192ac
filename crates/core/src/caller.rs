//! The caller of a call.

use std::sync::Arc;

use toolway_types::{Principal, PrincipalId, Role, Slug};

use crate::lease_id::LeaseId;

/// The caller of a call: its principal, entry point, agent and conversation.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Principal of the token.
    pub principal: Arc<Principal>,
    /// Entry point of the call.
    pub via: EntryPoint,
    /// Agent named by the entry point, if any; see [`Caller::agent`].
    pub agent: Option<Arc<str>>,
    /// Conversation of the call.
    pub session: Option<Arc<str>>,
    /// Turn of the conversation that made the call.
    pub turn: Option<Arc<str>>,
    /// Registration of the caller's own connection. Its tools can be called by their bare names.
    pub registration: Option<CallerRegistration>,
    /// Time zone of the caller, as a name of the IANA database. If the entry point knows none, the engine sets the
    /// agent's before it runs a tool.
    pub time_zone: Option<Arc<str>>,
}

/// Registration of a caller's own connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerRegistration {
    /// Source of the registration.
    pub source: Slug,
    /// Lease of the registration.
    pub lease: LeaseId,
}

/// Entry point of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPoint {
    /// REST.
    Rest,
    /// `call_tool` on a WebSocket.
    WebSocket,
    /// A model's turn.
    Agent,
    /// An MCP client.
    Mcp,
    /// The gateway itself, or a program that embeds the engine.
    Local,
}

impl EntryPoint {
    /// Name in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::WebSocket => "websocket",
            Self::Agent => "agent",
            Self::Mcp => "mcp",
            Self::Local => "local",
        }
    }
}

impl Caller {
    /// Creates a caller without a connection of its own.
    #[must_use]
    pub fn new(principal: Arc<Principal>, via: EntryPoint) -> Self {
        Self { principal, via, agent: None, session: None, turn: None, registration: None, time_zone: None }
    }

    /// Agent of the call: the one that the token is bound to, otherwise the one named by the entry point.
    #[must_use]
    pub fn agent(&self) -> Option<&Arc<str>> {
        self.principal.agent.as_ref().or(self.agent.as_ref())
    }

    /// Creates a caller for the owner within the program.
    #[must_use]
    pub fn local_owner() -> Self {
        let principal = Principal { id: PrincipalId::from("owner"), role: Role::Owner, agent: None };
        Self::new(Arc::new(principal), EntryPoint::Local)
    }
}
