//! Tokens without a person: the gateway requests them by the grant in the owner's settings.

use std::sync::Arc;

use http::StatusCode;
use reqwest::Url;
use secrecy::SecretString;
use tokio::time::Instant;
use toolway_types::Slug;

use super::challenge_response::{ChallengeError, RefusedRequest, may_renew_again};
use super::server_tokens::ServerTokens;
use super::{OauthAuthorizer, StoredLogin};
use crate::oauth::address;
use crate::oauth::challenge::BearerChallenge;
use crate::oauth::client::{ClientRegistrationKind, OauthClient};
use crate::oauth::client_assertion::AssertionClaims;
use crate::oauth::client_registration::{check_issuer, given_client};
use crate::oauth::client_settings::OauthClientSettings;
use crate::oauth::credentials::OauthCredentials;
use crate::oauth::discovery::{DiscoveredMetadata, DiscoveryRequest, discover};
use crate::oauth::error::OauthError;
use crate::oauth::grant::{AssertionSource, OauthGrant};
use crate::oauth::identity_assertion::{AssertionRequest, request_assertion};
use crate::oauth::metadata::MetadataPurpose;
use crate::oauth::scopes::{self, ScopeCandidates};
use crate::oauth::store::TokenStoreError;
use crate::oauth::token::{IssuedToken, TokenEndpoint};
use crate::oauth::token_binding::bind_token;
use crate::upstream::authorizer::ChallengeOutcome;

/// Age below which a token counts as usable whatever its lifetime, so that a server can't cause a request for each
/// call.
const MIN_LIFE_MS: i64 = 1000;
/// Age below which a refused token is not replaced, because a new one of the same kind would be refused as well.
const FRESH_TOKEN_MS: i64 = 10_000;

/// A token to request.
pub(super) struct WantedToken<'a> {
    pub(super) server: &'a Slug,
    pub(super) url: &'a Url,
    pub(super) challenge: &'a BearerChallenge,
    pub(super) settings: &'a OauthClientSettings,
    /// The scopes that were granted or are missing, which the request must not lose.
    pub(super) scopes: &'a [String],
}

impl OauthAuthorizer {
    /// Requests a token without a person at once, and stores it. Earlier failures cause no delay.
    ///
    /// # Errors
    /// [`OauthError`]. It is [`OauthError::Settings`] if the server's grant needs a person.
    pub async fn request_token(
        &self,
        server: &Slug,
        url: &str,
        challenge: &BearerChallenge,
    ) -> Result<Arc<OauthCredentials>, OauthError> {
        let entry = self.entry(server);
        let _work = entry.renewal_lock.lock().await;
        let settings = self.settings(server).await?;
        if settings.grant.kind().is_default() {
            return Err(OauthError::Settings("its grant needs a person".to_owned()));
        }
        let stored = match self.load(server).await {
            Err(OauthError::Store(TokenStoreError::Sealed { .. })) => StoredLogin::default(),
            loaded => loaded?,
        };
        let url = &address::server_url(url)?;
        let challenge = &challenge.merge(stored.challenge_of(url));
        let wanted = WantedToken { server, url, challenge, settings: &settings, scopes: &[] };
        let new = self.grant_token(&wanted).await?;
        self.save(server, &entry, new.clone()).await?;
        Ok(Arc::new(new))
    }

    /// Requests a token, unless an earlier failure postpones it. The caller holds `renewal_lock`.
    pub(super) async fn obtain(
        &self,
        entry: &ServerTokens,
        wanted: &WantedToken<'_>,
    ) -> Result<(), OauthError> {
        let fingerprint = wanted.settings.fingerprint(true);
        entry.failed.lock().check(&fingerprint)?;
        match self.grant_token(wanted).await {
            Ok(new) => {
                entry.failed.lock().clear();
                self.save(wanted.server, entry, new).await
            }
            Err(error) => {
                tracing::warn!(server = %wanted.server, %error, "no token without a person");
                entry.failed.lock().record(fingerprint, &error);
                Err(error)
            }
        }
    }

    /// Replaces a token that was issued without a person. The caller holds `renewal_lock`.
    pub(super) async fn renew_unattended(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        url: &Url,
        held: &OauthCredentials,
    ) -> Result<(), OauthError> {
        let settings = self.settings(server).await?;
        if settings.grant.kind() != held.grant {
            return Err(OauthError::Settings("oauth.grant has changed".to_owned()));
        }
        let challenge = BearerChallenge {
            resource_metadata: held.metadata.clone(),
            accepts_dpop: held.is_bound(),
            ..BearerChallenge::default()
        };
        let scopes = scopes::union(&held.scopes, &[]);
        let wanted = WantedToken { server, url, challenge: &challenge, settings: &settings, scopes: &scopes };
        self.obtain(entry, &wanted).await
    }

