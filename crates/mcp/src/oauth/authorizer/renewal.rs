//! Refresh of tokens before they expire, without a person.

use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use toolway_types::Slug;

use super::OauthAuthorizer;
use super::server_tokens::ServerTokens;
use crate::oauth::address;
use crate::oauth::challenge::BearerChallenge;
use crate::oauth::client::ClientRegistrationKind;
use crate::oauth::credentials::OauthCredentials;
use crate::oauth::discovery::{DiscoveredMetadata, DiscoveryRequest, discover};
use crate::oauth::error::OauthError;
use crate::oauth::token::TokenEndpoint;
use crate::oauth::transport::bad_answer;

/// Interval after which missing credentials of a server are looked up again in the store.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

impl OauthAuthorizer {
    /// Discovers the authorization server again, starting from the previous one. If the server names another issuer,
    /// the stored credentials are dropped.
    pub(super) async fn rediscover(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        url: &Url,
        challenge: &BearerChallenge,
        held: &OauthCredentials,
    ) -> Result<(DiscoveredMetadata, bool), OauthError> {
        let mut challenge = challenge.clone();
        challenge.resource_metadata = challenge.resource_metadata.or_else(|| held.metadata.clone());
        let request = DiscoveryRequest::for_login(&challenge, Some(&held.issuer));
        let found = discover(&self.parts.http, url, request).await?;
        let same = found.server.issuer == held.issuer;
        if !same && found.is_advertised {
            tracing::info!(%server, "the server has another authorization server; what the one before gave is dropped");
            self.remove_cached(server, entry).await?;
        }
        Ok((found, same))
    }

    /// Exchanges the refresh token at its issuer. The caller holds `renewal_lock`.
    pub(super) async fn refresh(
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
                return Err(OauthError::ClientChanged);
            }
            client.secret = settings.client_secret.filter(|_| client.secret.is_some());
            client.key = settings.private_key;
        }
        let dpop = entry.dpop();
        let endpoint = TokenEndpoint {
            http: &found.http,
            url: &found.server.token,
            issuer: &found.server.issuer,
            client: &client,
            now_ms: self.parts.clock.now_ms(),
            dpop: dpop.as_deref(),
        };
        match endpoint.refresh(refresh_token, &held.resource).await {
            // The new token must not be worth more to a thief than the one before.
            Ok(issued) if held.is_bound() && !issued.is_bound => {
                Err(bad_answer(&found.server.token, "it issued a token that is not bound to the key (DPoP)"))
            }
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
        if held.is_unattended() {
            return self.renew_unattended(server, entry, url, &held).await;
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

    pub(super) async fn token_for(
        &self,
        server: &Slug,
        url: &str,
    ) -> Result<Option<SecretString>, OauthError> {
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
        if !held.is_stale(now_ms) || (!held.can_be_renewed() && !held.is_expired(now_ms)) {
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
}
