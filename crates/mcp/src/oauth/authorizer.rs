//! Access tokens for the connections to MCP servers. A token is refreshed before it expires, with one refresh at a
//! time per server, and replaced if the server says that its scopes are insufficient.
//!
//! A login needs a [`LoginBrowser`]. A gateway has none, so it reports that a login is needed.

mod challenge_response;
mod failed_attempts;
mod renewal;
mod server_tokens;
mod storage;
mod unattended;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use toolway_types::{Clock, Slug};

use self::challenge_response::{ChallengeError, NextStep, RefusedRequest};
use self::server_tokens::ServerTokens;
use super::address;
use super::challenge::BearerChallenge;
use super::client_settings::OauthClientSettings;
use super::credentials::OauthCredentials;
use super::discovery::{DiscoveredMetadata, DiscoveryRequest, discover};
use super::dpop::NonceSource;
use super::error::OauthError;
use super::login::{OauthLoginRequest, PendingLogin};
use super::store::{TokenStore, TokenStoreError};
use super::stored_login::StoredLogin;
use super::transport::OauthHttpClient;
use crate::upstream::authorizer::{AuthorizeError, Authorizer, ChallengeOutcome, challenge_header};

/// The reason why a browser brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BrowserError(pub String);

/// A person's browser, and the redirect address of the program that opened it.
#[async_trait]
pub trait LoginBrowser: Send + Sync + 'static {
    /// The redirect URI.
    fn redirect_uri(&self) -> String;

    /// Opens an address in the browser and waits for the redirect. Returns the query of the redirect for which
    /// `is_answer` returns true.
    ///
    /// # Errors
    /// [`BrowserError`] if no redirect arrived.
    async fn visit(
        &self,
        url: &Url,
        is_answer: &(dyn for<'q> Fn(&'q str) -> bool + Sync),
    ) -> Result<SecretString, BrowserError>;
}

/// Looks up the owner's OAuth settings of a server. The error is a message for the owner.
pub type OauthSettingsLookup = Arc<dyn Fn(&Slug) -> Result<OauthClientSettings, String> + Send + Sync>;

/// The dependencies of [`OauthAuthorizer`].
#[derive(Clone)]
pub struct OauthDeps {
    /// The HTTP client for authorization servers.
    pub http: OauthHttpClient,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Stores credentials.
    pub store: Arc<dyn TokenStore>,
    /// Looks up the owner's settings. It may read a secret from a file, so it is called on a thread for blocking
    /// work.
    pub settings: OauthSettingsLookup,
    /// The browser for logins; `None` if no person is present.
    pub browser: Option<Arc<dyn LoginBrowser>>,
}

/// The tokens of all servers.
pub struct OauthAuthorizer {
    parts: OauthDeps,
    servers: Mutex<HashMap<Slug, Arc<ServerTokens>>>,
}

impl std::fmt::Debug for OauthAuthorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OauthAuthorizer").finish_non_exhaustive()
    }
}

impl OauthAuthorizer {
    /// Creates the authorizer.
    #[must_use]
    pub fn new(parts: OauthDeps) -> Self {
        Self { parts, servers: Mutex::default() }
    }

    /// Logs in to a server with a person's browser and stores the credentials. The login also meets the challenge that
    /// was stored since the last one.
    ///
    /// # Errors
    /// [`OauthError`].
    pub async fn login(
        &self,
        server: &Slug,
        url: &str,
        challenge: &BearerChallenge,
        browser: &dyn LoginBrowser,
    ) -> Result<Arc<OauthCredentials>, OauthError> {
        let entry = self.entry(server);
        let _work = entry.renewal_lock.lock().await;
        let stored = match self.load(server).await {
            Ok(stored) => stored,
            // Unreadable credentials are replaced by the login.
            Err(OauthError::Store(TokenStoreError::Sealed { .. })) => StoredLogin::default(),
            Err(error) => return Err(error),
        };
        let at = address::server_url(url)?;
        let challenge = challenge.merge(stored.challenge_of(&at));
        let before = stored.credentials;
        let issuer = before.as_ref().map(|it| it.issuer.clone());
        let request = DiscoveryRequest::for_login(&challenge, issuer.as_deref());
        let found = discover(&self.parts.http, &at, request).await?;
        self.sign_in(server, &entry, url, &challenge, found, before.as_ref(), browser).await
    }

