//! Short forms of bytes and texts, for messages and names.

use std::fmt::Write as _;

/// Lowercase hexadecimal form of bytes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A text, or its first `bytes` bytes with `…` after them. Never cuts within a character.
#[must_use]
pub fn truncate(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(bytes)).unwrap_or_default())
}

/// Maximum length of an error message that the gateway writes, in bytes.
pub const MAX_MESSAGE: usize = 2_000;
/// Maximum length of a name or value from outside within a message, in bytes.
pub const MAX_QUOTE: usize = 300;

/// A text, or its start and end with `…` between them: at most `bytes` bytes and the `…`. The end of a parser's
/// message is the place of the error. Never cuts within a character.
#[must_use]
pub fn shorten(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.ceil_char_boundary(text.len() - bytes / 3);
    let start = text.floor_char_boundary(bytes - bytes / 3);
    format!("{}…{}", text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default())
}

/// The message of an error from outside, shortened for use within another message.
#[must_use]
pub fn shorten_error(error: &dyn std::fmt::Display) -> String {
    shorten(&error.to_string(), MAX_QUOTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(hex(&[0, 0x0f, 0xa0, 0xff]), "000fa0ff");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(truncate("äöü", 6), "äöü");
        assert_eq!(truncate("äöü", 5), "äö…");
        assert_eq!(truncate("a", 0), "…");
    }

    #[test]
    fn a_long_text_keeps_its_start_and_end() {
        assert_eq!(shorten("0123456789", 10), "0123456789");
        assert_eq!(shorten("0123456789abcdef", 9), "012345…def");
        assert_eq!(shorten("äöüÄÖÜ", 6), "äö…Ü");
        assert_eq!(shorten("abc", 0), "…");
        let error = format!("unknown field `{}` at line 3 column 9", "x".repeat(100_000));
        let short = shorten_error(&error);
        assert!(short.len() <= 303 && short.ends_with("at line 3 column 9"), "{short}");
    }
}
