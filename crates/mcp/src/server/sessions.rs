//! MCP sessions over HTTP (2025-11-25 and before): their owners, their limits and their idle timeout. `rmcp` stores
//! the sessions themselves.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_types::PrincipalId;

use super::client_scope::ClientScope;

/// The header that names an MCP session.
pub(super) const SESSION_HEADER: &str = "mcp-session-id";

/// The limits of MCP sessions.
#[derive(Debug, Clone, Copy)]
pub struct McpSessionLimits {
    /// Maximum number of sessions, including those over stdio.
    pub max_sessions: usize,
    /// Maximum number of sessions of one principal.
    pub max_per_principal: usize,
    /// Idle timeout: the time without a request or an open stream.
    pub idle_timeout: Duration,
}

/// All MCP sessions.
#[derive(Debug)]
pub struct McpSessions {
    limits: McpSessionLimits,
    manager: LocalSessionManager,
    bindings: Mutex<HashMap<SessionId, SessionBinding>>,
    /// The number of sessions over own connections, by principal.
    connections: Mutex<HashMap<PrincipalId, usize>>,
}

/// The permit of a session over a connection of its own. It counts until it is dropped.
#[derive(Debug)]
pub struct McpSessionPermit {
    sessions: Arc<McpSessions>,
    principal: PrincipalId,
}

impl Drop for McpSessionPermit {
    fn drop(&mut self) {
        let mut held = self.sessions.connections.lock();
        let Some(count) = held.get_mut(&self.principal) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            held.remove(&self.principal);
        }
    }
}

/// The owner and the use of a session.
#[derive(Debug)]
struct SessionBinding {
    scope: ClientScope,
    last_used: Instant,
    /// The number of responses that the client still reads.
    open_responses: usize,
}

/// The session limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{limit} MCP sessions are open already, as many as may be; the limit is the setting mcp.max_sessions"
)]
pub struct SessionLimitReached {
    limit: usize,
}

impl McpSessions {
    /// Creates an empty collection of sessions.
    #[must_use]
    pub fn new(limits: McpSessionLimits) -> Arc<Self> {
        let mut kept = LocalSessionManager::default();
        let mut config = SessionConfig::default();
        // Idle sessions are found here, because only this module knows of open streams.
        config.keep_alive = None;
        kept.session_config = config;
        Arc::new(Self { limits, manager: kept, bindings: Mutex::default(), connections: Mutex::default() })
    }

