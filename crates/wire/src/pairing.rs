//! `POST /pair`: a one-time code for a token, and the forms in which a code is handed over.
//!
//! A code is shown as `ABCD-EFGH`. Where the gateway uses a TLS key of its own, three more groups follow:
//! the first 60 bits of the key's pin, so that a device which is given only an address and a code can check
//! the gateway's key *before* it sends the code. A link, which is also what the QR code holds, carries the
//! address and the whole pin.

mod hex;
pub mod link;
pub mod pin;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use link::{PairingInput, PairingLink};
pub use pin::{KeyPin, KeyPrefix};

/// The header that carries the code.
pub const CODE_HEADER: &str = "x-pairing-code";
/// Characters of the secret part of a code.
pub const CODE_LEN: usize = 8;

/// Characters of a code with its key part.
const CODE_AND_KEY_LEN: usize = CODE_LEN + pin::PREFIX_LEN;
/// Crockford's base 32: no I, L, O and U.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// What the device says of itself; bound to the token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRequest {
    /// An id that stays the same over restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Operating system and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
}

/// The answer.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairResponse {
    /// Always true in an answer of status 200.
    pub paired: bool,
    /// Whether the token outlives the gateway's process.
    pub persisted: bool,
    /// The token. Shown this once.
    pub token: String,
    /// In words.
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

/// Why a code, a key or a link could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// Neither a code alone nor one with its key part.
    #[error(
        "a pairing code has {CODE_LEN} letters and digits, or {CODE_AND_KEY_LEN} with the gateway's key; \
         this one has {0}"
    )]
    CodeLength(usize),
    /// A character that codes do not have.
    #[error("a pairing code has no {0:?} in it")]
    CodeCharacter(char),
    /// Not `sha256:` and 64 hexadecimal digits.
    #[error("a key is written sha256: and 64 hexadecimal digits")]
    InvalidKey,
    /// Not `toolway://pair?…`.
    #[error("a pairing link starts with {start}", start = link::LINK_PREFIX)]
    NotALink,
    /// A link without a part that it must have.
    #[error("the pairing link has no {0}")]
    Missing(&'static str),
    /// A `%` that two hexadecimal digits do not follow, or text that is not UTF-8 behind them.
    #[error("the pairing link's {0} is not encoded as it should be")]
    InvalidEncoding(&'static str),
}

/// A pairing code: its secret part of 40 bits and, where it was given, the start of the gateway's key.
/// Read from text with dashes, spaces, lower case and the letters O, I and L for 0, 1 and 1; shown in groups
/// of four.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PairingCode {
    secret: String,
    key: Option<KeyPrefix>,
}

impl PairingCode {
    /// The code of 40 random bits.
    #[must_use]
    pub fn from_random(bits: [u8; 5]) -> Self {
        let number = bits.iter().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        Self { secret: encode_base32(number, CODE_LEN), key: None }
    }

    /// The same code with the start of this key.
    #[must_use]
    pub fn with_key(self, pin: &KeyPin) -> Self {
        Self { key: Some(pin.prefix()), ..self }
    }

    /// The same code without a key.
    #[must_use]
    pub fn without_key(self) -> Self {
        Self { key: None, ..self }
    }

    /// The secret part: eight characters, upper case, no dash.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The start of the gateway's key, where the code has it.
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

/// Keeps the secret out of logs.
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

/// What may stand between the characters of a code: white space and every kind of dash.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// The character of the alphabet that was meant.
fn canonical_char(c: char) -> Option<char> {
    let upper = match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    u8::try_from(upper).ok().filter(|byte| ALPHABET.contains(byte)).map(char::from)
}

/// The lowest bits of a number in base 32, the highest first.
pub(crate) fn encode_base32(number: u64, length: usize) -> String {
    (0..length)
        .rev()
        .filter_map(|at| ALPHABET.get((number >> (5 * at)) as usize & 31).copied().map(char::from))
        .collect()
}

/// The number that canonical characters stand for.
pub(crate) fn decode_base32(symbols: &str) -> u64 {
    symbols.bytes().fold(0, |sum, byte| {
        let digit = ALPHABET.iter().position(|symbol| *symbol == byte).unwrap_or_default();
        (sum << 5) | digit as u64
    })
}

/// Writes `ABCD-EFGH`.
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
