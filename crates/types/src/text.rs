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
}
