//! Errors of requests to models.

use std::sync::Arc;
use std::time::Duration;

/// Kind of a model error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The key is missing, wrong, or may not do this.
    Auth,
    /// The provider has no such model.
    ModelNotFound,
    /// Too many requests, or a quota is used up.
    RateLimited,
    /// The provider is overloaded or failed.
    Overloaded,
    /// The provider could not use the request.
    InvalidRequest,
    /// The conversation exceeds the model's context window.
    ContextTooLong,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// A timeout while connecting, before the response or inside it.
    Timeout,
    /// The response violates the API.
    Protocol,
}

/// An error of a request to a model. Its text never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ModelError {
    /// Kind of the error.
    pub kind: ModelErrorKind,
    /// Name of the model provider.
    pub provider: Arc<str>,
    /// Description of the problem. Text of the provider is quoted and truncated.
    pub message: String,
    /// Next step for the owner.
    pub hint: Option<String>,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// Delay that the provider asks for.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// Creates an error from its kind and message.
    #[must_use]
    pub fn new(kind: ModelErrorKind, provider: impl Into<Arc<str>>, message: impl Into<String>) -> Self {
        let (provider, message) = (provider.into(), message.into());
        Self { kind, provider, message, hint: None, status: None, retry_after: None }
    }

    /// Sets the hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        use ModelErrorKind as Kind;
        matches!(self.kind, Kind::RateLimited | Kind::Overloaded | Kind::Network | Kind::Timeout)
    }
}
