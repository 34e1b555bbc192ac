//! Access tokens for the connections to MCP servers. A token is refreshed before it expires, with one refresh at a
//! time per server, and replaced if the server says that its scopes are insufficient.
//!
//! A login needs a [`LoginBrowser`]. A gateway has none, so it reports that a login is needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use parking_lot::{Mutex, RwLock};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;
use toolway_types::{Clock, Slug};

use super::address;
use super::challenge::BearerChallenge;
use super::client::ClientRegistrationKind;
use super::client_settings::OauthClientSettings;
use super::credentials::OauthCredentials;
use super::discovery::{DiscoveredMetadata, discover};
use super::error::OauthError;
use super::login::{OauthLoginRequest, PendingLogin};
use super::store::TokenStore;
use super::token;
use super::transport::OauthHttpClient;
use crate::upstream::authorizer::{AuthorizeError, Authorizer, ChallengeOutcome};

/// Interval after which missing credentials of a server are looked up again in the store.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);
/// Age below which a refused token is not replaced, because a new one of the same kind would be refused as well.
const FRESH_TOKEN_MS: i64 = 10_000;
/// Maximum number of logins to one server within [`LOGIN_WINDOW`].
const MAX_LOGINS: usize = 3;
/// The period for [`MAX_LOGINS`].
const LOGIN_WINDOW: Duration = Duration::from_secs(60);

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

/// The tokens of one server.
#[derive(Default)]
struct ServerTokens {
    cached: RwLock<CachedCredentials>,
    /// Held during a refresh or a login.
    renewal_lock: tokio::sync::Mutex<Vec<Instant>>,
}

#[derive(Default)]
struct CachedCredentials {
    credentials: Option<Arc<OauthCredentials>>,
    loaded_at: Option<Instant>,
    /// The number of changes of `credentials`.
    version: u64,
}

impl ServerTokens {
    fn current(&self) -> (Option<Arc<OauthCredentials>>, u64) {
        let kept = self.cached.read();
        (kept.credentials.clone(), kept.version)
    }

    fn set(&self, credentials: Option<OauthCredentials>) {
        let mut kept = self.cached.write();
        kept.credentials = credentials.map(Arc::new);
        kept.loaded_at = Some(Instant::now());
        kept.version += 1;
    }
}

impl OauthAuthorizer {
    /// Creates the authorizer.
    #[must_use]
    pub fn new(parts: OauthDeps) -> Self {
        Self { parts, servers: Mutex::default() }
    }

