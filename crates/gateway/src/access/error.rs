//! Errors of reading, storing and changing tokens.

use toolway_store::StoreError;

use super::agent_binding::AgentWithoutCalls;
use super::secret::NoRandomness;

/// An error of reading, storing or changing tokens.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The database.
    #[error("the tokens could not be read or written")]
    Store(#[from] StoreError),
    /// The file with the owner's token.
    #[error("the owner's token file {path}: {source}")]
    OwnerFile {
        /// Its path.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// No secret could be made.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The token may not have an agent.
    #[error(transparent)]
    Agent(#[from] AgentWithoutCalls),
    /// No such token.
    #[error("there is no token with the id {0:?}")]
    NotFound(String),
    /// The gateway needs this token, so it can't be revoked.
    #[error("the token {id:?} can't be revoked")]
    Protected {
        /// Its id.
        id: &'static str,
        /// The next step for the user.
        instead: &'static str,
    },
}
