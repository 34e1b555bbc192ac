//! Signatures of webhooks by the scheme of Standard Webhooks (standardwebhooks.com): `v1,` and the base64 of
//! the HMAC-SHA256 of `id.timestamp.body`, keyed with the bytes of a secret `whsec_<base64>`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;

/// Allowed length of a key in bytes, as the scheme requires.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// An invalid key. The messages omit its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSigningKey {
    /// The prefix is missing.
    #[error("the secret does not start with whsec_")]
    Prefix,
    /// The text after the prefix is not base64.
    #[error("what follows whsec_ in the secret is not base64")]
    Base64,
    /// The key is too short to be safe, or too long.
    #[error("the secret holds {0} bytes; it must be 24 to 64: whsec_ and the base64 of as many random bytes")]
    Length(usize),
}

/// Key that signs webhooks.
#[derive(Debug)]
pub struct SigningKey(SecretSlice<u8>);

impl SigningKey {
    /// Parses `whsec_<base64>`.
    ///
    /// # Errors
    /// [`BadSigningKey`] describes the invalid part.
    pub fn parse(text: &SecretString) -> Result<Self, BadSigningKey> {
        let encoded = text.expose_secret().trim().strip_prefix("whsec_").ok_or(BadSigningKey::Prefix)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| BadSigningKey::Base64)?;
        if !KEY_BYTES.contains(&bytes.len()) {
            return Err(BadSigningKey::Length(bytes.len()));
        }
        Ok(Self(bytes.into()))
    }

    /// Value of the header `webhook-signature`.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()) else {
            // Unreachable, because HMAC accepts keys of any length.
            return String::new();
        };
        for part in [id.as_bytes(), b".", timestamp.to_string().as_bytes(), b".", body] {
            mac.update(part);
        }
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests;
