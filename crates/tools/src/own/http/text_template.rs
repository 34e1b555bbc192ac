//! Text template: `{name}` is the value of a parameter, `{secret:NAME}` a secret where secrets are allowed,
//! and `{{` and `}}` are literal braces.

use std::collections::HashMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use toolway_types::JsonObject;

/// Prefix of a placeholder for a secret.
const SECRET: &str = "secret:";

/// Secrets of a request, by name.
pub(super) type SecretMap = HashMap<Arc<str>, SecretString>;

#[derive(Debug, Clone, PartialEq)]
enum TemplatePiece {
    Text(String),
    Placeholder(String),
    Secret(Arc<str>),
}

/// Text with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextTemplate(Vec<TemplatePiece>);

impl TextTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// A description of the problem, without the surrounding text, because a header may contain a secret.
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
                        pieces.push(TemplatePiece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(parse_placeholder(&mut rest)?);
                }
                '}' => {
                    return Err("an unmatched closing brace; write {{ and }} for literal braces".to_owned());
                }
                c => plain.push(c),
            }
        }
        if !plain.is_empty() {
            pieces.push(TemplatePiece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// Parameters used by the template.
    pub(super) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            TemplatePiece::Placeholder(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Secrets used by the template.
    pub(super) fn secret_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().filter_map(|piece| match piece {
            TemplatePiece::Secret(name) => Some(name),
            _ => None,
        })
    }

    /// The parameter, if the template consists of exactly one placeholder.
    pub(super) fn sole_placeholder(&self) -> Option<&str> {
        match self.0.as_slice() {
            [TemplatePiece::Placeholder(name)] => Some(name),
            _ => None,
        }
    }

    /// Inserts the values, each encoded by `encode`. None if a value or a secret is missing.
    pub(super) fn fill(
        &self,
        arguments: &JsonObject,
        secrets: &SecretMap,
        encode: impl Fn(&str) -> String,
    ) -> Option<String> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePiece::Text(text) => filled.push_str(text),
                TemplatePiece::Placeholder(name) => filled.push_str(&encode(&value(arguments, name)?)),
                TemplatePiece::Secret(name) => filled.push_str(secrets.get(name)?.expose_secret()),
            }
        }
        Some(filled)
    }
}

/// Parses a placeholder after its opening brace.
fn parse_placeholder(rest: &mut impl Iterator<Item = char>) -> Result<TemplatePiece, String> {
    let mut name = String::new();
    loop {
        match rest.next() {
            Some('}') => break,
            Some('{') | None => {
                return Err("an unclosed brace; write {{ and }} for literal braces".to_owned());
            }
            Some(c) => name.push(c),
        }
    }
    let secret = name.strip_prefix(SECRET);
    if secret.unwrap_or(&name).is_empty() {
        return Err("braces without a name; write {{ and }} for literal braces".to_owned());
    }
    Ok(secret.map(|secret| TemplatePiece::Secret(secret.into())).unwrap_or(TemplatePiece::Placeholder(name)))
}

/// A parameter's value as text: a string unchanged, any other value as JSON. None if it is missing or null.
fn value(arguments: &JsonObject, name: &str) -> Option<String> {
    match arguments.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Percent-encodes everything except unreserved characters (RFC 3986, section 2.3).
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
