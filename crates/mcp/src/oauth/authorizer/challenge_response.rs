//! The response to refused requests: a refresh, a login if a person is present, or a challenge that is stored for the
//! next login.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use reqwest::Url;
use tokio::time::Instant;
use toolway_types::Slug;

use super::server_tokens::ServerTokens;
use super::{LoginBrowser, OauthAuthorizer};
use crate::oauth::address;
use crate::oauth::challenge::BearerChallenge;
use crate::oauth::credentials::OauthCredentials;
use crate::oauth::discovery::{DiscoveredMetadata, DiscoveryRequest, discover};
use crate::oauth::error::{OauthError, sanitize};
use crate::oauth::scopes;
use crate::upstream::authorizer::ChallengeOutcome;

/// Age below which a refused token is not replaced, because a new one of the same kind would be refused as well.
const FRESH_TOKEN_MS: i64 = 10_000;
/// Maximum number of logins to one server within [`LOGIN_WINDOW`].
const MAX_LOGINS: usize = 3;
/// The period for [`MAX_LOGINS`].
const LOGIN_WINDOW: Duration = Duration::from_secs(60);

/// A refused request.
pub(super) struct RefusedRequest<'a> {
    pub(super) server: &'a Slug,
    pub(super) url: &'a str,
    pub(super) challenge: &'a BearerChallenge,
    pub(super) status: StatusCode,
}

/// The reason why a refused request stays refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChallengeError {
    #[error(transparent)]
    Oauth(#[from] OauthError),
    #[error("the server refuses this{}", join_scopes(.wanted, ", though the scopes that it names were granted: "))]
    Forbidden { wanted: Vec<String> },
    #[error("the server wants scopes that were not granted{}", join_scopes(.wanted, ": "))]
    InsufficientScope { wanted: Vec<String> },
    #[error("the server refuses this, though the scopes that it names were granted{}", join_scopes(.wanted, ": "))]
    ScopeRefused { wanted: Vec<String> },
    #[error("the authorization server does not grant the scopes that the server wants{}", join_scopes(.wanted, ": "))]
    NotGranted { wanted: Vec<String> },
    #[error("the server refuses a new token of {issuer}; check that it accepts this client")]
    TokenRefused { issuer: String },
    #[error("the server required a login {MAX_LOGINS} times within a minute")]
    TooManyLogins,
    #[error("the server required a new token {MAX_LOGINS} times within a minute")]
    TooManyTokens,
}

/// The next step for the owner after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    Login,
    Settings,
    None,
}

impl ChallengeError {
    pub(super) fn next_step(&self) -> NextStep {
        match self {
            Self::InsufficientScope { .. } | Self::ScopeRefused { .. } => NextStep::Login,
            Self::NotGranted { .. } | Self::TokenRefused { .. } => NextStep::Settings,
            Self::Oauth(_) | Self::Forbidden { .. } | Self::TooManyLogins | Self::TooManyTokens => {
                NextStep::None
            }
        }
    }
}

fn join_scopes(scopes: &[String], after: &str) -> String {
    if scopes.is_empty() {
        return String::new();
    }
    format!("{after}{}", sanitize(&scopes.join(" ")))
}

/// Counts a login or a token request that a server caused. Returns false if there were [`MAX_LOGINS`] within
/// [`LOGIN_WINDOW`].
pub(super) fn may_renew_again(earlier: &mut Vec<Instant>) -> bool {
    earlier.retain(|at| at.elapsed() < LOGIN_WINDOW);
    let may = earlier.len() < MAX_LOGINS;
    if may {
        earlier.push(Instant::now());
    }
    may
}

