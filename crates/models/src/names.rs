//! Names of tools as model providers take them. All of them take `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`; what a chat's own
//! connection calls its tools may be anything, so a name that does not fit has an alias. The alias is a pure function
//! of the name, the same in every request and for every provider, and no two names share one.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// Longest name that every provider takes.
pub const MAX_NAME: usize = 64;
/// What stands before the hash in an alias.
const MARK: &str = "_y";
/// How long that hash is.
const HASH: usize = 12;

/// The name by which a model is told of a tool: the tool's own where every provider takes it, else its alias.
#[must_use]
pub fn sent(name: &str) -> Cow<'_, str> {
    if fits(name) { Cow::Borrowed(name) } else { Cow::Owned(alias(name, MAX_NAME)) }
}

/// Whether a name is sent as it is. One that looks like an alias is not, so that nobody's tool can be taken for
/// another's.
fn fits(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(is_usual)
        && !looks_like_an_alias(name)
}

/// The alias of a text, of at most `room` bytes: what of it can be used, and a hash of all of it.
pub(crate) fn alias(text: &str, room: usize) -> String {
    let mut stem: String =
        text.chars().map(|c| if c.is_ascii() && is_usual(c as u8) { c } else { '_' }).collect();
    if !stem.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        stem.insert(0, '_');
    }
    stem.truncate(room.saturating_sub(MARK.len() + HASH));
    let digest = Sha256::digest(text.as_bytes());
    let hash = digest.iter().take(HASH / 2).map(|byte| format!("{byte:02x}"));
    stem + MARK + &hash.collect::<String>()
}

/// Whether a name ends as aliases do.
pub(crate) fn looks_like_an_alias(name: &str) -> bool {
    let tail = name.len().checked_sub(MARK.len() + HASH).and_then(|at| name.get(at..));
    let hash = tail.and_then(|tail| tail.strip_prefix(MARK));
    hash.is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

fn is_usual(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests;
