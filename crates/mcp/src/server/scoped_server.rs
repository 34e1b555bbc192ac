//! The server, limited to the scope of one client.

use std::sync::Arc;

use super::McpServerState;
use super::client_scope::ClientScope;
use super::scoped_offerings::ScopedOfferings;

/// The server's state, and the scope of the client that it serves. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct ScopedServer {
    pub(super) shared: Arc<McpServerState>,
    pub(super) scope: ClientScope,
}

impl ScopedServer {
    /// The features beyond tools in this scope.
    pub(super) fn offerings(&self) -> ScopedOfferings<'_> {
        ScopedOfferings {
            engine: &self.shared.engine,
            offerings: self.shared.offerings.as_ref(),
            scope: &self.scope,
        }
    }
}
