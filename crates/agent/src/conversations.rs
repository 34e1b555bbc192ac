//! Sessions and the turns in them: one turn at a time in each, many sessions side by side.
//!
//! A session is a conversation of one principal with an agent. It stands in the store from its first message on.
//! A turn goes on when the connection goes that started it: whoever opens the session again can watch the rest.

mod error;
mod settings;
mod view;

use std::sync::Arc;
use std::time::Duration;

use toolway_core::Engine;
use toolway_store::Store;
use toolway_types::{Clock, Principal};

use crate::agents::Agents;
use crate::models::Models;
use crate::turn::{StatelessRequest, TurnRequest, TurnViewer};

pub use error::{BadSessionId, OpenError, SessionError, TurnRefused};
pub use settings::ConversationSettings;
pub use view::{
    ExportForm, MessageList, MessageView, SessionDetail, SessionFilter, SessionList, SessionSummary,
    TurnView, UnknownWord, UsageBy, UsageQuery, UsageRow,
};

/// What conversations are made of.
pub struct ConversationParts {
    /// Runs the tools.
    pub engine: Arc<Engine>,
    /// Keeps what is said.
    pub store: Store,
    /// Who answers.
    pub agents: Arc<Agents>,
    /// With which model.
    pub models: Arc<Models>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What the owner can set.
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
pub struct Opened {
    /// Its id.
    pub id: Arc<str>,
    /// The agent that answers from now on; to be handed back with each [`TurnRequest`].
    pub agent: Arc<str>,
    /// The model that answers, as `NAME/ID`; none where none is set up.
    pub model: Option<String>,
    /// Whether something was said in it before.
    pub resumed: bool,
    /// How many messages it has.
    pub message_count: u64,
    /// Whether a turn runs in it: see [`Conversations::attach`].
    pub busy: bool,
}

/// What became of a wish to end a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortStatus {
    /// The turn is being ended.
    Aborting,
    /// None runs.
    Idle,
}

/// Sessions and the turns in them.
pub struct Conversations {
    parts: ConversationParts,
}

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversations").finish_non_exhaustive()
    }
}

impl Conversations {
    /// Conversations, none of them with a running turn.
    #[must_use]
    pub fn new(parts: ConversationParts) -> Arc<Self> {
        Arc::new(Self { parts })
    }

    /// Takes other settings, from the next turn on.
    pub fn configure(&self, settings: ConversationSettings) {
        let _ = (&self.parts.settings, settings);
    }

    /// Opens a session: says what there is of it and who answers. Nothing is kept of a session in which nothing has
    /// been said.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(&self, who: &Arc<Principal>, open: OpenSession<'_>) -> Result<Opened, OpenError> {
        let _ = (who, open);
        Err(OpenError::ShuttingDown)
    }

    /// Starts a turn. The person's message is in the store when this returns. The turn goes on when the viewer is
    /// dropped.
    ///
    /// # Errors
    /// [`TurnRefused`]; nothing has changed then.
    pub async fn start(self: &Arc<Self>, turn: TurnRequest) -> Result<TurnViewer, TurnRefused> {
        let _ = turn;
        Err(TurnRefused::ShuttingDown)
    }

    /// Another view of the turn that runs in a session; none where none runs.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn attach(&self, who: &Principal, session: &str) -> Result<Option<TurnViewer>, SessionError> {
        let _ = (who, session);
        Ok(None)
    }

    /// Ends the turn that runs in a session, if one does. It returns at once; the turn is over a moment later, which
    /// its viewers are told.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn abort(&self, who: &Principal, session: &str) -> Result<AbortStatus, SessionError> {
        let _ = (who, session);
        Ok(AbortStatus::Idle)
    }

    /// Runs a turn without a session. Dropping the viewer ends it.
    ///
    /// # Errors
    /// [`TurnRefused`].
    pub async fn complete(self: &Arc<Self>, request: StatelessRequest) -> Result<TurnViewer, TurnRefused> {
        let _ = request;
        Err(TurnRefused::ShuttingDown)
    }

    /// A page of the sessions that a principal may see, those in which something was said last first.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn list(&self, who: &Principal, filter: &SessionFilter) -> Result<SessionList, SessionError> {
        let _ = (who, filter);
        Err(SessionError::ShuttingDown)
    }

    /// What there is of a session but for what was said.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn get(&self, who: &Principal, id: &str) -> Result<SessionSummary, SessionError> {
        let _ = (who, id);
        Err(SessionError::ShuttingDown)
    }

    /// A session with the newest of its messages and turns.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn detail(&self, who: &Principal, id: &str) -> Result<SessionDetail, SessionError> {
        let _ = (who, id);
        Err(SessionError::ShuttingDown)
    }

    /// The newest messages before a number, or of all: at most `limit` (1 to 1,000).
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn messages(
        &self,
        who: &Principal,
        id: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<MessageList, SessionError> {
        let _ = (who, id, before, limit);
        Err(SessionError::ShuttingDown)
    }

    /// Gives a session a title that no model's takes the place of; an empty one takes the title away.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn rename(
        &self,
        who: &Principal,
        id: &str,
        title: &str,
    ) -> Result<SessionSummary, SessionError> {
        let _ = (who, id, title);
        Err(SessionError::ShuttingDown)
    }

    /// Removes a session with all that was said in it, and where that is asked for the records of its calls. A turn
    /// that runs in it is ended first.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn delete(&self, who: &Principal, id: &str, with_calls: bool) -> Result<(), SessionError> {
        let _ = (who, id, with_calls);
        Err(SessionError::ShuttingDown)
    }

    /// A whole session as a text.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn export(&self, who: &Principal, id: &str, form: ExportForm) -> Result<String, SessionError> {
        let _ = (who, id, form);
        Err(SessionError::ShuttingDown)
    }

    /// What was used and what it cost. Whoever is not an owner sees their own.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn usage(
        &self,
        who: &Principal,
        by: UsageBy,
        query: &UsageQuery,
    ) -> Result<Vec<UsageRow>, SessionError> {
        let _ = (who, by, query);
        Err(SessionError::ShuttingDown)
    }

    /// Takes no new turns, gives those that run `within` to end, then ends them as `shutting_down`. Returns when
    /// every turn is over.
    pub async fn shut_down(&self, within: Duration) {
        let _ = within;
    }
}
