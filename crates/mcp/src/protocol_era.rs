//! The eras of MCP.

use rmcp::model::{ClientCapabilities, ProtocolVersion};

/// The two eras of MCP, with different ways of connecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolEra {
    /// Each request is self-contained (2026-07-28).
    Stateless,
    /// A session starts with `initialize` (up to 2025-11-25).
    Handshake,
}

impl ProtocolEra {
    /// The era in which a client reaches a server of both. Only a client of an older version that can be asked
    /// something needs the older one. Questions to others are impossible, and the newer era tells the server so with
    /// each request.
    pub(crate) fn for_client(version: &ProtocolVersion, capabilities: &ClientCapabilities) -> Self {
        let ClientCapabilities { elicitation, sampling, roots, .. } = capabilities;
        let can_be_asked = elicitation.is_some() || sampling.is_some() || roots.is_some();
        if version.has_initialize() && can_be_asked { Self::Handshake } else { Self::Stateless }
    }

    /// The name of the era.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::Handshake => "handshake",
        }
    }
}
