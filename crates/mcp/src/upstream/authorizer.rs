//! The source of access tokens for servers at an address.

use async_trait::async_trait;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use secrecy::SecretString;
use toolway_types::Slug;
use url::Url;

/// The reason why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AuthorizeError {
    /// The message.
    pub message: String,
    /// The next step for a person. Without one, the error is temporary or can't be fixed.
    pub hint: Option<String>,
    /// True if only a login helps, so that further attempts are useless.
    pub needs_login: bool,
}

impl AuthorizeError {
    /// Creates an error with this message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, needs_login: false }
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks an error that only a login fixes, and adds the command.
    #[must_use]
    pub fn needing_login(mut self, server: &Slug) -> Self {
        self.needs_login = true;
        self.with_hint(format!("run `toolway mcp login {server}`"))
    }
}

/// Joins the challenges of a response. A server may send each in a header of its own.
#[must_use]
pub fn challenge_header(headers: &HeaderMap) -> String {
    let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(", ")
}

/// The reaction to a request that the server refused as unauthorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeOutcome {
    /// Retry the request with the current token.
    RetryRequest,
    /// The owner must log in first.
    NeedsLogin,
}

/// Provides tokens and handles refusals.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Returns the current token for a server, or `None` if the server needs none. Called before every request, so it
    /// should be fast.
    ///
    /// # Errors
    /// [`AuthorizeError`] if a required token is unavailable.
    async fn token(&self, server: &Slug, url: &str) -> Result<Option<SecretString>, AuthorizeError>;

    /// Returns the proof that belongs to a token that is bound to a key (RFC 9449), or `None` for a bearer token. Each
    /// request has a proof of its own.
    fn proof(
        &self,
        _server: &Slug,
        _method: &Method,
        _url: &Url,
        _token: &SecretString,
    ) -> Option<HeaderValue> {
        None
    }

    /// Reads the headers of each response. A server may give a nonce for the next proof there.
    fn observe_response(&self, _server: &Slug, _headers: &HeaderMap) {}

    /// Prepares for a new connection. The definition of the server may have changed.
    fn start_connection(&self, _server: &Slug) {}

    /// Handles a refusal with this status (401 or 403) and this `WWW-Authenticate`, which is empty if the server sent
    /// none.
    ///
    /// # Errors
    /// [`AuthorizeError`] if the challenge can't be met.
    async fn handle_challenge(
        &self,
        server: &Slug,
        url: &str,
        www_authenticate: &str,
        status: StatusCode,
    ) -> Result<ChallengeOutcome, AuthorizeError>;
}

/// An authorizer without tokens: servers that require one need a login.
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