    /// Sends a request without a token, and returns the challenge of the server, or `None` if it needs no token.
    ///
    /// # Errors
    /// [`OauthError`] if the server does not answer.
    pub async fn probe(&self, url: &str) -> Result<Option<BearerChallenge>, OauthError> {
        let url = address::server_url(url)?;
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        headers.insert(
            http::header::ACCEPT,
            http::HeaderValue::from_static("application/json, text/event-stream"),
        );
        let hello = serde_json::json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "toolway", "version": env!("CARGO_PKG_VERSION") },
            },
        });
        let (status, headers) = self.parts.http.post_head(&url, headers, hello.to_string()).await?;
        if status != StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        Ok(Some(BearerChallenge::parse(&challenge_header(&headers))))
    }

    /// The stored credentials of a server.
    ///
    /// # Errors
    /// [`OauthError::Store`].
    pub async fn credentials(&self, server: &Slug) -> Result<Option<OauthCredentials>, OauthError> {
        Ok(self.load(server).await?.credentials)
    }

    /// Returns true if a challenge of the server at this address is stored for the next login.
    ///
    /// # Errors
    /// [`OauthError`].
    pub async fn has_recorded_challenge(&self, server: &Slug, url: &str) -> Result<bool, OauthError> {
        let at = address::server_url(url)?;
        let stored = self.load(server).await?;
        Ok(stored.challenge.is_some_and(|it| it.is_of(&at)))
    }

    /// Removes the stored credentials of a server. Returns false if there were none.
    ///
    /// # Errors
    /// [`OauthError::Store`].
    pub async fn remove(&self, server: &Slug) -> Result<bool, OauthError> {
        let entry = self.entry(server);
        let _work = entry.renewal_lock.lock().await;
        self.remove_cached(server, &entry).await
    }

    fn entry(&self, server: &Slug) -> Arc<ServerTokens> {
        Arc::clone(self.servers.lock().entry(server.clone()).or_default())
    }

    async fn settings(&self, server: &Slug) -> Result<OauthClientSettings, OauthError> {
        let (of, server) = (Arc::clone(&self.parts.settings), server.clone());
        let read = tokio::task::spawn_blocking(move || of(&server)).await;
        read.unwrap_or_else(|error| Err(error.to_string())).map_err(OauthError::Settings)
    }

    #[allow(clippy::too_many_arguments, reason = "what a login is made of")]
    async fn sign_in(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        url: &str,
        challenge: &BearerChallenge,
        found: DiscoveredMetadata,
        before: Option<&OauthCredentials>,
        browser: &dyn LoginBrowser,
    ) -> Result<Arc<OauthCredentials>, OauthError> {
        let settings = self.settings(server).await?;
        let redirect_uri = browser.redirect_uri();
        let request = OauthLoginRequest {
            server: url,
            challenge,
            settings: &settings,
            previous: before,
            redirect_uri: &redirect_uri,
        };
        let login = PendingLogin::begin_with(Arc::clone(&self.parts.clock), found, request).await?;
        let target = login.url().clone();
        let answer = browser.visit(&target, &|query| login.is_answered_by(query)).await;
        let query = answer.map_err(|BrowserError(why)| OauthError::Browser(why))?;
        let new = login.finish(query.expose_secret()).await?;
        let kept = Arc::new(new.clone());
        self.save(server, entry, new).await?;
        Ok(kept)
    }
}

impl OauthAuthorizer {
    /// Converts an error. If a person signs in to the server, a login is the next step. Otherwise the gateway tries
    /// again by itself, and the owner may have to change the settings.
    fn to_authorize_error(&self, server: &Slug, error: &OauthError) -> AuthorizeError {
        let words = AuthorizeError::new(format!("no token for {server}: {error}"));
        match error {
            error if error.is_transient() => words,
            // A secret may be missing. The gateway notices when it is there.
            OauthError::Settings(_) => words.with_hint(settings_hint(server)),
            _ if self.entry(server).is_unattended() => words.with_hint(settings_hint(server)),
            _ => words.needing_login(server),
        }
    }
}

fn settings_hint(server: &Slug) -> String {
    format!("check oauth in the definition of {server}; `toolway mcp login {server}` tests it")
}

#[async_trait]
impl Authorizer for OauthAuthorizer {
    async fn token(&self, server: &Slug, url: &str) -> Result<Option<SecretString>, AuthorizeError> {
        self.token_for(server, url).await.map_err(|error| self.to_authorize_error(server, &error))
    }

    async fn handle_challenge(
        &self,
        server: &Slug,
        url: &str,
        www_authenticate: &str,
        status: StatusCode,
    ) -> Result<ChallengeOutcome, AuthorizeError> {
        let challenge = &BearerChallenge::parse(www_authenticate);
        let refused = RefusedRequest { server, url, challenge, status };
        self.respond_to_challenge(&refused).await.map_err(|error| match error {
            ChallengeError::Oauth(error) => self.to_authorize_error(server, &error),
            other => {
                let words = AuthorizeError::new(other.to_string());
                match other.next_step() {
                    NextStep::Login => words.needing_login(server),
                    NextStep::Settings => words.with_hint(settings_hint(server)),
                    NextStep::None => words,
                }
            }
        })
    }

    fn proof(&self, server: &Slug, method: &Method, url: &Url, token: &SecretString) -> Option<HeaderValue> {
        let entry = self.entry(server);
        let dpop = entry.dpop()?;
        let (held, _) = entry.current();
        // Another token may have replaced it meanwhile; the server then refuses this request, and it is sent again.
        held.filter(|it| it.access_token.expose_secret() == token.expose_secret())?;
        let now_ms = self.parts.clock.now_ms();
        dpop.proof(NonceSource::ResourceServer, method, url, now_ms, Some(token)).ok()
    }

    fn observe_response(&self, server: &Slug, headers: &HeaderMap) {
        if let Some(dpop) = self.entry(server).dpop() {
            dpop.remember_nonce(NonceSource::ResourceServer, headers);
        }
    }

    fn start_connection(&self, server: &Slug) {
        self.entry(server).forget_unattended();
    }
}
