//! Signed assertions of a client: about itself (RFC 7523, sections 2.2 and 3), and about a subject for which it asks
//! (RFC 7523, section 2.1).

use secrecy::SecretString;
use serde_json::json;

use super::error::OauthError;
use super::pkce::random_text;
use super::signing_key::SigningKey;

/// Lifetime of an assertion, in seconds. It is used at once, so this only covers clocks that differ.
const LIFE_S: i64 = 120;

/// The type of a client assertion.
pub(super) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A private key with its id, as the authorization server knows it.
#[derive(Debug, Clone)]
pub struct ClientKey {
    /// The key in PEM.
    pub pem: SecretString,
    /// The key id (`kid`).
    pub id: Option<String>,
}

/// The claims of an assertion.
pub(super) struct AssertionClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) subject: &'a str,
    /// The issuer of the authorization server.
    pub(super) audience: &'a str,
    pub(super) now_ms: i64,
}

impl ClientKey {
    /// Signs an assertion. Each has an id of its own.
    ///
    /// # Errors
    /// [`OauthError::Settings`] if the key can't be used.
    pub(super) fn sign(&self, claims: &AssertionClaims<'_>) -> Result<String, OauthError> {
        let key = SigningKey::from_pem(&self.pem)?;
        let mut header = json!({ "alg": key.algorithm(), "typ": "JWT" });
        if let (Some(id), Some(header)) = (&self.id, header.as_object_mut()) {
            header.insert("kid".to_owned(), id.clone().into());
        }
        let now = claims.now_ms / 1000;
        let claims = json!({
            "iss": claims.issuer, "sub": claims.subject, "aud": claims.audience,
            "iat": now, "exp": now + LIFE_S, "jti": random_text()?,
        });
        key.sign_token(&header, &claims)
    }

    /// The name of the signature algorithm.
    ///
    /// # Errors
    /// [`OauthError::Settings`] if the key can't be used.
    pub(super) fn algorithm(&self) -> Result<&'static str, OauthError> {
        Ok(SigningKey::from_pem(&self.pem)?.algorithm())
    }
}
