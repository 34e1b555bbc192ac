//! One MCP server behind the gateway, and its current connection.

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use toolway_types::Slug;

use super::connection::UpstreamConnection;
use super::deps::UpstreamDeps;
use super::error::UpstreamError;
use super::log::ServerLog;
use super::older_connection::OlderConnection;
use super::server_context::ServerContext;
use super::status::{UpstreamState, UpstreamStatus};
use crate::definition::ServerDefinition;

/// One MCP server. Its features are used through [`crate::offering::ServerOffering`] and the registry's tools.
pub struct Upstream {
    server: Arc<ServerContext>,
    connection: watch::Sender<Option<Arc<UpstreamConnection>>>,
    older: OlderConnection,
    reconnect_requested: Notify,
    stop_token: CancellationToken,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("slug", self.slug()).finish_non_exhaustive()
    }
}

impl Upstream {
    pub(super) fn new(slug: Slug, definition: ServerDefinition, deps: Arc<UpstreamDeps>) -> Arc<Self> {
        Arc::new(Self {
            server: ServerContext::new(slug, definition, deps),
            connection: watch::Sender::new(None),
            older: OlderConnection::new(),
            reconnect_requested: Notify::new(),
            stop_token: CancellationToken::new(),
        })
    }

    /// The source of its tools.
    #[must_use]
    pub fn slug(&self) -> &Slug {
        self.server.slug()
    }

    /// The owner's definition of the server.
    #[must_use]
    pub fn definition(&self) -> &ServerDefinition {
        self.server.definition()
    }

    /// The current status.
    #[must_use]
    pub fn status(&self) -> UpstreamStatus {
        self.server.status().lock().clone()
    }

    /// The standard error of a program, and notes about invalid messages.
    #[must_use]
    pub fn log(&self) -> &ServerLog {
        self.server.log()
    }

    /// Reconnects immediately.
    pub fn reconnect(&self) {
        self.older.reconnect();
        self.reconnect_requested.notify_one();
    }

    pub(super) fn server(&self) -> &Arc<ServerContext> {
        &self.server
    }

    /// The second connection, for clients of the older era.
    pub(super) fn older(&self) -> &OlderConnection {
        &self.older
    }

    pub(super) fn stop(&self) {
        self.stop_token.cancel();
    }

    pub(super) fn stop_token(&self) -> &CancellationToken {
        &self.stop_token
    }

    pub(super) async fn wait_for_reconnect_request(&self) {
        self.reconnect_requested.notified().await;
    }

    /// The current connection, if there is one.
    pub(super) fn connection(&self) -> Option<Arc<UpstreamConnection>> {
        self.connection.borrow().clone()
    }

    pub(super) fn set_connection(&self, connection: Option<Arc<UpstreamConnection>>) {
        self.connection.send_replace(connection);
    }

    /// Sets the state and the facts of a connected server.
    pub(super) fn set_connected(&self, connection: &UpstreamConnection) {
        self.server.set_state(UpstreamState::Connected);
        let Some(settled) = connection.negotiated() else { return };
        self.server.update_status(|status| {
            status.transport = Some(connection.transport().kind());
            status.protocol_version = Some(settled.facts.protocol_version.to_string());
            status.era = Some(settled.era);
            status.server_name = Some(settled.facts.info.name.clone());
            status.server_version =
                Some(settled.facts.info.version.clone()).filter(|version| !version.is_empty());
        });
    }

    /// Returns the connection. If the server is reconnecting, waits for `reconnect_timeout`. `not` is a connection
    /// that is known to be unusable.
    pub(super) async fn wait_connected(
        &self,
        not: Option<&Arc<UpstreamConnection>>,
    ) -> Result<Arc<UpstreamConnection>, UpstreamError> {
        let is_other =
            |one: &Arc<UpstreamConnection>| !one.is_closed() && not.is_none_or(|not| !Arc::ptr_eq(one, not));
        if let Some(connection) = self.connection().filter(is_other) {
            return Ok(connection);
        }
        // After the end of a connection the supervisor opens the next one.
        let is_under_way =
            self.connection().is_some() || self.server.status().lock().state == UpstreamState::Connecting;
        if !is_under_way {
            return Err(self.not_connected());
        }
        let mut changes = self.connection.subscribe();
        let other = async {
            loop {
                let now = changes.borrow_and_update().clone();
                if let Some(connection) = now.filter(is_other) {
                    return Some(connection);
                }
                if changes.changed().await.is_err()
                    || matches!(
                        self.server.status().lock().state,
                        UpstreamState::Failed | UpstreamState::NeedsLogin
                    )
                {
                    return None;
                }
            }
        };
        let found = tokio::time::timeout(self.server.deps().settings.reconnect_timeout, other).await;
        found.ok().flatten().ok_or_else(|| self.not_connected())
    }

    /// The error that the server is not connected, with the reason.
    fn not_connected(&self) -> UpstreamError {
        let status = self.server.status().lock();
        let why = status.problem.as_ref().map(|problem| problem.message.clone());
        match status.state {
            UpstreamState::NeedsLogin => UpstreamError::NeedsLogin(why.unwrap_or_default()),
            _ => UpstreamError::NotConnected(why.unwrap_or_else(|| "it is being connected to".to_owned())),
        }
    }
}
