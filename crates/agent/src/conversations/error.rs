//! Why something about a conversation was refused.

use toolway_store::StoreError;

use crate::agents::NoSuchAgent;

/// Most characters of a session's id.
pub(super) const MAX_ID: usize = 128;

/// An id that no session can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session's id must have 1 to {MAX_ID} visible characters")]
pub struct InvalidSessionId;

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSessionError {
    /// It is another principal's: `SESSION_OWNER_MISMATCH`.
    #[error("this session belongs to another principal")]
    OwnerMismatch,
    /// There is no such agent.
    #[error(transparent)]
    UnknownAgent(#[from] NoSuchAgent),
    /// The token is bound to another agent.
    #[error("this token may only use the agent {bound:?}, not {asked:?}")]
    AgentForbidden {
        /// The agent that it is bound to.
        bound: String,
        /// The one that was named.
        asked: String,
    },
    /// The id can't be one.
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
    /// The gateway stops.
    #[error("the gateway is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// Why a turn was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartTurnError {
    /// One runs in this session: `SESSION_BUSY`.
    #[error("a turn is already running in this session")]
    Busy,
    /// There is no message of a person to answer: `NO_USER_MESSAGE`.
    #[error("there is no user message to answer")]
    NoUserMessage,
    /// The message holds nothing: `EMPTY_CONTENT`.
    #[error("the message is empty")]
    EmptyContent,
    /// The session is another principal's: `SESSION_OWNER_MISMATCH`.
    #[error("this session belongs to another principal")]
    OwnerMismatch,
    /// There is no such agent.
    #[error(transparent)]
    UnknownAgent(#[from] NoSuchAgent),
    /// The token is bound to another agent.
    #[error("this token may only use the agent {bound:?}, not {asked:?}")]
    AgentForbidden {
        /// The agent that it is bound to.
        bound: String,
        /// The one that was named.
        asked: String,
    },
    /// The id can't be one.
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
    /// So many turns run already.
    #[error("{0} turns are already running, the maximum")]
    TooMany(usize),
    /// The gateway stops.
    #[error("the gateway is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// Why a session could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is none of this id that this principal may see.
    #[error("there is no session {0:?}")]
    Unknown(String),
    /// It is another principal's, who alone may talk in it.
    #[error("this session belongs to another principal")]
    OwnerMismatch,
    /// Only an owner may ask for this.
    #[error("only an owner may see the sessions of others")]
    OwnerRequired,
    /// The gateway stops.
    #[error("the gateway is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<StoreError> for OpenSessionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::SessionTaken { .. } => Self::OwnerMismatch,
            other => Self::Store(other),
        }
    }
}

impl From<StoreError> for StartTurnError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::SessionTaken { .. } => Self::OwnerMismatch,
            StoreError::Missing { .. } => Self::NoUserMessage,
            other => Self::Store(other),
        }
    }
}

impl From<OpenSessionError> for StartTurnError {
    fn from(error: OpenSessionError) -> Self {
        match error {
            OpenSessionError::OwnerMismatch => Self::OwnerMismatch,
            OpenSessionError::UnknownAgent(unknown) => Self::UnknownAgent(unknown),
            OpenSessionError::AgentForbidden { bound, asked } => Self::AgentForbidden { bound, asked },
            OpenSessionError::InvalidId(bad) => Self::InvalidId(bad),
            OpenSessionError::ShuttingDown => Self::ShuttingDown,
            OpenSessionError::Store(error) => Self::Store(error),
        }
    }
}
