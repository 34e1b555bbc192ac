//! What a login came to, as it is kept: for which server, from which issuer, with which client.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::address::is_token_allowed;
use super::client::OauthClient;
use super::serde_secret;
use super::token::IssuedToken;

/// A token is renewed this long before it ends, or at half its life where that is shorter.
const RENEW_BEFORE_MS: i64 = 60_000;

/// What is kept of one server.
#[derive(Clone, Serialize, Deserialize)]
pub struct OauthCredentials {
    /// What the token is for (RFC 8707).
    pub(super) resource: String,
    /// Who gave it.
    pub(super) issuer: String,
    pub(super) client: OauthClient,
    /// Where the server said that its metadata stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<String>,
    #[serde(with = "serde_secret")]
    pub(super) access_token: SecretString,
    #[serde(with = "serde_secret::option", default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<SecretString>,
    /// When it was given, in milliseconds since the Unix epoch.
    pub(super) received_ms: i64,
    /// When it ends, in milliseconds since the Unix epoch; none where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_ms: Option<i64>,
    /// The scopes that were granted.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// The scopes that the server said were missing since, for the next login.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
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
    /// What is kept, read; nothing where it can't be read, which a new login mends.
    pub(super) fn parse(text: &SecretString) -> Option<Self> {
        serde_json::from_str(text.expose_secret()).ok()
    }

    /// As it is kept.
    pub(super) fn to_secret_text(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// Whether the token may be shown to the server at this address.
    pub(super) fn is_for(&self, server: &reqwest::Url) -> bool {
        reqwest::Url::parse(&self.resource).is_ok_and(|resource| is_token_allowed(&resource, server))
    }

    /// Whether it should be renewed before it is used.
    pub(super) fn is_stale(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|at| {
            let early = RENEW_BEFORE_MS.min(at.saturating_sub(self.received_ms) / 2).max(0);
            at.saturating_sub(early) <= now_ms
        })
    }

    /// Whether it has ended.
    pub(super) fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }

    /// Takes what a refresh gave. A refresh token that is not replaced stays good, and so do the scopes
    /// (RFC 6749, section 6).
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

    /// The issuer that gave the token.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The scopes that were granted.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// When the token ends, in milliseconds since the Unix epoch; none where nobody said.
    #[must_use]
    pub fn expires_ms(&self) -> Option<i64> {
        self.expires_ms
    }

    /// Whether it can be renewed without a person.
    #[must_use]
    pub fn can_be_renewed(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// Where the browser was sent back to. A login that uses the same address need not register anew.
    #[must_use]
    pub fn redirect_uri(&self) -> &str {
        &self.client.redirect_uri
    }
}

#[cfg(test)]
mod tests;
