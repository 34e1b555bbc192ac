//! Random secrets, how tokens are written, and the hash under which they are kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use toolway_types::Role;

/// How every token starts, so that scanners of leaked secrets find it.
pub const TOKEN_PREFIX: &str = "twy_";

/// The operating system gave no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers")]
pub struct NoRandomness;

/// Random bytes from the operating system.
///
/// # Errors
/// [`NoRandomness`].
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    let source = rustls::crypto::ring::default_provider().secure_random;
    source.fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// A new token: `twy_`, a letter for the role (for people; the role itself is looked up), `_` and 256 random
/// bits.
///
/// # Errors
/// [`NoRandomness`].
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

/// Whether a text has the form of a token.
#[must_use]
pub fn looks_like_token(text: &str) -> bool {
    text.strip_prefix(TOKEN_PREFIX).and_then(|rest| rest.split_once('_')).is_some_and(|(letter, bits)| {
        letter.len() == 1 && URL_SAFE_NO_PAD.decode(bits).is_ok_and(|bytes| bytes.len() == 32)
    })
}

/// The hash under which a secret is kept. A token has 256 random bits, so no slow hash is needed, and
/// looking hashes up tells nothing by its timing.
#[must_use]
pub fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
