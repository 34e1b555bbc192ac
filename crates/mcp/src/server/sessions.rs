//! MCP sessions over HTTP (2025-11-25 and before): whose each is, how many there may be, and when one has been idle too
//! long. `rmcp` keeps the sessions themselves.

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

use super::visitor::Visitor;

/// How many MCP sessions there may be, and for how long they may be idle.
#[derive(Debug, Clone, Copy)]
pub struct SessionLimits {
    /// Most in all, those over stdio among them.
    pub most: usize,
    /// Most of one principal.
    pub most_of_one: usize,
    /// How long one may be without a request and without an open stream.
    pub idle: Duration,
}

/// All sessions.
#[derive(Debug)]
pub struct Sessions {
    limits: SessionLimits,
    kept: LocalSessionManager,
    ties: Mutex<HashMap<SessionId, Tie>>,
    /// How many each principal has over connections of their own.
    held: Mutex<HashMap<PrincipalId, usize>>,
}

/// A session over a connection of its own: counted for as long as this lives.
#[derive(Debug)]
pub struct Held {
    sessions: Arc<Sessions>,
    principal: PrincipalId,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.sessions.held.lock();
        let Some(count) = held.get_mut(&self.principal) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            held.remove(&self.principal);
        }
    }
}

/// What binds a session.
#[derive(Debug)]
struct Tie {
    visitor: Visitor,
    used: Instant,
    /// Responses that are still being read.
    open: usize,
}

/// Why there is no room for another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{most} MCP sessions are open already, as many as may be; the limit is the setting mcp.sessions")]
pub struct NoRoom {
    most: usize,
}

impl Sessions {
    /// None yet.
    #[must_use]
    pub fn new(limits: SessionLimits) -> Arc<Self> {
        let mut kept = LocalSessionManager::default();
        let mut config = SessionConfig::default();
        // Which session is idle is decided here, where it is known whether a stream is open.
        config.keep_alive = None;
        kept.session_config = config;
        Arc::new(Self { limits, kept, ties: Mutex::default(), held: Mutex::default() })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ties.lock().len() + self.held_by(None)
    }

    /// How many there are over connections of their own: in all, or of one principal.
    fn held_by(&self, principal: Option<&PrincipalId>) -> usize {
        let held = self.held.lock();
        match principal {
            Some(principal) => held.get(principal).copied().unwrap_or_default(),
            None => held.values().sum(),
        }
    }

    /// Counts one more of this visitor's, over a connection of its own.
    ///
    /// # Errors
    /// [`NoRoom`] where there are as many as there may be.
    pub fn hold(self: &Arc<Self>, visitor: &Visitor) -> Result<Held, NoRoom> {
        let principal = &visitor.caller.principal.id;
        let ties = self.ties.lock();
        let mine = ties.values().filter(|tie| tie.visitor.caller.principal.id == *principal).count();
        let mut held = self.held.lock();
        let of_mine = held.get(principal).copied().unwrap_or_default();
        let all = ties.len() + held.values().sum::<usize>();
        if all >= self.limits.most || mine + of_mine >= self.limits.most_of_one {
            return Err(NoRoom { most: self.limits.most });
        }
        *held.entry(principal.clone()).or_default() += 1;
        Ok(Held { sessions: Arc::clone(self), principal: principal.clone() })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A session as it is used by this visitor, for as long as what is returned lives; none where there is none of
    /// theirs by this name.
    pub(crate) fn enter(self: &Arc<Self>, id: &str, visitor: &Visitor) -> Option<Entered> {
        let mut ties = self.ties.lock();
        let id = ties.get_key_value(id).map(|(known, _)| known.clone())?;
        let tie = ties.get_mut(&id)?;
        if !tie.visitor.is_same_as(visitor) {
            return None;
        }
        tie.open += 1;
        Some(Entered { sessions: Arc::clone(self), id })
    }

    /// Makes room for one more of this visitor's: where they have as many as one may have, the longest idle one of
    /// theirs has to go.
    fn make_room(&self, visitor: &Visitor) -> Result<Option<SessionId>, NoRoom> {
        let ties = self.ties.lock();
        let is_mine = |tie: &Tie| tie.visitor.caller.principal.id == visitor.caller.principal.id;
        let is_full = ties.len() + self.held_by(None) >= self.limits.most;
        let held = self.held_by(Some(&visitor.caller.principal.id));
        let mine = ties.values().filter(|tie| is_mine(tie)).count() + held;
        if !is_full && mine < self.limits.most_of_one {
            return Ok(None);
        }
        let idle =
            ties.iter().filter(|(_, tie)| is_mine(tie) && tie.open == 0).min_by_key(|(_, tie)| tie.used);
        idle.map(|(id, _)| Some(id.clone())).ok_or(NoRoom { most: self.limits.most })
    }

    async fn end(&self, id: &SessionId) {
        let tie = self.ties.lock().remove(id);
        drop(tie);
        if let Err(error) = self.kept.close_session(id).await {
            tracing::debug!(%error, "an MCP session did not close well");
        }
    }

    /// Ends sessions that have been idle too long, or whose visitor may not come in any more, now and then.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let every = (self.limits.idle / 4).clamp(Duration::from_millis(100), Duration::from_secs(30));
        while tokio::time::timeout(every, stop.cancelled()).await.is_err() {
            let now = Instant::now();
            let over = |tie: &Tie| {
                tie.visitor.gone.is_cancelled()
                    || (tie.open == 0 && now.saturating_duration_since(tie.used) >= self.limits.idle)
            };
            let ended: Vec<SessionId> =
                self.ties.lock().iter().filter(|(_, tie)| over(tie)).map(|(id, _)| id.clone()).collect();
            for id in ended {
                self.end(&id).await;
            }
        }
        let all: Vec<SessionId> = self.ties.lock().keys().cloned().collect();
        for id in all {
            self.end(&id).await;
        }
    }
}

/// A session in use.
#[derive(Debug)]
pub(crate) struct Entered {
    sessions: Arc<Sessions>,
    id: SessionId,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(tie) = self.sessions.ties.lock().get_mut(&self.id) {
            tie.open = tie.open.saturating_sub(1);
            tie.used = Instant::now();
        }
    }
}

/// The sessions as one visitor makes and uses them.
#[derive(Debug)]
pub(crate) struct Visited {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) visitor: Visitor,
    /// Why a session was not made.
    pub(crate) refused: Mutex<Option<NoRoom>>,
}

/// Why a session can't be made or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    #[error(transparent)]
    Kept(#[from] LocalSessionManagerError),
}

impl SessionManager for Visited {
    type Error = SessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        match self.sessions.make_room(&self.visitor) {
            Ok(None) => {}
            Ok(Some(idle)) => self.sessions.end(&idle).await,
            Err(no_room) => {
                *self.refused.lock() = Some(no_room);
                return Err(no_room.into());
            }
        }
        let (id, transport) = self.sessions.kept.create_session().await?;
        let tie = Tie { visitor: self.visitor.clone(), used: Instant::now(), open: 0 };
        self.sessions.ties.lock().insert(id.clone(), tie);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.sessions.kept.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.sessions.kept.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        self.sessions.end(id).await;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.kept.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        Ok(self.sessions.kept.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.kept.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.kept.resume(id, last_event_id).await?)
    }
}
