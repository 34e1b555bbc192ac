//! What can go wrong between us and a model.

use std::sync::Arc;
use std::time::Duration;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The key is missing, wrong, or may not do this.
    Auth,
    /// No such model there.
    ModelNotFound,
    /// Too many requests, or a quota is used up.
    RateLimited,
    /// The provider has too much to do, or failed by itself.
    Overloaded,
    /// The provider could not use the request.
    InvalidRequest,
    /// The conversation is longer than the model can read.
    ContextTooLong,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// It took too long to connect, to begin, or to go on.
    Timeout,
    /// What came back is not what the API promises.
    Protocol,
}

/// A failure between us and a model. Its text never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// The model provider's name, as the owner named it.
    pub provider: Arc<str>,
    /// What went wrong, in words; what the provider said is quoted, and cut where it is long.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// How long the provider wants us to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// A failure with nothing but its kind and its words.
    #[must_use]
    pub fn new(kind: ModelErrorKind, provider: impl Into<Arc<str>>, message: impl Into<String>) -> Self {
        let (provider, message) = (provider.into(), message.into());
        Self { kind, provider, message, hint: None, status: None, retry_after: None }
    }

    /// With what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the same request may succeed when it is made again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        use ModelErrorKind as Kind;
        matches!(self.kind, Kind::RateLimited | Kind::Overloaded | Kind::Network | Kind::Timeout)
    }
}