    /// Logs in to a server with a person's browser and stores the credentials.
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
        let before = match self.load(server).await {
            Ok(before) => before,
            // Unreadable credentials are replaced by the login.
            Err(OauthError::Store(super::TokenStoreError::Sealed { .. })) => None,
            Err(error) => return Err(error),
        };
        let at = address::server_url(url)?;
        let issuer = before.as_ref().map(|it| it.issuer.clone());
        let found = discover(&self.parts.http, &at, challenge, issuer.as_deref()).await?;
        self.sign_in(server, &entry, url, challenge, found, before.as_ref(), browser).await
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
        let said = headers.get_all(http::header::WWW_AUTHENTICATE).iter().filter_map(|it| it.to_str().ok());
        Ok(Some(BearerChallenge::parse(&said.collect::<Vec<_>>().join(", "))))
    }

    /// The stored credentials of a server.
    ///
    /// # Errors
    /// [`OauthError::Store`].
    pub async fn credentials(&self, server: &Slug) -> Result<Option<OauthCredentials>, OauthError> {
        self.load(server).await
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

    async fn load(&self, server: &Slug) -> Result<Option<OauthCredentials>, OauthError> {
        let (store, server) = (Arc::clone(&self.parts.store), server.clone());
        let loaded = blocking(move || store.load(&server)).await?;
        Ok(loaded.as_ref().and_then(OauthCredentials::parse))
    }

    async fn save(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        new: OauthCredentials,
    ) -> Result<(), OauthError> {
        let (store, slug, text) = (Arc::clone(&self.parts.store), server.clone(), new.to_secret_text());
        // The new token counts even if it can't be stored: a rotated refresh token is worthless by now.
        entry.set(Some(new));
        blocking(move || store.save(&slug, &text)).await
    }

    async fn remove_cached(&self, server: &Slug, entry: &ServerTokens) -> Result<bool, OauthError> {
        entry.set(None);
        let (store, server) = (Arc::clone(&self.parts.store), server.clone());
        blocking(move || store.remove(&server)).await
    }

    async fn settings(&self, server: &Slug) -> Result<OauthClientSettings, OauthError> {
        let (of, server) = (Arc::clone(&self.parts.settings), server.clone());
        let read = tokio::task::spawn_blocking(move || of(&server)).await;
        read.unwrap_or_else(|error| Err(error.to_string())).map_err(OauthError::Settings)
    }

    /// Loads credentials that another program has stored, for example by a login in a terminal. Returns true if they
    /// differ.
    async fn reload(&self, server: &Slug, entry: &ServerTokens) -> Result<bool, OauthError> {
        let stored = self.load(server).await?;
        let (held, _) = entry.current();
        let token = |it: &OauthCredentials| it.access_token.expose_secret().to_owned();
        if stored.as_ref().map(token) == held.as_deref().map(token) {
            entry.cached.write().loaded_at = Some(Instant::now());
            return Ok(false);
        }
        // If saving failed, the credentials in memory are newer than the stored ones.
        let older = stored.as_ref().zip(held.as_deref()).is_some_and(|(s, h)| s.received_ms < h.received_ms);
        if older {
            return Ok(false);
        }
        let anything = stored.is_some();
        entry.set(stored);
        Ok(anything)
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

    /// Discovers the authorization server again, starting from the previous one. If the server names another issuer,
    /// the stored credentials are dropped.
    async fn rediscover(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        url: &Url,
        challenge: &BearerChallenge,
        held: &OauthCredentials,
    ) -> Result<(DiscoveredMetadata, bool), OauthError> {
        let mut challenge = challenge.clone();
        challenge.resource_metadata = challenge.resource_metadata.or_else(|| held.metadata.clone());
        let found = discover(&self.parts.http, url, &challenge, Some(&held.issuer)).await?;
        let same = found.server.issuer == held.issuer;
        if !same && found.is_advertised {
            tracing::info!(%server, "the server has another authorization server; what the one before gave is dropped");
            self.remove_cached(server, entry).await?;
        }
        Ok((found, same))
    }

    /// Exchanges the refresh token at its issuer. The caller holds `renewal_lock`.
    async fn refresh(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        found: &DiscoveredMetadata,
        held: &OauthCredentials,
    ) -> Result<(), OauthError> {
        let Some(refresh_token) = &held.refresh_token else {
            return Err(OauthError::Refused { code: "invalid_grant".to_owned(), description: None });
        };
        let mut client = held.client.clone();
        if client.origin == ClientRegistrationKind::Given {
            let settings = self.settings(server).await?;
            if settings.client_id.as_deref() != Some(&client.id) {
                return Err(OauthError::Settings("oauth.client_id has changed since the login".to_owned()));
            }
            client.secret = settings.client_secret.filter(|_| client.secret.is_some());
        }
        let issued =
            token::refresh(&found.http, &found.server.token, &client, refresh_token, &held.resource).await;
        match issued {
            Ok(issued) => {
                let mut new = held.clone();
                new.renew(issued, self.parts.clock.now_ms());
                self.save(server, entry, new).await
            }
            // Another program may have used the refresh token first and stored the new one.
            Err(error) if error.is_grant_rejected() && self.reload(server, entry).await? => Ok(()),
            Err(error) => {
                if error.is_grant_rejected() {
                    let mut new = held.clone();
                    new.refresh_token = None;
                    self.save(server, entry, new).await?;
                }
                Err(error)
            }
        }
    }

    /// Refreshes the token before it expires, unless another task just did.
    async fn renew(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        url: &Url,
        edition: u64,
    ) -> Result<(), OauthError> {
        let _work = entry.renewal_lock.lock().await;
        let (held, now) = entry.current();
        let Some(held) = held.filter(|_| now == edition) else { return Ok(()) };
        if self.reload(server, entry).await? {
            let (held, _) = entry.current();
            if held.is_some_and(|it| !it.is_stale(self.parts.clock.now_ms())) {
                return Ok(());
            }
        }
        let (found, same) = self.rediscover(server, entry, url, &BearerChallenge::default(), &held).await?;
        if !same {
            return Err(OauthError::IssuerMismatch {
                expected: held.issuer.clone(),
                found: found.server.issuer,
            });
        }
        self.refresh(server, entry, &found, &held).await
    }

    async fn token_for(&self, server: &Slug, url: &str) -> Result<Option<SecretString>, OauthError> {
        let entry = self.entry(server);
        let unknown = {
            let kept = entry.cached.read();
            kept.credentials.is_none() && kept.loaded_at.is_none_or(|at| at.elapsed() >= RELOAD_INTERVAL)
        };
        if unknown {
            self.reload(server, &entry).await?;
        }
        let (Some(held), edition) = entry.current() else { return Ok(None) };
        let url = address::server_url(url)?;
        if !held.is_for(&url) {
            return Ok(None);
        }
        let now_ms = self.parts.clock.now_ms();
        if !held.is_stale(now_ms) || (held.refresh_token.is_none() && !held.is_expired(now_ms)) {
            return Ok(Some(held.access_token.clone()));
        }
        let renewed = self.renew(server, &entry, &url, edition).await;
        if let Err(error) = renewed {
            if !held.is_expired(now_ms) && entry.current().0.is_some() {
                tracing::debug!(%server, %error, "the token could not be renewed yet");
                return Ok(Some(held.access_token.clone()));
            }
            return Err(error);
        }
        let (held, _) = entry.current();
        Ok(held.filter(|it| it.is_for(&url)).map(|it| it.access_token.clone()))
    }

    async fn handle_challenge(
        &self,
        server: &Slug,
        url: &str,
        challenge: &BearerChallenge,
        status: StatusCode,
    ) -> Result<ChallengeOutcome, ChallengeError> {
        let entry = self.entry(server);
        let (_, before) = entry.current();
        let mut logins = entry.renewal_lock.lock().await;
        if entry.current().1 != before || self.reload(server, &entry).await? {
            return Ok(ChallengeOutcome::RetryRequest);
        }
        let at = address::server_url(url)?;
        let (held, _) = entry.current();
        let held = held.filter(|it| it.is_for(&at));
        if status == StatusCode::FORBIDDEN {
            return self.step_up(server, &entry, url, challenge, held, &mut logins).await;
        }
        let Some(held) = held else {
            return match &self.parts.browser {
                None => Ok(ChallengeOutcome::NeedsLogin),
                Some(browser) => {
                    let found = discover(&self.parts.http, &at, challenge, None).await?;
                    self.login_again(server, &entry, url, challenge, found, None, (browser, &mut logins))
                        .await
                }
            };
        };
        let (found, same) = self.rediscover(server, &entry, &at, challenge, &held).await?;
        let young = self.parts.clock.now_ms().saturating_sub(held.received_ms) < FRESH_TOKEN_MS;
        if same && held.refresh_token.is_some() && !young {
            match self.refresh(server, &entry, &found, &held).await {
                Ok(()) => return Ok(ChallengeOutcome::RetryRequest),
                Err(error) if error.is_grant_rejected() => {}
                Err(error) => return Err(error.into()),
            }
        }
        match &self.parts.browser {
            None => Ok(ChallengeOutcome::NeedsLogin),
            Some(browser) => {
                let before = Some(&*held).filter(|_| same);
                self.login_again(server, &entry, url, challenge, found, before, (browser, &mut logins)).await
            }
        }
    }

    /// Requests more scopes for a valid token (MCP, "Scope Challenge Handling").
    async fn step_up(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        url: &str,
        challenge: &BearerChallenge,
        held: Option<Arc<OauthCredentials>>,
        logins: &mut Vec<Instant>,
    ) -> Result<ChallengeOutcome, ChallengeError> {
        let wanted = challenge.scopes();
        let Some(held) = held.filter(|_| challenge.is_insufficient_scope()) else {
            return Err(ChallengeError::Forbidden { wanted });
        };
        if wanted.iter().all(|scope| held.scopes.contains(scope)) {
            return Err(ChallengeError::Forbidden { wanted });
        }
        let mut noted = (*held).clone();
        noted.missing = wanted.clone();
        let Some(browser) = &self.parts.browser else {
            if held.missing != wanted {
                self.save(server, entry, noted).await?;
            }
            return Err(ChallengeError::InsufficientScope { wanted });
        };
        let at = address::server_url(url)?;
        let (found, same) = self.rediscover(server, entry, &at, challenge, &held).await?;
        let before = Some(&noted).filter(|_| same);
        self.login_again(server, entry, url, challenge, found, before, (browser, logins)).await
    }

    /// Starts a login, unless there were too many within [`LOGIN_WINDOW`].
    #[allow(clippy::too_many_arguments, reason = "what a login is made of")]
    async fn login_again(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        url: &str,
        challenge: &BearerChallenge,
        found: DiscoveredMetadata,
        before: Option<&OauthCredentials>,
        (browser, logins): (&Arc<dyn LoginBrowser>, &mut Vec<Instant>),
    ) -> Result<ChallengeOutcome, ChallengeError> {
        logins.retain(|at| at.elapsed() < LOGIN_WINDOW);
        if logins.len() >= MAX_LOGINS {
            return Err(ChallengeError::TooManyLogins);
        }
        logins.push(Instant::now());
        self.sign_in(server, entry, url, challenge, found, before, &**browser).await?;
        Ok(ChallengeOutcome::RetryRequest)
    }
}

/// The reason why a refused request stays refused.
#[derive(Debug, thiserror::Error)]
enum ChallengeError {
    #[error(transparent)]
    Oauth(#[from] OauthError),
    #[error("the server refuses this{}", join_scopes(.wanted, ", though the scopes that it names were granted: "))]
    Forbidden { wanted: Vec<String> },
    #[error("the server wants scopes that were not granted{}", join_scopes(.wanted, ": "))]
    InsufficientScope { wanted: Vec<String> },
    #[error("the server required a login {MAX_LOGINS} times within a minute")]
    TooManyLogins,
}

fn join_scopes(scopes: &[String], after: &str) -> String {
    if scopes.is_empty() {
        return String::new();
    }
    format!("{after}{}", super::error::sanitize(&scopes.join(" ")))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, super::TokenStoreError> + Send + 'static,
) -> Result<T, OauthError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(OauthError::Store(super::TokenStoreError::Key(error.to_string()))),
    }
}

fn login_hint(server: &Slug) -> String {
    format!("run `toolway mcp login {server}`")
}

fn to_authorize_error(server: &Slug, error: &OauthError) -> AuthorizeError {
    let words = AuthorizeError::new(format!("no token for {server}: {error}"));
    if error.is_transient() { words } else { words.with_hint(login_hint(server)) }
}

#[async_trait]
impl Authorizer for OauthAuthorizer {
    async fn token(&self, server: &Slug, url: &str) -> Result<Option<SecretString>, AuthorizeError> {
        self.token_for(server, url).await.map_err(|error| to_authorize_error(server, &error))
    }

    async fn handle_challenge(
        &self,
        server: &Slug,
        url: &str,
        www_authenticate: &str,
        status: StatusCode,
    ) -> Result<ChallengeOutcome, AuthorizeError> {
        let challenge = BearerChallenge::parse(www_authenticate);
        self.handle_challenge(server, url, &challenge, status).await.map_err(|answered| match answered {
            ChallengeError::Oauth(error) => to_authorize_error(server, &error),
            ChallengeError::InsufficientScope { .. } => {
                AuthorizeError::new(answered.to_string()).with_hint(login_hint(server))
            }
            answered => AuthorizeError::new(answered.to_string()),
        })
    }
}