impl OauthAuthorizer {
    pub(super) async fn respond_to_challenge(
        &self,
        refused: &RefusedRequest<'_>,
    ) -> Result<ChallengeOutcome, ChallengeError> {
        let RefusedRequest { server, url, challenge, status } = *refused;
        let entry = self.entry(server);
        // The connection has kept the nonce of the response. The next proof contains it.
        if challenge.wants_nonce && entry.dpop().is_some() {
            return Ok(ChallengeOutcome::RetryRequest);
        }
        let (_, before) = entry.current();
        let mut logins = entry.renewal_lock.lock().await;
        if entry.current().1 != before || self.reload(server, &entry).await? {
            return Ok(ChallengeOutcome::RetryRequest);
        }
        let at = address::server_url(url)?;
        let settings = self.settings(server).await?;
        let is_unattended = !settings.grant.kind().is_default();
        entry.set_unattended(is_unattended);
        if is_unattended {
            return self.respond_unattended(refused, &entry, &at, &settings, &mut logins).await;
        }
        let (held, _) = entry.current();
        let held = held.filter(|it| it.is_for(&at) && !it.is_unattended());
        if let (true, Some(held)) = (challenge.is_insufficient_scope(), &held) {
            return self.step_up(refused, &entry, &at, held, &mut logins).await;
        }
        if status == StatusCode::FORBIDDEN && !challenge.is_insufficient_scope() {
            return Err(ChallengeError::Forbidden { wanted: challenge.scopes() });
        }
        let Some(held) = held else {
            return match &self.parts.browser {
                None => self.leave_to_person(server, &at, challenge).await,
                Some(browser) => {
                    let request = DiscoveryRequest::for_login(challenge, None);
                    let found = discover(&self.parts.http, &at, request).await?;
                    self.login_again(refused, &entry, found, None, (browser, &mut logins)).await
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
            None => self.leave_to_person(server, &at, challenge).await,
            Some(browser) => {
                let before = Some(&*held).filter(|_| same);
                self.login_again(refused, &entry, found, before, (browser, &mut logins)).await
            }
        }
    }

    /// Stores the challenge for a login in another program.
    async fn leave_to_person(
        &self,
        server: &Slug,
        at: &Url,
        challenge: &BearerChallenge,
    ) -> Result<ChallengeOutcome, ChallengeError> {
        self.record_challenge(server, at, challenge).await?;
        Ok(ChallengeOutcome::NeedsLogin)
    }

    /// Requests more scopes for a valid token (MCP, "Scope Challenge Handling"; RFC 6750, section 3.1).
    async fn step_up(
        &self,
        refused: &RefusedRequest<'_>,
        entry: &ServerTokens,
        at: &Url,
        held: &OauthCredentials,
        logins: &mut Vec<Instant>,
    ) -> Result<ChallengeOutcome, ChallengeError> {
        let RefusedRequest { server, challenge, .. } = *refused;
        let wanted = challenge.scopes();
        let is_granted = wanted.iter().all(|scope| held.scopes.contains(scope));
        let mut noted = held.clone();
        noted.missing = scopes::union(&held.missing, &wanted);
        if challenge.resource_metadata.is_some() {
            noted.metadata.clone_from(&challenge.resource_metadata);
        }
        let Some(browser) = &self.parts.browser else {
            if held.missing != noted.missing || held.metadata != noted.metadata {
                self.save(server, entry, noted).await?;
            }
            return Err(match is_granted {
                true => ChallengeError::ScopeRefused { wanted },
                false => ChallengeError::InsufficientScope { wanted },
            });
        };
        // Another login would be granted the same.
        if is_granted {
            return Err(ChallengeError::Forbidden { wanted });
        }
        let (found, same) = self.rediscover(server, entry, at, challenge, held).await?;
        let before = Some(&noted).filter(|_| same);
        self.login_again(refused, entry, found, before, (browser, logins)).await
    }

    /// Starts a login, unless there were too many within [`LOGIN_WINDOW`].
    async fn login_again(
        &self,
        refused: &RefusedRequest<'_>,
        entry: &ServerTokens,
        found: DiscoveredMetadata,
        before: Option<&OauthCredentials>,
        (browser, logins): (&Arc<dyn LoginBrowser>, &mut Vec<Instant>),
    ) -> Result<ChallengeOutcome, ChallengeError> {
        if !may_renew_again(logins) {
            return Err(ChallengeError::TooManyLogins);
        }
        let RefusedRequest { server, url, challenge, .. } = *refused;
        self.sign_in(server, entry, url, challenge, found, before, &**browser).await?;
        Ok(ChallengeOutcome::RetryRequest)
    }
}
