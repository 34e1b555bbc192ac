//! Turns: requests that start one ([`TurnRequest`], [`StatelessRequest`]) and the view of a running one
//! ([`TurnViewer`]). The
//! child modules run turns.

pub(crate) mod broadcast;
pub(crate) mod conversation_store;
pub(crate) mod deps;
mod meter;
mod model_response;
mod prompt;
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
pub struct TurnRequest {
    /// The session's id.
    pub session: Arc<str>,
    /// Principal that makes the request.
    pub principal: Arc<Principal>,
    /// The agent that answers, as [`OpenedSession`](crate::conversations::OpenedSession) has it; the session's own where nothing
    /// is said, and `default` in a new one.
    pub agent: Option<Arc<str>>,
    /// Input of the turn.
    pub input: TurnInput,
    /// The registration of the asking connection, whose tools the agent has besides its own. Read anew at each
    /// request to the model: a client may register its first tool in mid-turn.
    pub registration: ConnectionRegistration,
    /// Receives questions to the person, if a person can be asked.
    pub questions: Option<QuestionSink>,
    /// True to publish [`TurnEvent::DebugPrompt`].
    pub debug: bool,
}

impl std::fmt::Debug for TurnRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnRequest").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Current registration of a connection: the connection sets it, its turns read it. Cheap to clone; all
/// clones are one.
#[derive(Debug, Clone, Default)]
pub struct ConnectionRegistration(Arc<RwLock<Option<CallerRegistration>>>);

impl ConnectionRegistration {
    /// The registration; none while nothing was registered.
    #[must_use]
    pub fn current(&self) -> Option<CallerRegistration> {
        self.0.read().clone()
    }

    /// Says what it is from now on.
    pub fn set(&self, own: Option<CallerRegistration>) {
        *self.0.write() = own;
    }
}

/// Input of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// A new message: text, pictures.
    Message(Vec<MessagePart>),
    /// The last message of the person, again; the answer that it had is taken out of the session.
    Regenerate,
}

/// A turn without a session: the caller brings the whole conversation, and nothing of it is kept but the records of
/// its calls and what it cost.
pub struct StatelessRequest {
    /// The agent's name.
    pub agent: String,
    /// Principal that makes the request.
    pub principal: Arc<Principal>,
    /// System messages of the caller, which stand after the agent's own prompt.
    pub system: Vec<String>,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// Tools that the caller runs itself: a call of one ends the turn.
    pub client_tools: Vec<ToolDefinition>,
    /// Setting for whether the model must call a tool.
    pub tool_choice: ToolChoice,
    /// The form that the answer must have.
    pub output: Option<OutputSchema>,
    /// Options that override the agent's.
    pub options: ModelOptions,
}

impl std::fmt::Debug for StatelessRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatelessRequest").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Somebody's view of a running turn. Dropping it does not end a session's turn, which goes on for whoever comes
/// back; it ends a stateless one.
#[derive(Debug)]
pub struct TurnViewer {
    /// The turn's id, under which its calls are recorded.
    pub turn: Arc<str>,
    /// Text of the turn that was there before this view began; empty for whoever started it.
    pub text_so_far: String,
    /// Calls that are under way at that time.
    pub running_calls: Vec<RunningToolCall>,
    /// Events from then on. Bounded: a viewer that does not read delays the turn, up to a
    /// time limit.
    pub events: mpsc::Receiver<TurnEvent>,
}

/// A call that is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningToolCall {
    /// Its id.
    pub id: CallId,
    /// The tool's name as the model knows it.
    pub name: String,
    /// Always an object, as in [`TurnEvent::ToolCall`].
    pub arguments: RawJson,
}
