//! Errors about conversations.

use toolway_store::StoreError;

use crate::agents::NoSuchAgent;

/// Maximum length of a session id, in characters.
pub(super) const MAX_ID: usize = 128;

/// The session id is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session's id must have 1 to {MAX_ID} visible characters")]
pub struct InvalidSessionId;

/// Reason why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSessionError {
    /// The session belongs to another principal: `SESSION_OWNER_MISMATCH`.
    #[error("this session belongs to another principal")]
    OwnerMismatch,
    /// The agent does not exist.
    #[error(transparent)]
    UnknownAgent(#[from] NoSuchAgent),
    /// The token is bound to another agent.
    #[error("this token may only use the agent {bound:?}, not {asked:?}")]
    AgentForbidden {
        /// Agent of the token.
        bound: String,
        /// Requested agent.
        asked: String,
    },
    /// The session id is invalid.
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
    /// The gateway is shutting down.
    #[error("the gateway is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// Reason why a turn was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartTurnError {
    /// A turn is running in this session: `SESSION_BUSY`.
    #[error("a turn is already running in this session")]
    Busy,
    /// The session has no message of a person to answer: `NO_USER_MESSAGE`.
    #[error("there is no user message to answer")]
    NoUserMessage,
    /// The message is empty: `EMPTY_CONTENT`.
    #[error("the message is empty")]
    EmptyContent,
    /// The session belongs to another principal: `SESSION_OWNER_MISMATCH`.
    #[error("this session belongs to another principal")]
    OwnerMismatch,
    /// The agent does not exist.
    #[error(transparent)]
    UnknownAgent(#[from] NoSuchAgent),
    /// The token is bound to another agent.
    #[error("this token may only use the agent {bound:?}, not {asked:?}")]
    AgentForbidden {
        /// Agent of the token.
        bound: String,
        /// Requested agent.
        asked: String,
    },
    /// The session id is invalid.
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
    /// The maximum number of turns is running.
    #[error("{0} turns are already running, the maximum")]
    TooMany(usize),
    /// The principal runs as many turns as it may.
    #[error("this token already runs {0} turns, its share")]
    ShareUsed(usize),
    /// There is no memory for the turn.
    #[error("the running turns of this token take all of its memory")]
    NoMemory,
    /// The gateway is shutting down.
    #[error("the gateway is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// Reason why a session could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The session does not exist, or the principal may not see it.
    #[error("there is no session {0:?}")]
    Unknown(String),
    /// The session belongs to another principal, who alone may send messages in it.
    #[error("this session belongs to another principal")]
    OwnerMismatch,
    /// Only an owner may request this.
    #[error("only an owner may see the sessions of others")]
    OwnerRequired,
    /// The gateway is shutting down.
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
