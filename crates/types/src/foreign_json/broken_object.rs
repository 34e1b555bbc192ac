//! Members of an object whose text is no JSON, for example because it is cut or has `NaN` in it. Whoever waits for the
//! message with an id can then be told at once.

use std::borrow::Cow;

use super::repair;

/// A member of the outermost object, as far as it is readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenMember<'a> {
    /// Its name, without the quotes.
    pub name: &'a [u8],
    /// The text after its colon, to the end of the object's text.
    rest: &'a [u8],
}

impl<'a> BrokenMember<'a> {
    /// The value, if it is a string.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        let end = string_end(self.rest)?;
        let quoted = repair(self.rest.get(..end)?);
        serde_json::from_str(&quoted).ok()
    }

    /// The value, if it is a number, true, false or null, as it is written.
    #[must_use]
    pub fn as_word(&self) -> Option<Cow<'a, str>> {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']');
        let end = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        let word = self.rest.get(..end).filter(|word| !word.is_empty())?;
        let is_word = word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
        is_word.then(|| String::from_utf8_lossy(word))
    }
}

/// Finds the members of an object in text that need not be JSON. Text before the first `{` is skipped. Reads the text
/// once, without recursion.
pub fn broken_members(text: &[u8]) -> impl Iterator<Item = BrokenMember<'_>> {
    let mut at = text.iter().position(|byte| *byte == b'{').unwrap_or(text.len());
    let mut depth = 0_usize;
    std::iter::from_fn(move || {
        while let Some(byte) = text.get(at) {
            let here = at;
            at += 1;
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        at = text.len();
                    }
                }
                b'"' => {
                    let end = string_end(text.get(here..)?)?;
                    at = here + end;
                    let after = text.get(at..)?.trim_ascii_start();
                    let (true, Some(rest)) = (depth == 1, after.strip_prefix(b":")) else { continue };
                    let name = text.get(here + 1..at - 1)?;
                    return Some(BrokenMember { name, rest: rest.trim_ascii_start() });
                }
                _ => {}
            }
        }
        None
    })
}

/// Length of the string at the start of the text, with its quotes.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut bytes = text.strip_prefix(b"\"")?.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return Some(at + 2),
            _ => {}
        }
    }
    None
}
