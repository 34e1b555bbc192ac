//! Pin of a key: the SHA-256 of a certificate's SubjectPublicKeyInfo in DER. It identifies the key, so it
//! stays the same when the certificate is renewed with the same key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::hex::hex_byte;
use super::{PairingError, encode_base32, write_groups};

/// Text before the digits of a pin.
const PIN_PREFIX: &str = "sha256:";
/// Number of a pin's characters in a pairing code.
pub(crate) const PREFIX_LEN: usize = 12;

/// Hash that identifies a gateway's key, written `sha256:<64 hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPin([u8; 32]);

impl KeyPin {
    /// Creates a pin from the hash.
    #[must_use]
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The hash as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// First 60 bits of the pin, for a pairing code.
    #[must_use]
    pub fn prefix(&self) -> KeyPrefix {
        let high = self.0.iter().take(8).fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        KeyPrefix(high >> 4)
    }
}

impl fmt::Display for KeyPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PIN_PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyPin {
    type Err = PairingError;
    fn from_str(text: &str) -> Result<Self, PairingError> {
        let digits = text.trim().strip_prefix(PIN_PREFIX).ok_or(PairingError::InvalidKey)?.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return Err(PairingError::InvalidKey);
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_byte(pair).ok_or(PairingError::InvalidKey)?;
        }
        Ok(Self(hash))
    }
}

impl Serialize for KeyPin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyPin {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// First 60 bits of a [`KeyPin`], shown as `KKKK-KKKK-KKKK`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPrefix(u64);

impl KeyPrefix {
    /// Creates a prefix from the lowest 60 bits of a number.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits & (u64::MAX >> 4))
    }

    /// True if the pin starts with this prefix.
    #[must_use]
    pub fn matches(self, pin: &KeyPin) -> bool {
        pin.prefix() == self
    }
}

impl fmt::Display for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_groups(f, &encode_base32(self.0, PREFIX_LEN))
    }
}

impl fmt::Debug for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
