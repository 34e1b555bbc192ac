//! Errors of discovery, login and refresh. No text contains a secret; texts of servers are shortened and have no
//! control characters.

use super::store::TokenStoreError;

/// Maximum length of a server's text in a message, in characters.
const MAX_SERVER_TEXT: usize = 300;

/// The reason why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum OauthError {
    /// An address is invalid or not allowed.
    #[error("{what} {address:?} can't be used: {why}")]
    Address {
        /// The role of the address.
        what: &'static str,
        /// The address itself.
        address: String,
        /// The problem.
        why: &'static str,
    },
    /// A server is unreachable or does not answer in time. Retrying may help.
    #[error("{url}: {problem}")]
    Unreachable {
        /// The address.
        url: String,
        /// The problem.
        problem: String,
    },
    /// A server sent an invalid response.
    #[error("{url}: {problem}")]
    BadAnswer {
        /// The address.
        url: String,
        /// The problem.
        problem: String,
    },
    /// The metadata of the MCP server names another resource (RFC 9728, section 3.3).
    #[error("the server at {server} has metadata of another resource: {named:?}")]
    ResourceMismatch {
        /// The address of the server.
        server: String,
        /// The resource in its metadata.
        named: String,
    },
    /// The issuer differs from the expected one: in its own metadata (RFC 8414, section 3.3), since the last login,
    /// or from the owner's setting.
    #[error("the issuer of the authorization server must be {expected:?}, but it is {found:?}")]
    IssuerMismatch {
        /// The expected issuer.
        expected: String,
        /// The actual issuer.
        found: String,
    },
    /// None of the server's authorization servers has metadata.
    #[error("no authorization server of this server has metadata: {0}")]
    NoAuthorizationServer(String),
    /// The authorization server does not declare support for PKCE with S256.
    #[error("the authorization server {0} does not support PKCE with S256, so a login there is not safe")]
    NoPkce(String),
    /// The authorization server lacks another required feature.
    #[error("the authorization server {issuer} {lacks}")]
    Unsuitable {
        /// The issuer.
        issuer: String,
        /// The missing feature.
        lacks: &'static str,
    },
    /// There is no client for this authorization server, and it does not register clients.
    #[error(
        "the authorization server {0} does not support client registration; register a client there and set oauth.client_id"
    )]
    NoClient(String),
    /// The redirect does not belong to this login.
    #[error("the redirect does not belong to this login: {0}")]
    WrongCallback(&'static str),
    /// The authorization server refused the request.
    #[error("the authorization server refused: {code}{}", .description.as_ref().map(|it| format!(" ({it})")).unwrap_or_default())]
    Refused {
        /// The OAuth error code, for example `access_denied`.
        code: String,
        /// The error description.
        description: Option<String>,
    },
    /// The operating system provides no random numbers.
    #[error("the operating system provides no random numbers")]
    NoRandomness,
    /// The tokens can't be stored.
    #[error(transparent)]
    Store(#[from] TokenStoreError),
    /// The owner's settings of this server are invalid.
    #[error("the settings of this server: {0}")]
    Settings(String),
    /// The login belongs to another client than the one in the settings.
    #[error("oauth.client_id has changed since the login")]
    ClientChanged,
    /// A request for a token failed before, and the next attempt is later.
    #[error("{problem}; the next attempt is in {seconds} s")]
    Postponed {
        /// The problem of the last attempt.
        problem: String,
        /// The time until the next attempt, in seconds.
        seconds: u64,
        /// True if a retry may succeed.
        is_transient: bool,
    },
    /// The browser brought no answer.
    #[error("{0}")]
    Browser(String),
}

impl OauthError {
    /// Returns true if a retry may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Postponed { is_transient: true, .. })
    }

    /// Returns true if the authorization server rejected the grant or the client (RFC 6749, section 5.2).
    #[must_use]
    pub(super) fn is_grant_rejected(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if matches!(code.as_str(), "invalid_grant" | "invalid_client" | "unauthorized_client"))
    }
}

/// Shortens a server's text and removes control characters.
pub(super) fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_SERVER_TEXT).collect()
}
