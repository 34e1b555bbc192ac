//! Access tokens of an authorization server that the owner trusts (RFC 9068 and what is near to it): which of them let
//! an MCP client in, and as whom.
//!
//! What is not allowed is refused: other algorithms than three with public keys, keys that are not the issuer's,
//! tokens for others, tokens that are bound to a key of their holder, people whom the settings do not name. Whoever
//! comes in is a client, and the policy says what they may do, as for any other.

mod claims;
mod key_cache;
mod key_set;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use toolway_mcp::oauth::OauthHttpClient;
use toolway_store::TokenRecord;
use toolway_types::{Clock, Role};

use super::rejection::AuthRejection;
use super::token::{TokenEndReason, TokenState};
use crate::settings::IssuerSettings;
use claims::JwtClaims;
use key_cache::IssuerKeyCache;
use key_set::JwkSet;

/// No token is longer, in bytes.
const MAX_TOKEN: usize = 8 << 10;
/// How far the issuer's clock may be from ours, in milliseconds.
const LEEWAY_MS: i64 = 30_000;
/// How many tokens that were found good are remembered.
const MAX_CACHED_TOKENS: usize = 4096;
/// How the ids of principals begin that come in this way.
const ID_PREFIX: &str = "sub-";

/// An issuer, and who comes in by its word.
#[derive(Debug)]
pub struct TokenIssuer {
    settings: IssuerSettings,
    audiences: Vec<String>,
    keys: IssuerKeyCache,
    clock: Arc<dyn Clock>,
    verified: Mutex<VerifiedTokenCache>,
}

/// Tokens that were found good, by their hashes, as long as the keys are those that they were checked with.
#[derive(Debug, Default)]
struct VerifiedTokenCache {
    edition: u64,
    tokens: HashMap<[u8; 32], Arc<TokenState>>,
}

impl TokenIssuer {
    /// With these settings. `resource` is the address of `/mcp`, where it is known: what tokens must be for if the
    /// settings name no audience. Nothing is fetched until a token comes.
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

    /// Its issuer identifier.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.settings.url
    }

    /// The scopes that a token must have.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.settings.scopes
    }

    /// Whether a text has the form of a signed token, so that it may be one of an issuer.
    #[must_use]
    pub fn looks_like_jwt(text: &str) -> bool {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        text.split('.').count() == 3 && text.split('.').all(is_part)
    }

    /// Who comes in with this token. One text gives one state for as long as it is remembered.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn check(&self, text: &str) -> Result<Arc<TokenState>, AuthRejection> {
        let wrong = |why| AuthRejection::NotFromIssuer { why };
        if text.len() > MAX_TOKEN {
            return Err(wrong("it is too long"));
        }
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        if let Some(state) = self.cached_token(&hash) {
            return if state.end_reason().is_some() { Err(AuthRejection::Expired) } else { Ok(state) };
        }
        let parsed = claims::parse(text).map_err(wrong)?;
        let keys = self.keys.key_set_for(parsed.key_id.as_deref()).await?;
        if !keys.verify(&parsed) {
            return Err(wrong("its signature is not the issuer's"));
        }
        let claims = JwtClaims::read(parsed.payload).map_err(wrong)?;
        let state = Arc::new(self.admit(&claims, hash)?);
        self.cache_token(keys.edition, hash, &state);
        Ok(state)
    }

    /// Holds what the token says against the settings. Its signature has been checked.
    fn admit(&self, claims: &JwtClaims, hash: [u8; 32]) -> Result<TokenState, AuthRejection> {
        let wrong = |why| Err(AuthRejection::NotFromIssuer { why });
        let now = self.clock.now_ms();
        if claims.issuer != self.settings.url {
            return wrong("another issuer gave it (iss)");
        }
        if !claims.audiences.iter().any(|it| self.audiences.contains(it)) {
            return wrong("it is for another audience (aud)");
        }
        let ends = claims.expires_ms.saturating_add(LEEWAY_MS);
        if ends <= now {
            return Err(AuthRejection::Expired);
        }
        if claims.not_before_ms.is_some_and(|at| at.saturating_sub(LEEWAY_MS) > now) {
            return wrong("it is not good yet (nbf)");
        }
        if claims.is_bound {
            return wrong("only who holds a certain key may use it (cnf), which is not checked here");
        }
        if !self.settings.subjects.iter().any(|it| it == "*" || *it == claims.subject) {
            return wrong("its subject may not come in (sub)");
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

    /// The id of whoever an issuer calls by this name: the same for all their tokens, and another's with another
    /// issuer.
    fn principal_id(&self, subject: &str) -> String {
        let mut hash = Sha256::new();
        hash.update((self.settings.url.len() as u64).to_be_bytes());
        hash.update(self.settings.url.as_bytes());
        hash.update(subject.as_bytes());
        let hash = hash.finalize();
        let hex: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{ID_PREFIX}{hex}")
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
            // Whose key was taken back must not go on; all others show their tokens again.
            known.tokens.drain().for_each(|(_, state)| state.end(TokenEndReason::Revoked));
            known.edition = edition;
        }
        if known.tokens.len() >= MAX_CACHED_TOKENS {
            known.tokens.retain(|_, state| state.end_reason().is_none());
        }
        if known.tokens.len() < MAX_CACHED_TOKENS {
            tracing::info!(principal = state.id(), who = state.label, "let in by the word of the issuer");
            known.tokens.insert(hash, Arc::clone(state));
        }
    }
}

#[cfg(test)]
mod tests;
