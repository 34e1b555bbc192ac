//! Where the tokens come from that a server at an address wants to see.

use async_trait::async_trait;
use http::StatusCode;
use secrecy::SecretString;
use toolway_types::Slug;

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AuthorizeError {
    /// In words.
    pub message: String,
    /// What a person must do about it. Without one it may pass by itself, or nothing helps.
    pub hint: Option<String>,
}

impl AuthorizeError {
    /// With these words.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What becomes of a request that was refused for want of authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeOutcome {
    /// It is sent again, with the token that there is now.
    RetryRequest,
    /// The owner must log in first.
    NeedsLogin,
}

/// Gives tokens, and is told of refusals.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// The token for requests to a server now; none where it is spoken to without one. Asked before every request, so
    /// it should be at hand.
    ///
    /// # Errors
    /// Where there ought to be one and can't be had.
    async fn token(&self, server: &Slug, url: &str) -> Result<Option<SecretString>, AuthorizeError>;

    /// The server refused a request with this status (401, or 403) and this `WWW-Authenticate`, which is empty where
    /// it sent none.
    ///
    /// # Errors
    /// Where what it asks for can't be done.
    async fn handle_challenge(
        &self,
        server: &Slug,
        url: &str,
        www_authenticate: &str,
        status: StatusCode,
    ) -> Result<ChallengeOutcome, AuthorizeError>;
}

/// No tokens: whoever asks for one needs a login.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAuthorizer;

#[async_trait]
impl Authorizer for NoAuthorizer {
    async fn token(&self, _: &Slug, _: &str) -> Result<Option<SecretString>, AuthorizeError> {
        Ok(None)
    }

    async fn handle_challenge(
        &self,
        _: &Slug,
        _: &str,
        _: &str,
        _: StatusCode,
    ) -> Result<ChallengeOutcome, AuthorizeError> {
        Ok(ChallengeOutcome::NeedsLogin)
    }
}
