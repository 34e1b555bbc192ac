//! Hash of the request that used an idempotency key. White space and key order do not matter.

use serde_json::Value;
use sha2::{Digest, Sha256};
use toolway_types::ToolId;

use crate::arguments::Arguments;

/// Maximum length of a number that is parsed without loss, in characters.
const EXACT_NUMBER_LEN: usize = 15;

pub(super) fn hash_request(tool: &ToolId, arguments: &Arguments) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hash_text(&mut hasher, &tool.to_string());
    hash_value(&mut hasher, arguments.value());
    for number in long_numbers(arguments.raw().get()) {
        hash_text(&mut hasher, number);
    }
    hasher.finalize().into()
}

fn hash_value(hasher: &mut Sha256, it: &Value) {
    match it {
        Value::Null => hasher.update(b"0"),
        Value::Bool(false) => hasher.update(b"f"),
        Value::Bool(true) => hasher.update(b"t"),
        Value::Number(number) => {
            hasher.update(b"n");
            hash_text(hasher, &number.to_string());
        }
        Value::String(string) => {
            hasher.update(b"s");
            hash_text(hasher, string);
        }
        Value::Array(items) => {
            hasher.update(b"a");
            hash_length(hasher, items.len());
            items.iter().for_each(|item| hash_value(hasher, item));
        }
        Value::Object(fields) => {
            hasher.update(b"o");
            hash_length(hasher, fields.len());
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            for (name, inner) in fields {
                hash_text(hasher, name);
                hash_value(hasher, inner);
            }
        }
    }
}

/// Numbers in a JSON text that parsing may have rounded, sorted. Calls that differ only in such a number are
/// different.
fn long_numbers(json: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for outside in text_outside_strings(json) {
        let numbers = outside.split(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        found.extend(numbers.filter(|number| number.len() > EXACT_NUMBER_LEN));
    }
    found.sort_unstable();
    found
}

/// The parts of a JSON text outside strings.
fn text_outside_strings(json: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => {
                if !in_string {
                    pieces.extend(json.get(start..at));
                }
                in_string = !in_string;
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.extend(json.get(start..));
    pieces
}

fn hash_text(hasher: &mut Sha256, it: &str) {
    hash_length(hasher, it.len());
    hasher.update(it.as_bytes());
}

fn hash_length(hasher: &mut Sha256, it: usize) {
    hasher.update((it as u64).to_be_bytes());
}

#[cfg(test)]
mod tests;
