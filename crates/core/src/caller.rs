//! Who makes a call, and from where.

use std::sync::Arc;

use toolway_types::{Principal, PrincipalId, Role, Slug};

use crate::lease_id::LeaseId;

/// Who makes a call.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who is behind the token.
    pub principal: Arc<Principal>,
    /// The door it came through.
    pub via: EntryPoint,
    /// The agent in whose name it is made, where the door says one; see [`Caller::agent`].
    pub agent: Option<Arc<str>>,
    /// The conversation it belongs to.
    pub session: Option<Arc<str>>,
    /// The model's answer within that conversation, where a model asked for it.
    pub turn: Option<Arc<str>>,
    /// The registration of the caller's own connection, whose tools it may call by their bare names.
    pub registration: Option<CallerRegistration>,
}

/// The registration of a caller's own connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerRegistration {
    /// Its source.
    pub source: Slug,
    /// Its lease.
    pub lease: LeaseId,
}

/// The door a call came through.
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
    /// The word used in records.
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
    /// A caller with no connection of its own.
    #[must_use]
    pub fn new(principal: Arc<Principal>, door: EntryPoint) -> Self {
        Self { principal, via: door, agent: None, session: None, turn: None, registration: None }
    }

    /// The agent in whose name the call is made: the one that the token is bound to, else the door's.
    #[must_use]
    pub fn agent(&self) -> Option<&Arc<str>> {
        self.principal.agent.as_ref().or(self.agent.as_ref())
    }

    /// The owner, calling from within the program.
    #[must_use]
    pub fn local_owner() -> Self {
        let principal = Principal { id: PrincipalId::from("owner"), role: Role::Owner, agent: None };
        Self::new(Arc::new(principal), EntryPoint::Local)
    }
}
