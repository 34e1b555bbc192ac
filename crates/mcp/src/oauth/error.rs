//! What can go wrong on the way to a token. Nothing in these texts is a secret; what a server wrote is cut short and
//! without control characters.

use super::store::TokenStoreError;

/// No text of a server is shown longer than this, in characters.
const MAX_SERVER_TEXT: usize = 300;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum OauthError {
    /// An address that is not one, or is not of a kind that is used.
    #[error("{what} {address:?} can't be used: {why}")]
    Address {
        /// Which address.
        what: &'static str,
        /// What it says.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A server that can't be reached, or doesn't answer in time. Trying again may help.
    #[error("{url}: {problem}")]
    Unreachable {
        /// Where.
        url: String,
        /// What happened.
        problem: String,
    },
    /// An answer that is not what it should be.
    #[error("{url}: {problem}")]
    BadAnswer {
        /// Where.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The metadata of the MCP server is for another one (RFC 9728, section 3.3).
    #[error("the server at {server} gives out metadata for {named:?}, which is not that server")]
    ResourceMismatch {
        /// The address of the server.
        server: String,
        /// The resource that its metadata names.
        named: String,
    },
    /// The authorization server is another than it should be: its metadata names another (RFC 8414, section 3.3), the
    /// server names another than at the last login, or the owner set another.
    #[error("the authorization server should be {expected:?} and is {found:?}")]
    IssuerMismatch {
        /// The issuer that it should be.
        expected: String,
        /// The issuer that was found.
        found: String,
    },
    /// None of the authorization servers that the MCP server names has metadata.
    #[error("none of the authorization servers that the server names has metadata: {0}")]
    NoAuthorizationServer(String),
    /// The authorization server does not say that it checks PKCE with S256.
    #[error(
        "the authorization server {0} does not say that it checks PKCE with S256, so signing in there is not safe"
    )]
    NoPkce(String),
    /// The authorization server lacks something else that is needed.
    #[error("the authorization server {issuer} {lacks}")]
    Unsuitable {
        /// Which.
        issuer: String,
        /// What it lacks, in words.
        lacks: &'static str,
    },
    /// There is no way to become a client there.
    #[error(
        "the authorization server {0} registers no clients by itself, and no client is set for it (oauth.client_id)"
    )]
    NoClient(String),
    /// The answer that came back with the browser does not belong to this login.
    #[error("the answer that came back does not belong to this login: {0}")]
    WrongCallback(&'static str),
    /// The authorization server said no.
    #[error("the authorization server refused: {code}{}", .description.as_ref().map(|it| format!(" ({it})")).unwrap_or_default())]
    Refused {
        /// The error code of OAuth, as `access_denied`.
        code: String,
        /// What it says in words.
        description: Option<String>,
    },
    /// The operating system gave no random numbers.
    #[error("the operating system gave no random numbers")]
    NoRandomness,
    /// The tokens can't be kept.
    #[error(transparent)]
    Store(#[from] TokenStoreError),
    /// What the owner set for this server can't be used.
    #[error("the settings of this server: {0}")]
    Settings(String),
    /// The browser did not bring an answer.
    #[error("{0}")]
    Browser(String),
}

impl OauthError {
    /// Whether it may go away by itself.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether the authorization server said that what it was shown is no longer good (RFC 6749, section 5.2).
    #[must_use]
    pub(super) fn is_grant_rejected(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if matches!(code.as_str(), "invalid_grant" | "invalid_client" | "unauthorized_client"))
    }
}

/// What a server wrote, fit to be shown.
pub(super) fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_SERVER_TEXT).collect()
}
