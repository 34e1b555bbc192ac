//! The texts in an event's JSON, with their places, and the halves of characters at their ends.

use std::hash::{DefaultHasher, Hasher as _};

use toolway_types::foreign_json::{SURROGATE_ESCAPE_BYTES, surrogate_escape};
use toolway_types::json::nests_deeper_than;

/// Maximum nesting depth of events whose texts are joined.
const MAX_LEVELS: usize = 128;

/// A text value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextValue {
    /// Hash of the names and indexes that lead to it.
    pub(super) path: u64,
    /// Position of its first byte, after the quote.
    pub(super) start: usize,
    /// Position of its closing quote.
    pub(super) end: usize,
}

/// An array or object around a value.
struct OpenContainer {
    path: u64,
    is_object: bool,
    /// Index of the current item, or hash of the current name.
    current: u64,
}

impl TextValue {
    /// Returns whether the text ends in the first half of a character.
    pub(super) fn ends_in_half(&self, json: &[u8]) -> bool {
        self.last_half(json).is_some()
    }

    fn last_half(&self, json: &[u8]) -> Option<FirstHalf> {
        let text = json.get(self.start..self.end)?;
        if let Some(at) = text.len().checked_sub(SURROGATE_ESCAPE_BYTES)
            && let Some(0xD800..=0xDBFF) = surrogate_escape(text, at)
            // After an odd number of backslashes, this one is escaped.
            && text.get(..at)?.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0
        {
            return Some(FirstHalf::Surrogate);
        }
        // A UTF-8 character has at most four bytes, so at most three of them are here.
        (1..=3).find_map(|length| {
            let missing = utf8_length(*text.get(text.len().checked_sub(length)?)?)?.checked_sub(length)?;
            (missing > 0).then_some(FirstHalf::Utf8 { missing })
        })
    }

    /// The length of the second half of this text's last character at the start of `next`.
    pub(super) fn rest_in(&self, json: &[u8], next: &Self, next_json: &[u8]) -> Option<usize> {
        let text = next_json.get(next.start..next.end)?;
        match self.last_half(json)? {
            FirstHalf::Surrogate => {
                matches!(surrogate_escape(text, 0), Some(0xDC00..=0xDFFF)).then_some(SURROGATE_ESCAPE_BYTES)
            }
            FirstHalf::Utf8 { missing } => {
                let rest = text.get(..missing)?;
                rest.iter().all(|byte| byte & 0xC0 == 0x80).then_some(missing)
            }
        }
    }
}

enum FirstHalf {
    /// The escape of a leading surrogate.
    Surrogate,
    /// The first bytes of a UTF-8 character.
    Utf8 {
        /// Number of bytes that follow.
        missing: usize,
    },
}

/// The length of a UTF-8 character of several bytes, from its first byte.
fn utf8_length(first: u8) -> Option<usize> {
    match first {
        0xC2..=0xDF => Some(2),
        0xE0..=0xEF => Some(3),
        0xF0..=0xF4 => Some(4),
        _ => None,
    }
}

/// All text values of a JSON text. Text that is not JSON may have any or none.
pub(super) fn text_values(json: &[u8]) -> Vec<TextValue> {
    let mut found = Vec::new();
    if nests_deeper_than(&String::from_utf8_lossy(json), MAX_LEVELS) {
        return found;
    }
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                let path = path_of(open.last());
                open.push(OpenContainer { path, is_object: *byte == b'{', current: 0 });
            }
            b'}' | b']' => {
                open.pop();
            }
            b',' => {
                if let Some(array) = open.last_mut().filter(|container| !container.is_object) {
                    array.current += 1;
                }
            }
            b'"' => {
                let Some(end) = text_end(json, at) else { break };
                let text = json.get(at..end).unwrap_or_default();
                let is_name =
                    json.get(end + 1..).unwrap_or_default().trim_ascii_start().first() == Some(&b':');
                match open.last_mut().filter(|container| container.is_object && is_name) {
                    Some(object) => object.current = hash(&text),
                    None => found.push(TextValue { path: path_of(open.last()), start: at, end }),
                }
                at = end + 1;
            }
            _ => {}
        }
    }
    found
}

fn path_of(container: Option<&OpenContainer>) -> u64 {
    container.map_or(0, |container| hash(&(container.path, container.current)))
}

fn hash(part: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

/// Position of the quote that ends the text from `at` on.
fn text_end(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match json.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
