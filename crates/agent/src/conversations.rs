//! Sessions and the turns in them: one turn at a time in each, many sessions side by side.
//!
//! A session is a conversation of one principal with an agent. It stands in the store from its first message on.
//! A turn goes on when the connection goes that started it: whoever opens the session again can watch the rest.

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
use toolway_core::Engine;
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
    /// Runs the tools.
    pub engine: Arc<Engine>,
    /// Keeps what is said.
    pub store: Store,
    /// The agents.
    pub agents: Arc<AgentCatalog>,
    /// With which model.
    pub models: Arc<ModelCatalog>,
    /// At what price.
    pub prices: Arc<PriceCatalog>,
    /// The budgets.
    pub budgets: Arc<BudgetTracker>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The owner's settings.
    pub settings: ConversationSettings,
}

/// Which session to open.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenSession<'a> {
    /// Its id; a new session's where nobody has it yet, and a new id where there is none.
    pub id: Option<&'a str>,
    /// The agent to talk to; the session's own where nothing is said, and `default` for a new one.
    pub agent: Option<&'a str>,
}

/// A session that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedSession {
    /// Its id.
    pub id: Arc<str>,
    /// The agent that answers from now on; to be handed back with each [`TurnRequest`].
    pub agent: Arc<str>,
    /// The model that answers, as `NAME/ID`; none where none is set up.
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
    /// The turn is being ended.
    Aborting,
    /// None runs.
    Idle,
}

/// Sessions and the turns in them.
pub struct Conversations {
    deps: Arc<TurnDeps>,
    store: Store,
    agents: Arc<AgentCatalog>,
    running: Arc<RunningTurns>,
    suspended: SuspendedTurns,
    /// Everything that goes on by itself: turns, and the titles that are made after them.
    tasks: TaskTracker,
    /// Ends what goes on after turns when the gateway stops.
    closing: Arc<StopSignal>,
}

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversations").field("running", &self.running).finish_non_exhaustive()
    }
}

impl Conversations {
    /// Conversations, none of them with a running turn.
    #[must_use]
    pub fn new(parts: ConversationDeps) -> Arc<Self> {
        let keeper = Arc::new(parts.store.clone());
        Self::with_store(parts, keeper)
    }

    pub(crate) fn with_store(parts: ConversationDeps, keeper: Arc<dyn ConversationStore>) -> Arc<Self> {
        let ConversationDeps { engine, store, agents, models, prices, budgets, clock, settings } = parts;
        let around = TurnDeps {
            engine,
            store: keeper,
            models,
            prices,
            budgets,
            definition_cache: Arc::default(),
            clock,
            settings: ArcSwap::from_pointee(settings),
            counters: TokenCounters::default(),
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

    /// Takes other settings, from the next turn on.
    pub fn configure(&self, settings: ConversationSettings) {
        self.deps.settings.store(Arc::new(settings));
    }

    /// Opens a session: says what there is of it and who answers. Nothing is kept of a session in which nothing has
    /// been said.
    ///
    /// # Errors
    /// [`OpenSessionError`].
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
        let agent = self.resolve_agent(who, known.as_ref(), open.agent)?;
        let model = self.deps.models.get(agent.definition.model.as_deref());
        Ok(OpenedSession {
            busy: self.running.in_session(&id).is_some(),
            id,
            agent: agent.definition.name.as_str().into(),
            model: model.ok().map(|model| model.name()),
            resumed: known.as_ref().is_some_and(|known| known.messages > 0),
            message_count: known.map_or(0, |known| known.messages),
        })
    }

    /// Starts a turn. The person's message is in the store when this returns. The turn goes on when the viewer is
    /// dropped.
    ///
    /// # Errors
    /// [`TurnRefused`]; nothing has changed then.
    pub async fn start(self: &Arc<Self>, turn: TurnRequest) -> Result<TurnViewer, StartTurnError> {
        let this = Arc::clone(self);
        // In a task of its own: who asks may go while the message is being kept, and then the turn has begun.
        let starting = self.tasks.spawn(async move { this.start_in_session(turn).await });
        starting.await.unwrap_or(Err(StartTurnError::ShuttingDown))
    }

    /// Another view of the turn that runs in a session; none where none runs.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn attach(&self, who: &Principal, session: &str) -> Result<Option<TurnViewer>, SessionError> {
        match self.running.in_session(session) {
            Some(turn) if turn.principal != who.id => Err(SessionError::OwnerMismatch),
            Some(turn) => Ok(turn.broadcast.subscribe(&turn.id)),
            None => self.check_owner(who, session).await.map(|()| None),
        }
    }

    /// Ends the turn that runs in a session, if one does. It returns at once; the turn is over a moment later, which
    /// its viewers are told.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn abort(&self, who: &Principal, session: &str) -> Result<AbortStatus, SessionError> {
        match self.running.in_session(session) {
            Some(turn) if turn.principal != who.id && !who.role.is_owner() => {
                Err(SessionError::OwnerMismatch)
            }
            Some(turn) => {
                turn.stop.stop(StopReason::Aborted);
                Ok(AbortStatus::Aborting)
            }
            None if who.role.is_owner() => Ok(AbortStatus::Idle),
            None => self.check_owner(who, session).await.map(|()| AbortStatus::Idle),
        }
    }

    /// Runs a turn without a session. Dropping the viewer ends it.
    ///
    /// An answer that calls tools of the caller beside the gateway's ends the turn when the gateway's have run. What
    /// the caller is not told of it is remembered for some minutes, and put back in its place when the caller sends
    /// the results of its own.
    ///
    /// # Errors
    /// [`TurnRefused`].
    pub async fn complete(self: &Arc<Self>, request: StatelessRequest) -> Result<TurnViewer, StartTurnError> {
        self.start_stateless(request)
    }

    /// Takes no new turns, gives those that run `within` to end, then ends them as `shutting_down`. Returns when
    /// every turn is over.
    pub async fn shut_down(&self, within: Duration) {
        self.running.close();
        self.closing.stop(StopReason::ShuttingDown);
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            self.running.stop_all(StopReason::ShuttingDown);
            self.tasks.wait().await;
        }
    }

    /// The agent that answers: the one that the token is bound to, else the one that is asked for, else the session's.
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

/// The id, where it can be one.
fn validate_id(id: &str) -> Result<&str, InvalidSessionId> {
    let length = id.chars().count();
    let fits = (1..=MAX_ID).contains(&length) && !id.chars().any(is_invisible);
    if fits { Ok(id) } else { Err(InvalidSessionId) }
}

#[cfg(test)]
mod tests;
