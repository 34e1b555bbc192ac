//! The connection for a request of a client: the first one, or the second one for a client of the older era that can be
//! asked something.

use std::sync::Arc;
use std::time::Duration;

use super::client_group::ServedClients;
use super::connection::UpstreamConnection;
use super::error::UpstreamError;
use super::older_connection::OlderConnectionUse;
use super::server::Upstream;
use super::task_requirement::TaskRequirement;
use crate::definition::EraMode;
use crate::protocol_era::ProtocolEra;

/// Time that a request waits for the second connection. The first one serves it afterwards.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);

/// The connection of one request, in all its rounds.
pub(super) struct RequestRoute {
    era: ProtocolEra,
    usage: Option<OlderConnectionUse>,
    /// True if the last round used the second connection, and its server takes tasks. The list of tools comes from the
    /// first connection, and does not tell which tools run only as tasks in the older era.
    may_require_task: bool,
}

impl RequestRoute {
    /// The route of a request of a client of this era.
    pub(super) fn new(era: ProtocolEra) -> Self {
        Self { era, usage: None, may_require_task: false }
    }

    /// Returns the connection for the next round. Once the first connection was used, it is used for all rounds, because
    /// the server's state of a request belongs to one era. `not` is a connection that is known to be unusable.
    pub(super) async fn connect(
        &mut self,
        upstream: &Upstream,
        not: Option<&Arc<UpstreamConnection>>,
    ) -> Result<Arc<UpstreamConnection>, UpstreamError> {
        let HeldConnection { connection, usage } = upstream.connect_client(self.era, not).await?;
        if usage.is_none() {
            self.era = ProtocolEra::Stateless;
        }
        self.may_require_task = usage.is_some() && connection.takes_tool_tasks();
        self.usage = usage;
        Ok(connection)
    }

    /// Returns true if a refused call can run as a task, and chooses its connection. `is_task` is true if the server
    /// was asked for a task.
    pub(super) fn retry_as_task(
        &mut self,
        task: &TaskRequirement,
        refusal: &UpstreamError,
        is_task: bool,
    ) -> bool {
        if task.learn_from(refusal) {
            let is_older = self.usage.is_some();
            *self = Self::new(ProtocolEra::Stateless);
            return is_older || !is_task;
        }
        !is_task && self.may_require_task && TaskRequirement::is_older_refusal(refusal)
    }

    /// The use of the second connection, if the last round used it.
    pub(super) fn into_usage(self) -> Option<OlderConnectionUse> {
        self.usage
    }
}

/// A connection that stays open while it is held.
pub(super) struct HeldConnection {
    connection: Arc<UpstreamConnection>,
    usage: Option<OlderConnectionUse>,
}

impl HeldConnection {
    pub(super) fn connection(&self) -> &Arc<UpstreamConnection> {
        &self.connection
    }
}

impl From<Arc<UpstreamConnection>> for HeldConnection {
    fn from(connection: Arc<UpstreamConnection>) -> Self {
        Self { connection, usage: None }
    }
}

impl From<(Arc<UpstreamConnection>, OlderConnectionUse)> for HeldConnection {
    fn from((connection, usage): (Arc<UpstreamConnection>, OlderConnectionUse)) -> Self {
        Self { connection, usage: Some(usage) }
    }
}

impl Upstream {
    /// Returns the connection for a client of this era. A client of the older era gets the first connection if the
    /// server has only one era. `not` is a connection that is known to be unusable.
    pub(super) async fn connect_client(
        &self,
        era: ProtocolEra,
        not: Option<&Arc<UpstreamConnection>>,
    ) -> Result<HeldConnection, UpstreamError> {
        let first = self.wait_connected(not).await?;
        if !self.may_use_older(era, &first) {
            return Ok(first.into());
        }
        Ok(self.connect_older(not).await.unwrap_or_else(|| first.into()))
    }

    /// Returns the second connection, and opens it if necessary. `None` if it can't be opened.
    pub(super) async fn connect_older(
        &self,
        not: Option<&Arc<UpstreamConnection>>,
    ) -> Option<HeldConnection> {
        let limit = self.server().deps().settings.connect_timeout.min(OPEN_TIMEOUT);
        self.older().connect(not, limit).await.map(HeldConnection::from)
    }

    /// Returns the connection for a request that needs no connection of its own: the second one only if it is open.
    pub(super) async fn connect_for_list(
        &self,
        era: ProtocolEra,
        not: Option<&Arc<UpstreamConnection>>,
    ) -> Result<HeldConnection, UpstreamError> {
        let first = self.wait_connected(not).await?;
        let older = if self.may_use_older(era, &first) { self.older().get() } else { None };
        Ok(older.map_or_else(|| first.into(), HeldConnection::from))
    }

    /// Returns true if a client of this era uses the second connection, if the server has the older era.
    fn may_use_older(&self, era: ProtocolEra, first: &UpstreamConnection) -> bool {
        era == ProtocolEra::Handshake && first.is_stateless() && self.definition().era == EraMode::Auto
    }

    /// The current connection for these clients, if there is one.
    pub(super) fn connection_of(&self, clients: ServedClients) -> Option<Arc<UpstreamConnection>> {
        match clients {
            ServedClients::All => self.connection(),
            ServedClients::Older => self.older().get().map(|(connection, _)| connection),
        }
    }
}
