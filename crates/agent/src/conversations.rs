//! Sessions and their turns: one turn at a time in each session, many sessions in parallel.
//!
//! A session is a conversation of one principal with an agent. It is stored from its first message on. A turn
//! continues if the connection that started it disconnects: whoever opens the session again can watch the
//! rest.

mod error;
mod running_turns;
mod sessions;
mod suspended_turns;
mod turn_lifecycle;
mod view;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::task::TaskTracker;
use toolway_core::{Engine, PeerMemory};
use toolway_store::{SessionRecord, Store};
use toolway_types::name::is_invisible;
use toolway_types::{Clock, Principal};
use uuid::Uuid;

use crate::agents::{Agent, AgentCatalog, DEFAULT_AGENT};
use crate::budget::BudgetTracker;
use crate::models::ModelCatalog;
use crate::prices::PriceCatalog;
use crate::turn::conversation_store::ConversationStore;
use crate::turn::deps::{TokenCounters, TurnDeps};
use crate::turn::refused_parts::RefusedParts;
use crate::turn::stop_signal::{StopReason, StopSignal};
use crate::turn::{StatelessRequest, TurnRequest, TurnViewer};
use error::MAX_ID;
use running_turns::RunningTurns;
use suspended_turns::SuspendedTurns;

pub use crate::conversation_settings::ConversationSettings;
pub use error::{InvalidSessionId, OpenSessionError, SessionError, StartTurnError};
pub use view::{
    ExportFormat, MessageList, MessageView, SessionDetail, SessionList, SessionListOptions, SessionSummary,
    TurnSummary, UnknownValue, UsageGrouping, UsageQuery, UsageReportRow,
};

/// Dependencies of conversations.
pub struct ConversationDeps {
    /// Engine that runs the tools.
    pub engine: Arc<Engine>,
    /// Store of sessions and messages.
    pub store: Store,
    /// The agents.
    pub agents: Arc<AgentCatalog>,
    /// Models.
    pub models: Arc<ModelCatalog>,
    /// Prices of models.
    pub prices: Arc<PriceCatalog>,
    /// The budgets.
    pub budgets: Arc<BudgetTracker>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The owner's settings.
    pub settings: ConversationSettings,
    /// Memory of running turns.
    pub memory: Arc<dyn PeerMemory>,
}

/// Request to open a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenSession<'a> {
    /// Id of the session. An unknown id creates a session with this id; without one, a new id is chosen.
    pub id: Option<&'a str>,
    /// Agent to use. Default: the session's own, or `default` for a new session.
    pub agent: Option<&'a str>,
    /// If true, `agent` applies only to a new session, and `default` replaces an agent that does not exist.
    pub falls_back: bool,
}

/// An opened session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedSession {
    /// Id of the session.
    pub id: Arc<str>,
    /// Agent that answers, for [`TurnRequest`].
    pub agent: Arc<str>,
    /// Agent that does not exist and was replaced by `agent`.
    pub missing_agent: Option<String>,
    /// Title of the session.
    pub title: Option<String>,
    /// Model that answers, as `NAME/ID`; `None` if none is configured.
    pub model: Option<String>,
    /// True if the session has messages.
    pub resumed: bool,
    /// Number of messages.
    pub message_count: u64,
    /// True if a turn runs in the session; see [`Conversations::attach`].
    pub busy: bool,
}

/// Result of a request to abort a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortStatus {
    /// The turn is being aborted.
    Aborting,
    /// No turn is running.
    Idle,
}

/// Sessions and their turns.
pub struct Conversations {
    deps: Arc<TurnDeps>,
    store: Store,
    agents: Arc<AgentCatalog>,
    running: Arc<RunningTurns>,
    suspended: SuspendedTurns,
    /// Background tasks: turns, and titles after them.
    tasks: TaskTracker,
    /// Ends the work after turns when the gateway stops.
    closing: Arc<StopSignal>,
}

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversations").field("running", &self.running).finish_non_exhaustive()
    }
}

impl Conversations {
    /// Creates conversations without running turns.
    #[must_use]
    pub fn new(parts: ConversationDeps) -> Arc<Self> {
        let conversation_store = Arc::new(parts.store.clone());
        Self::with_store(parts, conversation_store)
    }

    pub(crate) fn with_store(
        parts: ConversationDeps,
        conversation_store: Arc<dyn ConversationStore>,
    ) -> Arc<Self> {
        let ConversationDeps { engine, store, agents, models, prices, budgets, clock, settings, memory } =
            parts;
        let around = TurnDeps {
            engine,
            store: conversation_store,
            models,
            prices,
            budgets,
            definition_cache: Arc::default(),
            clock,
            settings: ArcSwap::from_pointee(settings),
            counters: TokenCounters::default(),
            refused_parts: RefusedParts::default(),
            memory,
        };
        Arc::new(Self {
            deps: Arc::new(around),
            store,
            agents,
            running: Arc::default(),
            suspended: SuspendedTurns::default(),
            tasks: TaskTracker::new(),
            closing: Arc::default(),
        })
    }

    /// Applies other settings from the next turn on.
    pub fn configure(&self, settings: ConversationSettings) {
        self.deps.settings.store(Arc::new(settings));
    }

