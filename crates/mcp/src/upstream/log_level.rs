//! Requests of clients for log messages of a server.

use std::sync::Arc;

use rmcp::model::LoggingLevel;
use tokio::time::timeout;

use super::client_group::ServedClients;
use super::error::UpstreamError;
use super::server::Upstream;
use super::subscription_requests::set_level;

/// A request for log messages, until it is dropped.
pub(super) struct LogLevelRequest {
    upstream: Arc<Upstream>,
    served: ServedClients,
    level: LoggingLevel,
}

impl Upstream {
    /// Requests log messages of this level and above from the connection of these clients. The server gets the lowest
    /// requested level.
    pub(super) async fn request_log_level(
        self: &Arc<Self>,
        served: ServedClients,
        level: LoggingLevel,
    ) -> Result<LogLevelRequest, UpstreamError> {
        let interest = self.server().clients(served).interest();
        let before = {
            let mut wanted = interest.lock();
            let before = wanted.lowest_level();
            wanted.add_level(level);
            before
        };
        let request = LogLevelRequest { upstream: Arc::clone(self), served, level };
        let lowest = interest.lock().lowest_level();
        if lowest != before
            && let (Some(connection), Some(lowest)) = (self.connection_of(served), lowest)
            && !connection.is_stateless()
        {
            let limit = self.server().deps().settings.request_timeout;
            let told = timeout(limit, set_level(&connection, lowest)).await;
            told.unwrap_or(Err(UpstreamError::TimedOut(limit)))?;
        }
        Ok(request)
    }
}

impl Drop for LogLevelRequest {
    fn drop(&mut self) {
        let (before, now) = {
            let mut wanted = self.upstream.server().clients(self.served).interest().lock();
            let before = wanted.lowest_level();
            wanted.remove_level(self.level);
            (before, wanted.lowest_level())
        };
        let connection = self.upstream.connection_of(self.served);
        let Some(connection) = connection.filter(|connection| !connection.is_stateless()) else { return };
        let limit = self.upstream.server().deps().settings.request_timeout;
        if let (Some(level), true) = (now, before != now)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = timeout(limit, set_level(&connection, level)).await;
            });
        }
    }
}
