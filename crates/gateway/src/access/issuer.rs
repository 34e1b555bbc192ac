//! Validates access tokens of an authorization server that the owner trusts (RFC 9068 and similar formats)
//! and assigns them to principals.
//!
//! Everything that is not explicitly allowed is refused: algorithms other than three with public keys, keys
//! of other issuers, tokens for other audiences, tokens bound to a key (RFC 7800) and subjects that are not
//! in the settings. Each accepted subject has the role client, and the policy applies as for every client.

mod claims;
mod key_cache;
mod key_set;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use toolway_mcp::oauth::OauthHttpClient;
use toolway_store::TokenRecord;
use toolway_types::text::hex;
use toolway_types::{Clock, Role};

use super::rejection::AuthRejection;
use super::token::{TokenEndReason, TokenState};
use crate::settings::IssuerSettings;
use claims::JwtClaims;
use key_cache::IssuerKeyCache;
use key_set::JwkSet;

/// Maximum length of a token, in bytes.
const MAX_TOKEN: usize = 8 << 10;
/// Tolerated difference between the issuer's clock and this one, in milliseconds.
const LEEWAY_MS: i64 = 30_000;
/// Maximum number of verified tokens in the cache.
const MAX_CACHED_TOKENS: usize = 4096;
/// Prefix of the ids of principals with tokens of the issuer.
const ID_PREFIX: &str = "sub-";

/// An issuer and the settings for its tokens.
#[derive(Debug)]
pub struct TokenIssuer {
    settings: IssuerSettings,
    audiences: Vec<String>,
    keys: IssuerKeyCache,
    clock: Arc<dyn Clock>,
    verified: Mutex<VerifiedTokenCache>,
}

/// Verified tokens by their hashes. Valid only for the key set that they were verified with.
#[derive(Debug, Default)]
struct VerifiedTokenCache {
    edition: u64,
    tokens: HashMap<[u8; 32], Arc<TokenState>>,
}

impl TokenIssuer {
    /// Creates the issuer. `resource` is the URL of `/mcp`, if known; it is the required audience if the
    /// settings have none. Fetches nothing until the first token arrives.
    #[must_use]
    pub fn new(
        settings: IssuerSettings,
        resource: Option<&str>,
        http: OauthHttpClient,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let audiences = match &settings.audience {
            Some(audience) => vec![audience.clone()],
            None => resource.map(str::to_owned).into_iter().collect(),
        };
        let keys = IssuerKeyCache::new(http, settings.url.clone(), settings.jwks_url.clone());
        Self { settings, audiences, keys, clock, verified: Mutex::default() }
    }

    /// Returns the issuer identifier.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.settings.url
    }

    /// Returns the scopes that a token must have.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.settings.scopes
    }

    /// Returns true if a text has the form of a signed token, so that it may be one of an issuer.
    #[must_use]
    pub fn looks_like_jwt(text: &str) -> bool {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        text.split('.').count() == 3 && text.split('.').all(is_part)
    }

    /// Verifies a token and returns its state. The same text gives the same state while it is in the cache.
    ///
    /// # Errors
    /// [`AuthRejection`] if the token is not valid or can't be verified.
    pub async fn check(&self, text: &str) -> Result<Arc<TokenState>, AuthRejection> {
        let wrong = |why| AuthRejection::NotFromIssuer { why };
        if text.len() > MAX_TOKEN {
            return Err(wrong("the token is too long"));
        }
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        if let Some(state) = self.cached_token(&hash) {
            return if state.end_reason().is_some() { Err(AuthRejection::Expired) } else { Ok(state) };
        }
        let parsed = claims::parse(text).map_err(wrong)?;
        let keys = self.keys.key_set_for(parsed.key_id.as_deref()).await?;
        if !keys.verify(&parsed) {
            return Err(wrong("the signature is invalid"));
        }
        let claims = JwtClaims::read(parsed.payload).map_err(wrong)?;
        let state = Arc::new(self.admit(&claims, hash)?);
        self.cache_token(keys.edition, hash, &state);
        Ok(state)
    }

    /// Checks the claims against the settings. The caller has already verified the signature.
    fn admit(&self, claims: &JwtClaims, hash: [u8; 32]) -> Result<TokenState, AuthRejection> {
        let wrong = |why| Err(AuthRejection::NotFromIssuer { why });
        let now = self.clock.now_ms();
        if claims.issuer != self.settings.url {
            return wrong("the issuer (iss) is wrong");
        }
        if !claims.audiences.iter().any(|it| self.audiences.contains(it)) {
            return wrong("the audience (aud) is wrong");
        }
        let ends = claims.expires_ms.saturating_add(LEEWAY_MS);
        if ends <= now {
            return Err(AuthRejection::Expired);
        }
        if claims.not_before_ms.is_some_and(|at| at.saturating_sub(LEEWAY_MS) > now) {
            return wrong("the token is not valid yet (nbf)");
        }
        if claims.is_bound {
            return wrong("the token is bound to a key (cnf), which is not supported");
        }
        if !self.settings.subjects.iter().any(|it| it == "*" || *it == claims.subject) {
            return wrong("the subject (sub) is not allowed");
        }
        if !self.settings.scopes.iter().all(|scope| claims.scopes.contains(scope)) {
            return Err(AuthRejection::ScopeMissing { scopes: self.settings.scopes.clone() });
        }
        let record = TokenRecord {
            id: self.principal_id(&claims.subject),
            hash,
            role: Role::Client,
            label: claims.label(),
            agent: self.settings.agent.clone(),
            device_id: None,
            device_name: None,
            platform: None,
            created_ms: now,
            expires_ms: Some(ends),
            revoked_ms: None,
            last_used_ms: None,
        };
        Ok(TokenState::new(&record, Arc::clone(&self.clock)))
    }

    /// Derives the id of a subject of an issuer. All tokens of the subject have the same id; the same subject
    /// of another issuer has a different id.
    fn principal_id(&self, subject: &str) -> String {
        let mut hash = Sha256::new();
        hash.update((self.settings.url.len() as u64).to_be_bytes());
        hash.update(self.settings.url.as_bytes());
        hash.update(subject.as_bytes());
        let hash = hash.finalize();
        let mut hash = hex(&hash);
        hash.truncate(32);
        format!("{ID_PREFIX}{hash}")
    }

    fn cached_token(&self, hash: &[u8; 32]) -> Option<Arc<TokenState>> {
        let known = self.verified.lock();
        if known.edition != self.keys.edition() {
            return None;
        }
        known.tokens.get(hash).cloned()
    }

    fn cache_token(&self, edition: u64, hash: [u8; 32], state: &Arc<TokenState>) {
        let mut known = self.verified.lock();
        if known.edition > edition {
            return;
        }
        if known.edition < edition {
            // Tokens whose key was withdrawn must stop working. All others are verified again on their next
            // request.
            known.tokens.drain().for_each(|(_, state)| state.end(TokenEndReason::Revoked));
            known.edition = edition;
        }
        if known.tokens.len() >= MAX_CACHED_TOKENS {
            known.tokens.retain(|_, state| state.end_reason().is_none());
        }
        if known.tokens.len() < MAX_CACHED_TOKENS {
            tracing::info!(principal = state.id(), who = state.label, "signed in with a token of the issuer");
            known.tokens.insert(hash, Arc::clone(state));
        }
    }
}

#[cfg(test)]
mod tests;
