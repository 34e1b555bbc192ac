//! Proof of possession (DPoP, RFC 9449): tokens that are bound to a key of this gateway, and a signed proof in each
//! request with such a token.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use parking_lot::Mutex;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::error::OauthError;
use super::pkce::random_text;
use super::signing_key::SigningKey;

/// The signature algorithm of the proofs.
pub(super) const ALGORITHM: &str = "ES256";
/// The header of a proof.
pub(super) const PROOF: HeaderName = HeaderName::from_static("dpop");
/// The header of a nonce.
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// The error code of a server that wants a nonce.
pub(super) const USE_NONCE: &str = "use_dpop_nonce";
/// Maximum length of a nonce, in bytes.
const MAX_NONCE: usize = 1 << 10;

/// The two servers that give nonces, each its own (RFC 9449, sections 8 and 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NonceSource {
    AuthorizationServer,
    ResourceServer,
}

/// The key of one server's tokens, with the last nonces.
pub(super) struct DpopBinding {
    text: SecretString,
    key: SigningKey,
    public: Value,
    of_authorization_server: Mutex<Option<String>>,
    of_resource_server: Mutex<Option<String>>,
}

impl DpopBinding {
    /// Generates a key.
    ///
    /// # Errors
    /// [`OauthError::NoRandomness`].
    pub(super) fn generate() -> Result<Self, OauthError> {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let pkcs8 = pkcs8.map_err(|_| OauthError::NoRandomness)?;
        let text = SecretString::from(STANDARD_NO_PAD.encode(pkcs8.as_ref()));
        Self::parse(&text).ok_or(OauthError::NoRandomness)
    }

    /// Parses a stored key.
    pub(super) fn parse(text: &SecretString) -> Option<Self> {
        let pkcs8 = STANDARD_NO_PAD.decode(text.expose_secret()).ok()?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &SystemRandom::new());
        let key = key.ok()?;
        // An uncompressed point (SEC 1, section 2.3.3): 4, x, y.
        let (x, y) = key.public_key().as_ref().get(1..)?.split_at_checked(32)?;
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let public = json!({ "kty": "EC", "crv": "P-256", "x": part(x), "y": part(y) });
        Some(Self {
            text: text.clone(),
            key: SigningKey::Es256(key),
            public,
            of_authorization_server: Mutex::default(),
            of_resource_server: Mutex::default(),
        })
    }

    /// The key in its stored form.
    pub(super) fn text(&self) -> &SecretString {
        &self.text
    }

    fn nonce(&self, source: NonceSource) -> &Mutex<Option<String>> {
        match source {
            NonceSource::AuthorizationServer => &self.of_authorization_server,
            NonceSource::ResourceServer => &self.of_resource_server,
        }
    }

    /// Keeps the nonce of a response for the next proofs. Returns true if it is a new one.
    pub(super) fn remember_nonce(&self, source: NonceSource, headers: &HeaderMap) -> bool {
        let given = headers.get(NONCE).and_then(|value| value.to_str().ok());
        let Some(given) = given.filter(|it| !it.is_empty() && it.len() <= MAX_NONCE) else { return false };
        let mut kept = self.nonce(source).lock();
        let is_new = kept.as_deref() != Some(given);
        *kept = Some(given.to_owned());
        is_new
    }

    /// Signs the proof of one request (RFC 9449, section 4.2). With a token, the proof names it.
    ///
    /// # Errors
    /// [`OauthError::NoRandomness`].
    pub(super) fn proof(
        &self,
        source: NonceSource,
        method: &Method,
        url: &Url,
        now_ms: i64,
        token: Option<&SecretString>,
    ) -> Result<HeaderValue, OauthError> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut claims = json!({
            "jti": random_text()?, "htm": method.as_str(), "htu": target.as_str(), "iat": now_ms / 1000,
        });
        if let Some(claims) = claims.as_object_mut() {
            if let Some(token) = token {
                let hash = digest(&SHA256, token.expose_secret().as_bytes());
                claims.insert("ath".to_owned(), URL_SAFE_NO_PAD.encode(hash).into());
            }
            if let Some(nonce) = self.nonce(source).lock().clone() {
                claims.insert("nonce".to_owned(), nonce.into());
            }
        }
        let header = json!({ "typ": "dpop+jwt", "alg": ALGORITHM, "jwk": self.public });
        let proof = self.key.sign_token(&header, &claims)?;
        HeaderValue::try_from(proof).map_err(|_| OauthError::NoRandomness)
    }
}

impl std::fmt::Debug for DpopBinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DpopBinding").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
