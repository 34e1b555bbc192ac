//! Turns: requests that start one ([`TurnRequest`], [`StatelessRequest`]) and the view of a running one
//! ([`TurnViewer`]). The child modules run turns.

pub(crate) mod broadcast;
pub(crate) mod conversation_store;
pub(crate) mod deps;
mod meter;
mod model_response;
mod prompt;
pub(crate) mod refused_parts;
mod repeated_failures;
pub(crate) mod request_attribution;
mod side_request;
pub(crate) mod stop_signal;
pub(crate) mod task;
pub(crate) mod title;
mod tool_calls;

use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::mpsc;
use toolway_core::CallerRegistration;
use toolway_core::consent::QuestionSink;
use toolway_models::{MessagePart, ModelMessage, ModelOptions, OutputSchema, ToolChoice, ToolDefinition};
use toolway_types::{CallId, Principal, RawJson};

use crate::event::TurnEvent;

/// A turn in a session.
#[derive(Clone)]
pub struct TurnRequest {
    /// Id of the session.
    pub session: Arc<str>,
    /// Title of the session, if this turn creates it. No model replaces the title.
    pub title: Option<String>,
    /// Principal that makes the request.
    pub principal: Arc<Principal>,
    /// Agent that answers, as in [`OpenedSession`](crate::conversations::OpenedSession). Default: the
    /// session's own, or `default` for a new session.
    pub agent: Option<Arc<str>>,
    /// Input of the turn.
    pub input: TurnInput,
    /// Registration of the requesting connection, whose tools the agent can use too. It is read again for
    /// each request to the model: a client may register its first tool during a turn.
    pub registration: ConnectionRegistration,
    /// Receives questions to the person, if a person can be asked.
    pub questions: Option<QuestionSink>,
    /// True to publish [`TurnEvent::DebugPrompt`].
    pub debug: bool,
    /// Time zone of the person, as a name of the IANA database, if known.
    pub time_zone: Option<Arc<str>>,
}

impl std::fmt::Debug for TurnRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnRequest").field("session", &self.session).finish_non_exhaustive()
    }
}

/// The current registration of a connection: the connection sets it, its turns read it. Cheap to clone; all
/// clones share it.
#[derive(Debug, Clone, Default)]
pub struct ConnectionRegistration(Arc<RwLock<Option<CallerRegistration>>>);

impl ConnectionRegistration {
    /// Returns the registration; `None` while nothing is registered.
    #[must_use]
    pub fn current(&self) -> Option<CallerRegistration> {
        self.0.read().clone()
    }

    /// Sets the registration.
    pub fn set(&self, own: Option<CallerRegistration>) {
        *self.0.write() = own;
    }
}

/// Input of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// A new message: text and images.
    Message(Vec<MessagePart>),
    /// The last message of the person, again; the previous answer is removed from the session.
    Regenerate,
}

/// A turn without a session: the caller sends the whole conversation, and only the call records and the cost
/// are stored.
pub struct StatelessRequest {
    /// Name of the agent.
    pub agent: String,
    /// Principal that makes the request.
    pub principal: Arc<Principal>,
    /// System messages of the caller, which follow the agent's own prompt.
    pub system: Vec<String>,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// Tools that the caller runs itself: a call of one ends the turn.
    pub client_tools: Vec<ToolDefinition>,
    /// Setting for whether the model must call a tool.
    pub tool_choice: ToolChoice,
    /// Required format of the answer.
    pub output: Option<OutputSchema>,
    /// Options that override the agent's.
    pub options: ModelOptions,
    /// Time zone of the person, as a name of the IANA database, if known.
    pub time_zone: Option<Arc<str>>,
}

impl std::fmt::Debug for StatelessRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatelessRequest").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// A view of a running turn. Dropping it does not end the turn of a session, which continues for later
/// viewers; it ends a stateless turn.
#[derive(Debug)]
pub struct TurnViewer {
    /// Id of the turn. Its calls are recorded under this id.
    pub turn: Arc<str>,
    /// Text of the turn before this view began; empty for the viewer that started it.
    pub text_so_far: String,
    /// Calls that were running at that time.
    pub running_calls: Vec<RunningToolCall>,
    /// Events from then on. Bounded: a viewer that does not read delays the turn, up to a time limit.
    pub events: mpsc::Receiver<TurnEvent>,
}

/// A running call.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningToolCall {
    /// Id of the call.
    pub id: CallId,
    /// The tool's name as the model knows it.
    pub name: String,
    /// Arguments. Always an object, as in [`TurnEvent::ToolCall`].
    pub arguments: RawJson,
}
