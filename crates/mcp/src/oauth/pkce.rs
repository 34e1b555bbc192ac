//! Random texts, and proof keys for code exchange (RFC 7636, only S256).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::{ExposeSecret as _, SecretString};

use super::error::OauthError;

/// 256 random bits, as 43 URL-safe characters.
pub(super) fn random_text() -> Result<String, OauthError> {
    let mut bytes = [0u8; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| OauthError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The proof that the program that exchanges a code also requested it.
#[derive(Debug)]
pub(super) struct PkceVerifier {
    /// The code verifier, stored until the exchange.
    pub(super) verifier: SecretString,
}

impl PkceVerifier {
    pub(super) fn new() -> Result<Self, OauthError> {
        Ok(Self { verifier: random_text()?.into() })
    }

    /// The code challenge for the authorization server (RFC 7636, section 4.2).
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.expose_secret().as_bytes()))
    }
}

#[cfg(test)]
mod tests;
