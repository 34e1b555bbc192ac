//! Errors of reading, storing and changing tokens.

use toolway_store::StoreError;

use super::agent_binding::AgentWithoutCalls;
use super::secret::NoRandomness;

/// An error of reading, storing or changing tokens.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The database failed.
    #[error("the tokens could not be read or written")]
    Store(#[from] StoreError),
    /// The file with the owner's token can't be read or written.
    #[error("the owner's token file {path}: {source}")]
    OwnerFile {
        /// Its path.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The operating system gave no randomness for a secret.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The token's role may not have an agent.
    #[error(transparent)]
    Agent(#[from] AgentWithoutCalls),
    /// The token does not exist.
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
