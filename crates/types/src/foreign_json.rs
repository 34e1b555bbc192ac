//! JSON from other programs, which can carry text that a Rust string can't: an escape of half a surrogate pair
//! (RFC 8259, section 8.2), or bytes that are not UTF-8. Each such half or byte reads as U+FFFD and costs nothing else.
//!
//! Every edge reads through this module. Values that are kept as [`RawJson`](crate::RawJson) keep their bytes.

mod broken_object;

use std::borrow::Cow;

use memchr::memmem;
use serde::de::DeserializeOwned;

pub use broken_object::{BrokenMember, broken_members};

/// Length of an escape like `\ud83d`, in bytes.
pub const SURROGATE_ESCAPE_BYTES: usize = 6;
/// Escape that replaces half a surrogate pair. It has the same length, so that positions stay the same.
const REPLACEMENT_ESCAPE: &[u8; SURROGATE_ESCAPE_BYTES] = br"\ufffd";

/// Reads a value from bytes.
///
/// # Errors
/// The parser's error, if the bytes are no JSON of this form apart from unreadable characters.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    let error = match serde_json::from_slice(json) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    match repair(json) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(repaired) => serde_json::from_str(&repaired),
    }
}

/// Reads a value from text.
///
/// # Errors
/// As [`from_slice`].
pub fn from_str<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    let error = match serde_json::from_str(json) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    match replace_lone_surrogates(json) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(repaired) => serde_json::from_str(&repaired),
    }
}

/// JSON text that every parser can read: U+FFFD in place of bytes that are not UTF-8 and of half surrogate pairs.
#[must_use]
pub fn repair(json: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(json) {
        Cow::Borrowed(text) => replace_lone_surrogates(text),
        Cow::Owned(text) => match replace_lone_surrogates(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(repaired) => Cow::Owned(repaired),
        },
    }
}

/// JSON text with U+FFFD in place of half surrogate pairs.
#[must_use]
pub fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    replace_lone_surrogates_except(json, |_| false)
}

/// JSON text with U+FFFD in place of half surrogate pairs, except at the positions that stay as they are.
#[must_use]
pub fn replace_lone_surrogates_except(json: &str, is_kept: impl Fn(usize) -> bool) -> Cow<'_, str> {
    let mut repaired: Option<Vec<u8>> = None;
    for at in lone_surrogates(json.as_bytes()).filter(|at| !is_kept(*at)) {
        let bytes = repaired.get_or_insert_with(|| json.as_bytes().to_vec());
        if let Some(escape) = bytes.get_mut(at..at + SURROGATE_ESCAPE_BYTES) {
            escape.copy_from_slice(REPLACEMENT_ESCAPE);
        }
    }
    // An escape is ASCII before and after.
    repaired.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// Positions of all escapes of half surrogate pairs in JSON text.
pub fn lone_surrogates(json: &[u8]) -> impl Iterator<Item = usize> + '_ {
    // Escapes of the surrogates start with `\ud`, and most texts have none.
    let has_any = [&br"\ud"[..], br"\uD"].iter().any(|escape| memmem::find(json, escape).is_some());
    let mut at = if has_any { 0 } else { json.len() };
    std::iter::from_fn(move || {
        while at < json.len() {
            let here = at;
            if json.get(here) != Some(&b'\\') {
                at += 1;
                continue;
            }
            match (surrogate_escape(json, here), surrogate_escape(json, here + SURROGATE_ESCAPE_BYTES)) {
                (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 2 * SURROGATE_ESCAPE_BYTES,
                (Some(_), _) => {
                    at += SURROGATE_ESCAPE_BYTES;
                    return Some(here);
                }
                // Any other escape: its next character starts no escape.
                (None, _) => at += 2,
            }
        }
        None
    })
}

/// The half of a surrogate pair (0xD800 to 0xDFFF) whose escape starts at this position.
#[must_use]
pub fn surrogate_escape(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + SURROGATE_ESCAPE_BYTES)?.strip_prefix(br"\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..=0xDFFF).contains(&code).then_some(code)
}

#[cfg(test)]
mod tests;