    /// The number of sessions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bindings.lock().len() + self.connection_count(None)
    }

    /// The number of sessions over own connections: in total, or of one principal.
    fn connection_count(&self, principal: Option<&PrincipalId>) -> usize {
        let held = self.connections.lock();
        match principal {
            Some(principal) => held.get(principal).copied().unwrap_or_default(),
            None => held.values().sum(),
        }
    }

    /// Acquires a permit for a session of this client over a connection of its own.
    ///
    /// # Errors
    /// [`SessionLimitReached`] if the limit is reached.
    pub fn acquire(self: &Arc<Self>, scope: &ClientScope) -> Result<McpSessionPermit, SessionLimitReached> {
        let principal = &scope.caller.principal.id;
        let ties = self.bindings.lock();
        let mine = ties.values().filter(|tie| tie.scope.caller.principal.id == *principal).count();
        let mut held = self.connections.lock();
        let of_mine = held.get(principal).copied().unwrap_or_default();
        let all = ties.len() + held.values().sum::<usize>();
        if all >= self.limits.max_sessions || mine + of_mine >= self.limits.max_per_principal {
            return Err(SessionLimitReached { limit: self.limits.max_sessions });
        }
        *held.entry(principal.clone()).or_default() += 1;
        Ok(McpSessionPermit { sessions: Arc::clone(self), principal: principal.clone() })
    }

    /// Returns true if there are no sessions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Marks a session as used by this client until the guard is dropped. `None` if the client has no such session.
    pub(crate) fn begin_use(self: &Arc<Self>, id: &str, scope: &ClientScope) -> Option<SessionUseGuard> {
        let mut ties = self.bindings.lock();
        let id = ties.get_key_value(id).map(|(known, _)| known.clone())?;
        let tie = ties.get_mut(&id)?;
        if !tie.scope.is_same_as(scope) {
            return None;
        }
        tie.open_responses += 1;
        Some(SessionUseGuard { sessions: Arc::clone(self), id })
    }

    /// Makes room for another session of this client: if it has the maximum number, its longest idle one must go.
    fn evict_idle(&self, scope: &ClientScope) -> Result<Option<SessionId>, SessionLimitReached> {
        let ties = self.bindings.lock();
        let is_mine = |tie: &SessionBinding| tie.scope.caller.principal.id == scope.caller.principal.id;
        let is_full = ties.len() + self.connection_count(None) >= self.limits.max_sessions;
        let held = self.connection_count(Some(&scope.caller.principal.id));
        let mine = ties.values().filter(|tie| is_mine(tie)).count() + held;
        if !is_full && mine < self.limits.max_per_principal {
            return Ok(None);
        }
        let idle = ties
            .iter()
            .filter(|(_, tie)| is_mine(tie) && tie.open_responses == 0)
            .min_by_key(|(_, tie)| tie.last_used);
        idle.map(|(id, _)| Some(id.clone())).ok_or(SessionLimitReached { limit: self.limits.max_sessions })
    }

    async fn end(&self, id: &SessionId) {
        let tie = self.bindings.lock().remove(id);
        drop(tie);
        if let Err(error) = self.manager.close_session(id).await {
            tracing::debug!(%error, "an MCP session could not be closed");
        }
    }

    /// Periodically ends sessions that are idle too long or whose client has lost access.
    pub async fn expire_idle(self: Arc<Self>, stop: CancellationToken) {
        let every = (self.limits.idle_timeout / 4).clamp(Duration::from_millis(100), Duration::from_secs(30));
        while tokio::time::timeout(every, stop.cancelled()).await.is_err() {
            let now = Instant::now();
            let over = |tie: &SessionBinding| {
                tie.scope.revoked.is_cancelled()
                    || (tie.open_responses == 0
                        && now.saturating_duration_since(tie.last_used) >= self.limits.idle_timeout)
            };
            let ended: Vec<SessionId> =
                self.bindings.lock().iter().filter(|(_, tie)| over(tie)).map(|(id, _)| id.clone()).collect();
            for id in ended {
                self.end(&id).await;
            }
        }
        let all: Vec<SessionId> = self.bindings.lock().keys().cloned().collect();
        for id in all {
            self.end(&id).await;
        }
    }
}

/// A session in use.
#[derive(Debug)]
pub(crate) struct SessionUseGuard {
    sessions: Arc<McpSessions>,
    id: SessionId,
}

impl Drop for SessionUseGuard {
    fn drop(&mut self) {
        if let Some(tie) = self.sessions.bindings.lock().get_mut(&self.id) {
            tie.open_responses = tie.open_responses.saturating_sub(1);
            tie.last_used = Instant::now();
        }
    }
}

/// The session manager of `rmcp`, limited to one client.
#[derive(Debug)]
pub(crate) struct ScopedSessionManager {
    pub(crate) sessions: Arc<McpSessions>,
    pub(crate) scope: ClientScope,
    /// The reason why a session was not created.
    pub(crate) refusal: Mutex<Option<SessionLimitReached>>,
}

/// The reason why a session can't be created or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpSessionError {
    #[error(transparent)]
    LimitReached(#[from] SessionLimitReached),
    #[error(transparent)]
    Manager(#[from] LocalSessionManagerError),
}

impl SessionManager for ScopedSessionManager {
    type Error = McpSessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), McpSessionError> {
        match self.sessions.evict_idle(&self.scope) {
            Ok(None) => {}
            Ok(Some(idle)) => self.sessions.end(&idle).await,
            Err(no_room) => {
                *self.refusal.lock() = Some(no_room);
                return Err(no_room.into());
            }
        }
        let (id, transport) = self.sessions.manager.create_session().await?;
        let tie = SessionBinding { scope: self.scope.clone(), last_used: Instant::now(), open_responses: 0 };
        self.sessions.bindings.lock().insert(id.clone(), tie);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, McpSessionError> {
        Ok(self.sessions.manager.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, McpSessionError> {
        Ok(self.sessions.manager.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), McpSessionError> {
        self.sessions.end(id).await;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, McpSessionError> {
        Ok(self.sessions.manager.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), McpSessionError> {
        Ok(self.sessions.manager.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, McpSessionError> {
        Ok(self.sessions.manager.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, McpSessionError> {
        Ok(self.sessions.manager.resume(id, last_event_id).await?)
    }
}