    /// Opens a session and returns its state. A session without messages is not stored.
    ///
    /// # Errors
    /// [`OpenSessionError`] if it can't be opened.
    pub async fn open(
        &self,
        who: &Arc<Principal>,
        open: OpenSession<'_>,
    ) -> Result<OpenedSession, OpenSessionError> {
        if self.running.is_closed() {
            return Err(OpenSessionError::ShuttingDown);
        }
        let (id, known): (Arc<str>, _) = match open.id {
            None => (Uuid::now_v7().to_string().into(), None),
            Some(id) => (validate_id(id)?.into(), self.deps.store.session(id).await?),
        };
        if known.as_ref().is_some_and(|known| *known.principal != *who.id.0) {
            return Err(OpenSessionError::OwnerMismatch);
        }
        let asked = open.agent.filter(|_| !open.falls_back || known.is_none());
        let (agent, missing_agent) = match self.resolve_agent(who, known.as_ref(), asked) {
            Err(OpenSessionError::UnknownAgent(missing)) if open.falls_back => {
                (self.resolve_agent(who, None, None)?, Some(missing.name))
            }
            resolved => (resolved?, None),
        };
        let model = self.deps.models.get(agent.definition.model.as_deref());
        Ok(OpenedSession {
            busy: self.running.in_session(&id).is_some(),
            id,
            agent: agent.definition.name.as_str().into(),
            missing_agent,
            title: known.as_ref().and_then(|known| known.title.clone()),
            model: model.ok().map(|model| model.name()),
            resumed: known.as_ref().is_some_and(|known| known.messages > 0),
            message_count: known.map_or(0, |known| known.messages),
        })
    }

    /// Starts a turn. The person's message is stored when this returns. The turn continues if the viewer is
    /// dropped.
    ///
    /// # Errors
    /// [`StartTurnError`]; then nothing has changed.
    pub async fn start(self: &Arc<Self>, turn: TurnRequest) -> Result<TurnViewer, StartTurnError> {
        let this = Arc::clone(self);
        // In a separate task: the caller may be dropped while the message is being stored, and the turn must
        // start anyway.
        let starting = self.tasks.spawn(async move { this.start_in_session(turn).await });
        starting.await.unwrap_or(Err(StartTurnError::ShuttingDown))
    }

    /// Returns another view of the running turn of a session, if there is one.
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not see it.
    pub async fn attach(&self, who: &Principal, session: &str) -> Result<Option<TurnViewer>, SessionError> {
        match self.running.in_session(session) {
            Some(turn) if turn.principal != who.id => Err(SessionError::OwnerMismatch),
            Some(turn) => Ok(turn.broadcast.subscribe(&turn.id)),
            None => self.check_owner(who, session).await.map(|()| None),
        }
    }

    /// Aborts the running turn of a session, if there is one that the principal may abort. Returns at once; the
    /// viewers are notified when the turn has ended. A session of another principal looks like one that does not
    /// exist.
    pub fn abort(&self, who: &Principal, session: &str) -> AbortStatus {
        match self.running.in_session(session) {
            Some(turn) if turn.principal == who.id || who.role.is_owner() => {
                turn.stop.stop(StopReason::Aborted);
                AbortStatus::Aborting
            }
            _ => AbortStatus::Idle,
        }
    }

    /// Runs a turn without a session. Dropping the viewer ends it.
    ///
    /// If an answer calls tools of the caller in addition to the gateway's, the turn ends after the gateway's
    /// calls. The messages that the caller does not get are remembered for some minutes, and inserted when
    /// the caller sends the results of its own calls.
    ///
    /// # Errors
    /// [`StartTurnError`]; then nothing has started.
    pub async fn complete(self: &Arc<Self>, request: StatelessRequest) -> Result<TurnViewer, StartTurnError> {
        self.start_stateless(request)
    }

    /// Refuses new turns, gives running turns the time `within` to end, then ends them as `shutting_down`.
    /// Returns when all turns have ended.
    pub async fn shut_down(&self, within: Duration) {
        self.running.close();
        self.closing.stop(StopReason::ShuttingDown);
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            self.running.stop_all(StopReason::ShuttingDown);
            self.tasks.wait().await;
        }
    }

    /// Returns the agent that answers: the one that the token is bound to, otherwise the requested one,
    /// otherwise the session's.
    fn resolve_agent(
        &self,
        who: &Principal,
        known: Option<&SessionRecord>,
        asked: Option<&str>,
    ) -> Result<Arc<Agent>, OpenSessionError> {
        let name = match (who.agent.as_deref(), asked) {
            (Some(bound), Some(asked)) if bound != asked => {
                return Err(OpenSessionError::AgentForbidden {
                    bound: bound.to_owned(),
                    asked: asked.to_owned(),
                });
            }
            (Some(bound), _) => bound,
            (None, Some(asked)) => asked,
            (None, None) => known.map_or(DEFAULT_AGENT, |known| known.agent.as_str()),
        };
        Ok(self.agents.agent(name)?)
    }

    /// Checks that a session, if it exists, belongs to this principal.
    async fn check_owner(&self, who: &Principal, session: &str) -> Result<(), SessionError> {
        match self.deps.store.session(session).await? {
            Some(known) if *known.principal != *who.id.0 => Err(SessionError::OwnerMismatch),
            _ => Ok(()),
        }
    }
}

/// Returns the id if it is valid.
fn validate_id(id: &str) -> Result<&str, InvalidSessionId> {
    let length = id.chars().count();
    let fits = (1..=MAX_ID).contains(&length) && !id.chars().any(is_invisible);
    if fits { Ok(id) } else { Err(InvalidSessionId) }
}

#[cfg(test)]
mod tests;
