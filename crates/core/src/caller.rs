//! Who makes a call, and from where.

use std::sync::Arc;

use toolway_types::{Principal, PrincipalId, Role, Slug};

use crate::registry::LeaseId;

/// Who makes a call.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who is behind the token.
    pub principal: Arc<Principal>,
    /// The door it came through.
    pub door: Door,
    /// The registration of the caller's own connection, whose tools it may call by their bare names.
    pub own: Option<OwnTools>,
}

/// The registration of a caller's own connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTools {
    /// Its source.
    pub source: Slug,
    /// Its lease.
    pub lease: LeaseId,
}

/// The door a call came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
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

impl Door {
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
    pub fn new(principal: Arc<Principal>, door: Door) -> Self {
        Self { principal, door, own: None }
    }

    /// The owner, calling from within the program.
    #[must_use]
    pub fn local_owner() -> Self {
        let principal = Principal { id: PrincipalId::from("owner"), role: Role::Owner, agent: None };
        Self::new(Arc::new(principal), Door::Local)
    }
}
