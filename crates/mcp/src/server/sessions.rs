//! All MCP sessions over HTTP (2025-11-25 and before): their owners, their limits and their idle timeout.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_core::{MemoryPermit, PeerMemory};
use toolway_types::PrincipalId;

use super::client_scope::ClientScope;
use super::http_session::HttpSession;
use super::principal_quota::PrincipalQuota;
use super::scoped_server::ScopedServer;
use super::session::DeclaredClient;

/// The id of a session, as in its header.
pub(crate) type SessionId = Arc<str>;

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
    memory: Arc<dyn PeerMemory>,
    bindings: Mutex<HashMap<SessionId, SessionBinding>>,
    unread: Arc<PrincipalQuota>,
    /// Held while a session is created, so that the limits are exact.
    creation: Mutex<()>,
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
    session: Arc<HttpSession>,
    _memory: MemoryPermit,
    last_used: Instant,
    /// The number of requests that run and of responses that the client still reads.
    open_responses: usize,
}

/// A limit of sessions is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionLimitReached {
    /// There are too many sessions.
    #[error(
        "{0} MCP sessions are open already, as many as may be; the limit is the setting mcp.max_sessions"
    )]
    Number(usize),
    /// There is no memory for a session of this token.
    #[error("this token has no memory left for an MCP session; the limit is the setting limits.memory_bytes")]
    Memory,
}

/// Memory of a session, in bytes: its streams, its subscriptions and the tasks that forward notifications.
/// `toolway-load --memory-factors` measures it.
const SESSION_MEMORY: usize = 48 << 10;

impl McpSessions {
    /// Creates an empty collection of sessions, which take their memory from `memory`.
    #[must_use]
    pub fn new(limits: McpSessionLimits, memory: Arc<dyn PeerMemory>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            memory,
            bindings: Mutex::default(),
            unread: Arc::default(),
            creation: Mutex::default(),
            connections: Mutex::default(),
        })
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
            return Err(SessionLimitReached::Number(self.limits.max_sessions));
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
        let id = ties.get_key_value(id).map(|(known, _)| Arc::clone(known))?;
        let tie = ties.get_mut(&id)?;
        if !tie.scope.is_same_as(scope) {
            return None;
        }
        tie.open_responses += 1;
        let session = Arc::clone(&tie.session);
        Some(SessionUseGuard { sessions: Arc::clone(self), id, session })
    }

    /// Creates a session, and returns it together with the result of `initialize`. If its client has the maximum
    /// number, its longest idle session ends.
    ///
    /// # Errors
    /// [`SessionLimitReached`] if none is idle, or if all sessions of all clients are too many.
    pub(crate) fn create(
        &self,
        server: ScopedServer,
        declared: DeclaredClient,
    ) -> Result<(SessionId, String), SessionLimitReached> {
        let scope = server.scope.clone();
        let _alone = self.creation.lock();
        let evicted = self.evict_idle(&scope)?;
        if let Some(idle) = evicted {
            self.end(&idle);
        }
        let memory = self.memory.reserve(&scope.caller.principal, SESSION_MEMORY);
        let memory = memory.ok_or(SessionLimitReached::Memory)?;
        let (session, result) = HttpSession::open(server, declared, Arc::clone(&self.unread));
        let id: SessionId = uuid::Uuid::new_v4().to_string().into();
        let tie =
            SessionBinding { scope, session, _memory: memory, last_used: Instant::now(), open_responses: 0 };
        self.bindings.lock().insert(Arc::clone(&id), tie);
        Ok((id, result))
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
        idle.map(|(id, _)| Some(id.clone())).ok_or(SessionLimitReached::Number(self.limits.max_sessions))
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str) {
        let tie = self.bindings.lock().remove(id);
        if let Some(tie) = tie {
            tie.session.end();
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
                self.end(&id);
            }
            let left: Vec<_> = self.bindings.lock().values().map(|tie| Arc::clone(&tie.session)).collect();
            left.iter().for_each(|session| session.expire_streams());
        }
        let all: Vec<SessionId> = self.bindings.lock().keys().cloned().collect();
        for id in all {
            self.end(&id);
        }
    }
}

/// A session in use.
#[derive(Debug)]
pub(crate) struct SessionUseGuard {
    sessions: Arc<McpSessions>,
    pub(crate) id: SessionId,
    pub(crate) session: Arc<HttpSession>,
}

impl SessionUseGuard {
    /// Another use of the same session.
    pub(crate) fn again(&self) -> Self {
        if let Some(tie) = self.sessions.bindings.lock().get_mut(&self.id) {
            tie.open_responses += 1;
        }
        Self {
            sessions: Arc::clone(&self.sessions),
            id: Arc::clone(&self.id),
            session: Arc::clone(&self.session),
        }
    }
}

impl Drop for SessionUseGuard {
    fn drop(&mut self) {
        if let Some(tie) = self.sessions.bindings.lock().get_mut(&self.id) {
            tie.open_responses = tie.open_responses.saturating_sub(1);
            tie.last_used = Instant::now();
        }
    }
}
