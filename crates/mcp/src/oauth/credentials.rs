//! The credentials of one server in their stored form: tokens, resource, issuer and client.

use std::fmt;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::address::is_token_allowed;
use super::client::OauthClient;
use super::serde_secret;
use super::token::IssuedToken;
use crate::definition::OauthGrantType;

/// A token is refreshed this long before it expires, or at half its lifetime if that is shorter.
const RENEW_BEFORE_MS: i64 = 60_000;

/// The stored credentials of one server.
#[derive(Clone, Serialize, Deserialize)]
pub struct OauthCredentials {
    /// The resource of the token (RFC 8707).
    pub(super) resource: String,
    /// The issuer of the token.
    pub(super) issuer: String,
    pub(super) client: OauthClient,
    /// The address of the server's metadata, from its challenge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<String>,
    #[serde(with = "serde_secret")]
    pub(super) access_token: SecretString,
    #[serde(with = "serde_secret::option", default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<SecretString>,
    /// The time at which the token was received, in milliseconds since the Unix epoch.
    pub(super) received_ms: i64,
    /// The time at which the token expires, in milliseconds since the Unix epoch, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_ms: Option<i64>,
    /// The granted scopes.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// The scopes that the server has required since then, for the next login.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
    /// The key that the tokens are bound to (DPoP); `None` for bearer tokens.
    #[serde(with = "serde_secret::option", default, skip_serializing_if = "Option::is_none")]
    pub(super) dpop_key: Option<SecretString>,
    /// The grant of the token.
    #[serde(default, skip_serializing_if = "OauthGrantType::is_default")]
    pub(super) grant: OauthGrantType,
    /// The fingerprint of the settings at the time of a grant without a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settings: Option<String>,
}

impl fmt::Debug for OauthCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthCredentials")
            .field("resource", &self.resource)
            .field("issuer", &self.issuer)
            .field("expires_ms", &self.expires_ms)
            .finish_non_exhaustive()
    }
}

impl OauthCredentials {
    /// Returns true if the token may be sent to the server at this address.
    pub(super) fn is_for(&self, server: &reqwest::Url) -> bool {
        reqwest::Url::parse(&self.resource).is_ok_and(|resource| is_token_allowed(&resource, server))
    }

    /// Returns true if the token should be refreshed before use.
    pub(super) fn is_stale(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|at| {
            let early = RENEW_BEFORE_MS.min(at.saturating_sub(self.received_ms) / 2).max(0);
            at.saturating_sub(early) <= now_ms
        })
    }

    /// Returns true if the token has expired.
    pub(super) fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }

    /// Applies the response to a refresh. A refresh token that is not replaced stays valid, and so do the scopes (RFC
    /// 6749, section 6).
    pub(super) fn renew(&mut self, issued: IssuedToken, now_ms: i64) {
        self.access_token = issued.access_token;
        if issued.refresh_token.is_some() {
            self.refresh_token = issued.refresh_token;
        }
        if let Some(scopes) = issued.scopes {
            self.scopes = scopes;
        }
        self.received_ms = now_ms;
        self.expires_ms = issued.life_ms.map(|life| now_ms.saturating_add(life));
    }

    /// The issuer of the token.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The granted scopes.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The time at which the token expires, in milliseconds since the Unix epoch, if known.
    #[must_use]
    pub fn expires_ms(&self) -> Option<i64> {
        self.expires_ms
    }

    /// Returns true if the token can be renewed without a person.
    #[must_use]
    pub fn can_be_renewed(&self) -> bool {
        self.refresh_token.is_some() || self.is_unattended()
    }

    /// Returns true if the token was issued without a person.
    #[must_use]
    pub fn is_unattended(&self) -> bool {
        !self.grant.is_default()
    }

    /// Returns true if the token is bound to a key (DPoP).
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.dpop_key.is_some()
    }

    /// The redirect URI of the login. A login with the same URI needs no new registration.
    #[must_use]
    pub fn redirect_uri(&self) -> &str {
        &self.client.redirect_uri
    }
}

#[cfg(test)]
mod tests;
