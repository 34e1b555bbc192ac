//! The server, limited to the scope of one client.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ServerCapabilities, ServerConfig, TASKS_EXTENSION_ID};

use super::McpServerState;
use super::client_scope::ClientScope;
use super::scoped_offerings::{ScopedOfferings, resource_not_found};
use crate::offering::SubscriptionGuard;
use crate::protocol_era::ProtocolEra;

/// The server's state, and the scope of the client that it serves. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ScopedServer {
    pub(crate) shared: Arc<McpServerState>,
    pub(crate) scope: ClientScope,
}

impl ScopedServer {
    /// The features beyond tools in this scope, for a client that reaches servers of both eras in this one.
    pub(crate) fn offerings(&self, era: ProtocolEra) -> ScopedOfferings<'_> {
        ScopedOfferings {
            engine: &self.shared.engine,
            offerings: self.shared.offerings.as_ref(),
            scope: &self.scope,
            era,
        }
    }

    /// The server's description of itself for clients of 2026-07-28.
    pub(crate) fn config(&self) -> ServerConfig {
        // Facts of a server are those of its first connection.
        let offerings = self.offerings(ProtocolEra::Stateless);
        let mut capabilities: ServerCapabilities = offerings.capabilities();
        capabilities.tools.get_or_insert_with(Default::default).list_changed = Some(true);
        let extensions = capabilities.extensions.get_or_insert_with(Default::default);
        extensions.insert(TASKS_EXTENSION_ID.to_owned(), Default::default());
        let mut config = ServerConfig::new(capabilities);
        match offerings.server_identity() {
            Some((info, instructions)) => {
                config.server_info = info;
                config.instructions = instructions;
            }
            None => config.server_info = self.shared.server_info.clone(),
        }
        config
    }

    /// Subscribes to a resource under the URI that the client uses.
    ///
    /// # Errors
    /// The error for the client.
    pub(crate) async fn subscribe_resource(
        &self,
        era: ProtocolEra,
        uri: &str,
    ) -> Result<SubscriptionGuard, ErrorData> {
        let found = self.offerings(era).resolve_resource(uri).map(|(named, own)| (named, own.to_owned()));
        let (named, own) = found.ok_or_else(|| resource_not_found(uri))?;
        named.offering.subscribe(&own).await
    }
}
