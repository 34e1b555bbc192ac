//! Random secrets, the format of tokens, and the hash by which they are stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use toolway_types::Role;

/// Prefix of every token, so that scanners find leaked tokens.
pub const TOKEN_PREFIX: &str = "twy_";

/// The operating system gave no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers")]
pub struct NoRandomness;

/// Returns random bytes from the operating system.
///
/// # Errors
/// [`NoRandomness`] if the operating system has none.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    let source = rustls::crypto::ring::default_provider().secure_random;
    source.fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Creates a token: `twy_`, a letter for the role (for people only; the gateway looks the role up), `_` and
/// 256 random bits.
///
/// # Errors
/// [`NoRandomness`] if the operating system has none.
pub fn new_token(role: Role) -> Result<SecretString, NoRandomness> {
    let letter = match role {
        Role::Owner => 'o',
        Role::Client => 'c',
        Role::Device => 'd',
        Role::Companion => 'm',
    };
    let bits = URL_SAFE_NO_PAD.encode(random::<32>()?);
    Ok(SecretString::from(format!("{TOKEN_PREFIX}{letter}_{bits}")))
}

/// Returns true if a text has the form of a token.
#[must_use]
pub fn looks_like_token(text: &str) -> bool {
    text.strip_prefix(TOKEN_PREFIX).and_then(|rest| rest.split_once('_')).is_some_and(|(letter, bits)| {
        letter.len() == 1 && URL_SAFE_NO_PAD.decode(bits).is_ok_and(|bytes| bytes.len() == 32)
    })
}

/// Hashes a secret. A token has 256 random bits, so it needs no slow hash, and the timing of the lookup
/// reveals nothing.
#[must_use]
pub fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
