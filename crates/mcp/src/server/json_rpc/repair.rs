//! Text that JSON can carry and Rust cannot: bytes that are not UTF-8, and escapes of half a surrogate pair (RFC 8259,
//! section 8.2). Each becomes U+FFFD, so one damaged character does not cost a whole message.

use std::borrow::Cow;

use memchr::memmem;

/// Length of an escape like `\ud83d`, in bytes.
const ESCAPE_BYTES: usize = 6;
/// The escape of U+FFFD.
const REPLACEMENT: &[u8; ESCAPE_BYTES] = br"\ufffd";

/// Returns JSON text that every parser can read.
pub(super) fn repair(json: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(json) {
        Cow::Borrowed(text) => replace_lone_surrogates(text).map_or(Cow::Borrowed(text), Cow::Owned),
        Cow::Owned(text) => Cow::Owned(replace_lone_surrogates(&text).unwrap_or(text)),
    }
}

/// Replaces escapes of half a surrogate pair; `None` if there are none.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    // Most texts have no such escape.
    let first = [&br"\ud"[..], br"\uD"].iter().filter_map(|escape| memmem::find(bytes, escape)).min()?;
    let mut repaired: Option<Vec<u8>> = None;
    // Starts before the backslashes in front of it: an even number of them is no escape.
    let mut at = first - bytes.iter().take(first).rev().take_while(|byte| **byte == b'\\').count();
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        match (surrogate(bytes, at), surrogate(bytes, at + ESCAPE_BYTES)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 2 * ESCAPE_BYTES,
            (Some(_), _) => {
                let copy = repaired.get_or_insert_with(|| bytes.to_vec());
                if let Some(escape) = copy.get_mut(at..at + ESCAPE_BYTES) {
                    escape.copy_from_slice(REPLACEMENT);
                }
                at += ESCAPE_BYTES;
            }
            // Any other escape: the character after the backslash starts no escape.
            (None, _) => at += 2,
        }
    }
    repaired.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// The half of a surrogate pair whose escape starts here.
fn surrogate(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE_BYTES)?.strip_prefix(br"\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..=0xDFFF).contains(&code).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_and_invalid_bytes_become_u_fffd() {
        for (json, expected) in [
            (br#"{"a":"x \ud83d"}"#.as_slice(), r#"{"a":"x \ufffd"}"#),
            (
                br#"["\uD83D\uDE00","\uDE00\ud83d\ud83d\ude00"]"#.as_slice(),
                r#"["\uD83D\uDE00","\ufffd\ufffd\ud83d\ude00"]"#,
            ),
            // An escaped backslash before `ud83d`.
            (br#"["\\ud83d","\\\ud83d"]"#.as_slice(), r#"["\\ud83d","\\\ufffd"]"#),
            (b"[\"a\xe9b\"]".as_slice(), "[\"a\u{fffd}b\"]"),
            (br#"["\ud83"]"#.as_slice(), r#"["\ud83"]"#),
            (br#"["\u00e9"]"#.as_slice(), r#"["\u00e9"]"#),
        ] {
            assert_eq!(repair(json), expected);
        }
    }
}