    /// Responds to a refused request to a server whose tokens need no person.
    pub(super) async fn respond_unattended(
        &self,
        refused: &RefusedRequest<'_>,
        entry: &ServerTokens,
        url: &Url,
        settings: &OauthClientSettings,
        requests: &mut Vec<Instant>,
    ) -> Result<ChallengeOutcome, ChallengeError> {
        let RefusedRequest { server, challenge, status, .. } = *refused;
        let (held, _) = entry.current();
        let held = held.filter(|it| it.is_for(url) && it.grant == settings.grant.kind());
        let wanted = challenge.scopes();
        if status == StatusCode::FORBIDDEN && !challenge.is_insufficient_scope() {
            return Err(ChallengeError::Forbidden { wanted });
        }
        let mut scopes = Vec::new();
        if let Some(held) = held {
            scopes = scopes::union(&held.scopes, &held.missing);
            if challenge.is_insufficient_scope() {
                // They were requested before, and another request would not change the answer.
                if wanted.iter().all(|scope| scopes.contains(scope)) {
                    return Err(ChallengeError::NotGranted { wanted });
                }
                scopes = scopes::union(&scopes, &wanted);
            } else if self.parts.clock.now_ms().saturating_sub(held.received_ms) < FRESH_TOKEN_MS {
                return Err(ChallengeError::TokenRefused { issuer: held.issuer.clone() });
            }
        }
        // A request that is postponed does not count.
        entry.failed.lock().check(&settings.fingerprint(true))?;
        if !may_renew_again(requests) {
            return Err(ChallengeError::TooManyTokens);
        }
        let stored = self.load(server).await?;
        let challenge = &challenge.merge(stored.challenge_of(url));
        let wanted = WantedToken { server, url, challenge, settings, scopes: &scopes };
        self.obtain(entry, &wanted).await?;
        Ok(ChallengeOutcome::RetryRequest)
    }

    async fn grant_token(&self, wanted: &WantedToken<'_>) -> Result<OauthCredentials, OauthError> {
        let WantedToken { url, challenge, settings, .. } = *wanted;
        let request = DiscoveryRequest {
            challenge,
            preferred: settings.issuer.as_deref(),
            configured: settings.issuer.as_deref(),
            purpose: MetadataPurpose::TokenRequest,
        };
        let found = discover(&self.parts.http, url, request).await?;
        check_issuer(settings, &found.server)?;
        let id = settings.client_id.as_deref();
        let id = id.ok_or_else(|| OauthError::Settings("oauth.client_id is missing".to_owned()))?;
        let client = given_client(&found.server, settings, id, String::new())?;
        let scopes = scopes::select(ScopeCandidates {
            configured: &settings.scopes,
            challenged: &challenge.scopes(),
            previous: wanted.scopes,
            resource: found.scopes.as_deref(),
            server: None,
        });
        let dpop = bind_token(&found, challenge, settings.requires_dpop)?;
        let now_ms = self.parts.clock.now_ms();
        let endpoint = TokenEndpoint {
            http: &found.http,
            url: &found.server.token,
            issuer: &found.server.issuer,
            client: &client,
            now_ms,
            dpop: dpop.as_ref(),
        };
        let issued = self.request_by_grant(&endpoint, settings, &found, &scopes).await?;
        let dpop_key = issued.key_of(dpop.as_ref(), settings.requires_dpop, &found.server.issuer)?;
        let granted = issued.scopes.clone().unwrap_or_else(|| scopes.clone());
        let missing = scopes.into_iter().filter(|scope| !granted.contains(scope)).collect();
        Ok(OauthCredentials {
            resource: found.resource,
            issuer: found.server.issuer,
            client: OauthClient { secret: None, origin: ClientRegistrationKind::Given, ..client },
            metadata: challenge.resource_metadata.clone(),
            access_token: issued.access_token,
            // A new token needs no refresh token (RFC 6749, section 4.4.3).
            refresh_token: None,
            received_ms: now_ms,
            expires_ms: issued.life_ms.map(|life| now_ms.saturating_add(life.max(MIN_LIFE_MS))),
            scopes: granted,
            missing,
            dpop_key,
            grant: settings.grant.kind(),
            settings: Some(settings.fingerprint(false)),
        })
    }

    async fn request_by_grant(
        &self,
        endpoint: &TokenEndpoint<'_>,
        settings: &OauthClientSettings,
        found: &DiscoveredMetadata,
        scopes: &[String],
    ) -> Result<IssuedToken, OauthError> {
        let resource = &found.resource;
        let assertion = match &settings.grant {
            OauthGrant::AuthorizationCode => {
                return Err(OauthError::Settings("its grant needs a person".to_owned()));
            }
            OauthGrant::ClientCredentials => return endpoint.client_credentials(scopes, resource).await,
            OauthGrant::JwtBearer(AssertionSource::Issued(assertion)) => assertion.clone(),
            OauthGrant::JwtBearer(AssertionSource::SignedFor(subject)) => {
                let issuer = endpoint.client.id.as_str();
                let subject = subject.as_deref().unwrap_or(issuer);
                let (audience, now_ms) = (endpoint.issuer, endpoint.now_ms);
                let key = settings.private_key.as_ref();
                let key =
                    key.ok_or_else(|| OauthError::Settings("oauth.private_key is missing".to_owned()))?;
                SecretString::from(key.sign(&AssertionClaims { issuer, subject, audience, now_ms })?)
            }
            OauthGrant::EnterpriseManaged(provider) => {
                let (http, now_ms) = (&self.parts.http, endpoint.now_ms);
                let audience = endpoint.issuer;
                let request = AssertionRequest { http, provider, audience, resource, scopes, now_ms };
                request_assertion(&request).await?
            }
        };
        endpoint.exchange_assertion(&assertion, scopes, resource).await
    }
}
