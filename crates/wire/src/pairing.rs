//! Pairing with `POST /pair`: exchanges a one-time code for a token. Also contains the forms of a code.
//!
//! A code is shown as `ABCD-EFGH`. If the gateway uses its own TLS key, three more groups follow: the first
//! 60 bits of the key's pin. A device that has only an address and a code can then verify the gateway's key
//! *before* it sends the code. A link (also the content of the QR code) contains the address and the whole
//! pin.

mod hex;
pub mod link;
pub mod pin;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use link::{PairingInput, PairingLink};
pub use pin::{KeyPin, KeyPrefix};

/// Header that carries the code.
pub const CODE_HEADER: &str = "x-pairing-code";
/// Length of a code's secret part, in characters.
pub const CODE_LEN: usize = 8;

/// Length of a code with its key part, in characters.
const CODE_AND_KEY_LEN: usize = CODE_LEN + pin::PREFIX_LEN;
/// Crockford's base 32, without I, L, O and U.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The device's description of itself; stored with the token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRequest {
    /// Id of the device, stable across restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// Display name of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Operating system and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
}

/// Successful answer to a pairing request.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairResponse {
    /// Always true in an answer with status 200.
    pub paired: bool,
    /// True if the token stays valid after a restart of the gateway.
    pub persisted: bool,
    /// The token. It is shown only once.
    pub token: String,
    /// Text for people.
    pub message: String,
}

impl fmt::Debug for PairResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairResponse")
            .field("paired", &self.paired)
            .field("persisted", &self.persisted)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

/// Reason why a code, key or link is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// The text is neither a plain code nor a code with a key part.
    #[error(
        "a pairing code has {CODE_LEN} letters and digits, or {CODE_AND_KEY_LEN} with the gateway's key; \
         this one has {0}"
    )]
    CodeLength(usize),
    /// The text contains a character that codes never contain.
    #[error("a pairing code cannot contain {0:?}")]
    CodeCharacter(char),
    /// The key is not `sha256:` and 64 hexadecimal digits.
    #[error("invalid key: it must be sha256: followed by 64 hexadecimal digits")]
    InvalidKey,
    /// The link does not start with `toolway://pair?`.
    #[error("invalid pairing link: it must start with {start}", start = link::LINK_PREFIX)]
    NotALink,
    /// The link lacks a required part.
    #[error("the pairing link has no {0}")]
    Missing(&'static str),
    /// The link contains a `%` without two hexadecimal digits, or escapes that are not UTF-8.
    #[error("the pairing link's {0} has an invalid percent-encoding")]
    InvalidEncoding(&'static str),
}

/// A pairing code: a secret part of 40 bits and, optionally, the start of the gateway's key.
///
/// Parsing accepts dashes, spaces, lower case, and the letters O, I and L for 0, 1 and 1. Display uses groups
/// of four.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PairingCode {
    secret: String,
    key: Option<KeyPrefix>,
}

impl PairingCode {
    /// Creates the code for 40 random bits.
    #[must_use]
    pub fn from_random(bits: [u8; 5]) -> Self {
        let number = bits.iter().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        Self { secret: encode_base32(number, CODE_LEN), key: None }
    }

    /// Adds the start of this key to the code.
    #[must_use]
    pub fn with_key(self, pin: &KeyPin) -> Self {
        Self { key: Some(pin.prefix()), ..self }
    }

    /// Removes the key part from the code.
    #[must_use]
    pub fn without_key(self) -> Self {
        Self { key: None, ..self }
    }

    /// Secret part of the code: eight characters, upper case, no dash.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Start of the gateway's key, if the code contains it.
    #[must_use]
    pub fn key(&self) -> Option<KeyPrefix> {
        self.key
    }
}

impl fmt::Display for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_groups(f, &self.secret)?;
        match self.key {
            Some(key) => write!(f, "-{key}"),
            None => Ok(()),
        }
    }
}

/// Hides the secret, so it never appears in logs.
impl fmt::Debug for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairingCode").field("key", &self.key).finish_non_exhaustive()
    }
}

impl FromStr for PairingCode {
    type Err = PairingError;
    fn from_str(text: &str) -> Result<Self, PairingError> {
        let read: String = text
            .chars()
            .filter(|c| !is_separator(*c))
            .map(|c| canonical_char(c).ok_or(PairingError::CodeCharacter(c)))
            .collect::<Result<_, _>>()?;
        match (read.len(), read.get(..CODE_LEN), read.get(CODE_LEN..)) {
            (CODE_LEN, Some(secret), _) => Ok(Self { secret: secret.to_owned(), key: None }),
            (CODE_AND_KEY_LEN, Some(secret), Some(key)) => {
                Ok(Self { secret: secret.to_owned(), key: Some(KeyPrefix::from_bits(decode_base32(key))) })
            }
            (length, ..) => Err(PairingError::CodeLength(length)),
        }
    }
}

/// True for separators between a code's characters: white space and every kind of dash.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Maps a character to the alphabet, if possible.
fn canonical_char(c: char) -> Option<char> {
    let upper = match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    u8::try_from(upper).ok().filter(|byte| ALPHABET.contains(byte)).map(char::from)
}

/// Encodes the lowest bits of a number in base 32, highest first.
pub(crate) fn encode_base32(number: u64, length: usize) -> String {
    (0..length)
        .rev()
        .filter_map(|at| ALPHABET.get((number >> (5 * at)) as usize & 31).copied().map(char::from))
        .collect()
}

/// Decodes canonical base 32 characters.
pub(crate) fn decode_base32(symbols: &str) -> u64 {
    symbols.bytes().fold(0, |sum, byte| {
        let digit = ALPHABET.iter().position(|symbol| *symbol == byte).unwrap_or_default();
        (sum << 5) | digit as u64
    })
}

/// Writes text in groups, as in `ABCD-EFGH`.
pub(crate) fn write_groups(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    use std::fmt::Write;
    for (at, c) in text.chars().enumerate() {
        if at > 0 && at % 4 == 0 {
            f.write_char('-')?;
        }
        f.write_char(c)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
