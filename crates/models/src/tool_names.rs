//! Names of tools that every provider accepts: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`. A tool of a chat's own connection may
//! have any name, so a name that does not match gets an alias. The alias is a pure function of the name, the same in
//! every request and for every provider, and no two names share one.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use toolway_types::text::hex;

/// Maximum length of a name that every provider accepts.
pub const MAX_TOOL_NAME_BYTES: usize = 64;
/// Separator before the hash in an alias.
const ALIAS_MARKER: &str = "_y";
/// Length of the hash in an alias.
const HASH_CHARS: usize = 12;

/// Returns the name for a model: the tool's own name if every provider accepts it, else its alias.
#[must_use]
pub fn wire_name(name: &str) -> Cow<'_, str> {
    if needs_no_alias(name) { Cow::Borrowed(name) } else { Cow::Owned(alias(name, MAX_TOOL_NAME_BYTES)) }
}

/// Returns whether a name is sent unchanged. A name that looks like an alias is not, so that no tool can be confused
/// with another.
fn needs_no_alias(name: &str) -> bool {
    (1..=MAX_TOOL_NAME_BYTES).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(is_allowed_byte)
        && !is_alias_like(name)
}

/// Returns the alias of a text, at most `room` bytes long: its allowed characters, and a hash of the whole text.
pub(crate) fn alias(text: &str, room: usize) -> String {
    let mut stem: String =
        text.chars().map(|c| if c.is_ascii() && is_allowed_byte(c as u8) { c } else { '_' }).collect();
    if !stem.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        stem.insert(0, '_');
    }
    stem.truncate(room.saturating_sub(ALIAS_MARKER.len() + HASH_CHARS));
    let mut hash = hex(&Sha256::digest(text.as_bytes()));
    hash.truncate(HASH_CHARS);
    stem + ALIAS_MARKER + &hash
}

/// Returns whether a name has the form of an alias.
pub(crate) fn is_alias_like(name: &str) -> bool {
    let tail = name.len().checked_sub(ALIAS_MARKER.len() + HASH_CHARS).and_then(|at| name.get(at..));
    let hash = tail.and_then(|tail| tail.strip_prefix(ALIAS_MARKER));
    hash.is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

fn is_allowed_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests;
