//! Text with holes in it: `{name}` for the value of a parameter, `{secret:NAME}` for a secret where there may be
//! one, `{{` and `}}` for braces.

use std::collections::HashMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use toolway_types::JsonObject;

/// What a hole for a secret starts with.
const SECRET: &str = "secret:";

/// The secrets that a request needs, by name.
pub(super) type Known = HashMap<Arc<str>, SecretString>;

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Hole(String),
    Secret(Arc<str>),
}

/// Text with holes in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template(Vec<Piece>);

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// What is wrong with it, without the text around it: a header's may be a secret.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '{' | '}' if rest.peek() == Some(&c) => {
                    rest.next();
                    plain.push(c);
                }
                '{' => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(hole(&mut rest)?);
                }
                '}' => return Err("a closing brace too many; braces themselves are {{ and }}".to_owned()),
                c => plain.push(c),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// The parameters that it names.
    pub(super) fn holes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Hole(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The secrets that it names.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Secret(name) => Some(name),
            _ => None,
        })
    }

    /// The parameter whose value it is as a whole, where it is nothing else.
    pub(super) fn whole(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Hole(name)] => Some(name),
            _ => None,
        }
    }

    /// The text with the values in their places, each as `encode` writes it; none where a value or a secret is
    /// missing.
    pub(super) fn fill(
        &self,
        arguments: &JsonObject,
        secrets: &Known,
        encode: impl Fn(&str) -> String,
    ) -> Option<String> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Hole(name) => filled.push_str(&encode(&value(arguments, name)?)),
                Piece::Secret(name) => filled.push_str(secrets.get(name)?.expose_secret()),
            }
        }
        Some(filled)
    }
}

/// What stands between two braces, the first of which was read.
fn hole(rest: &mut impl Iterator<Item = char>) -> Result<Piece, String> {
    let mut name = String::new();
    loop {
        match rest.next() {
            Some('}') => break,
            Some('{') | None => {
                return Err("a brace that is not closed; braces themselves are {{ and }}".to_owned());
            }
            Some(c) => name.push(c),
        }
    }
    let secret = name.strip_prefix(SECRET);
    if secret.unwrap_or(&name).is_empty() {
        return Err("braces without a name in them; braces themselves are {{ and }}".to_owned());
    }
    Ok(secret.map(|secret| Piece::Secret(secret.into())).unwrap_or(Piece::Hole(name)))
}

/// A parameter's value as text: text as it is, anything else as JSON; none where it was not given, or is null.
fn value(arguments: &JsonObject, name: &str) -> Option<String> {
    match arguments.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Everything but the characters that mean nothing anywhere in a URL (RFC 3986, 2.3), as `%XX`.
pub(super) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
