//! The pairing link `toolway://pair?url=<address>&code=ABCDEFGH&key=sha256:<64 hex digits>`, the content of
//! the QR code.

use std::fmt;
use std::str::FromStr;

use super::hex::hex_byte;
use super::{KeyPin, PairingCode, PairingError};

/// Start of every pairing link.
pub(crate) const LINK_PREFIX: &str = "toolway://pair?";

/// All data that a device needs to pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingLink {
    /// Address of the gateway, `http://…` or `https://…`.
    pub url: String,
    /// The code. Its key part is not written, because the link contains the whole key.
    pub code: PairingCode,
    /// The gateway's key, if it uses its own.
    pub key: Option<KeyPin>,
}

impl fmt::Display for PairingLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LINK_PREFIX}url={}&code={}", PercentEncoded(&self.url), self.code.secret())?;
        match &self.key {
            Some(key) => write!(f, "&key={key}"),
            None => Ok(()),
        }
    }
}

impl FromStr for PairingLink {
    type Err = PairingError;
    fn from_str(text: &str) -> Result<Self, PairingError> {
        let text = text.trim();
        let start = text.get(..LINK_PREFIX.len()).ok_or(PairingError::NotALink)?;
        if !start.eq_ignore_ascii_case(LINK_PREFIX) {
            return Err(PairingError::NotALink);
        }
        let (mut url, mut code, mut key) = (None, None, None);
        for field in text.get(LINK_PREFIX.len()..).unwrap_or_default().split('&') {
            match field.split_once('=') {
                Some(("url", value)) => {
                    url = Some(percent_decode(value).ok_or(PairingError::InvalidEncoding("url"))?)
                }
                Some(("code", value)) => {
                    code = Some(percent_decode(value).ok_or(PairingError::InvalidEncoding("code"))?.parse()?);
                }
                Some(("key", value)) => {
                    key = Some(percent_decode(value).ok_or(PairingError::InvalidEncoding("key"))?.parse()?);
                }
                _ => {}
            }
        }
        Ok(Self {
            url: url.filter(|url| !url.is_empty()).ok_or(PairingError::Missing("url"))?,
            code: code.ok_or(PairingError::Missing("code"))?,
            key,
        })
    }
}

/// Text that a person enters to pair: a code or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingInput {
    /// A code; the gateway's address must come from elsewhere.
    Code(PairingCode),
    /// A link.
    Link(PairingLink),
}

impl FromStr for PairingInput {
    type Err = PairingError;
    fn from_str(text: &str) -> Result<Self, PairingError> {
        if text.contains("://") { text.parse().map(Self::Link) } else { text.parse().map(Self::Code) }
    }
}

/// Displays text percent-encoded, except for letters, digits and `-._~`.
struct PercentEncoded<'a>(&'a str);

impl fmt::Display for PercentEncoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.bytes().try_for_each(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                fmt::Write::write_char(f, char::from(byte))
            }
            _ => write!(f, "%{byte:02X}"),
        })
    }
}

/// Decodes percent-encoding; `None` if it is malformed.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            bytes.push(hex_byte(after.get(..2)?)?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}
