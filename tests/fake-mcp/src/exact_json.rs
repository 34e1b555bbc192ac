//! JSON that is sent byte for byte. The MCP library parses and reformats JSON, so a placeholder object is
//! sent instead of the text and replaced in the serialized message.

use std::sync::LazyLock;

use rmcp::model::JsonObject;
use serde_json::json;

use crate::raw_tools;

/// The structured result of `test_exact`, byte for byte.
pub const EXACT_RESULT: &str =
    r#"{"z":1.50,"a":[1e2,-0.0,18446744073709551616,"\u00e9\/",{"b":null,"a":true}]}"#;

/// Start of a placeholder, followed by its number and one of [`PLACEHOLDER_SUFFIXES`].
const PLACEHOLDER_PREFIX: &str = r#"{"$exactly":"#;
/// End of a placeholder. A schema needs the type object, because `rmcp` omits others for older clients.
const PLACEHOLDER_SUFFIXES: [&str; 2] = ["}", r#","type":"object"}"#];
/// Number of [`EXACT_RESULT`]; the tools' schemas have the following numbers.
const RESULT: usize = 0;

static TEXTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut texts = vec![EXACT_RESULT];
    for tool in raw_tools::RAW.iter() {
        texts.push(tool.input_schema.get());
        texts.extend(tool.output_schema.as_deref().map(serde_json::value::RawValue::get));
    }
    texts
});

/// Returns the placeholder for [`EXACT_RESULT`].
pub(crate) fn result() -> JsonObject {
    placeholder(RESULT)
}

/// Returns the placeholder for a schema.
pub(crate) fn schema(text: &'static str) -> JsonObject {
    let number = TEXTS.iter().position(|known| std::ptr::eq(*known, text)).unwrap_or(RESULT);
    let mut schema = placeholder(number);
    schema.insert("type".to_owned(), "object".into());
    schema
}

fn placeholder(number: usize) -> JsonObject {
    json!({"$exactly": number}).as_object().cloned().unwrap_or_default()
}

/// Replaces all placeholders in a message.
pub(crate) fn splice(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = find(rest, PLACEHOLDER_PREFIX.as_bytes()) {
        let (before, from) = rest.split_at(at);
        out.extend_from_slice(before);
        let after = from.get(PLACEHOLDER_PREFIX.len()..).unwrap_or_default();
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, after) = after.split_at(digits);
        let text = str::from_utf8(number).ok().and_then(|number| TEXTS.get(number.parse::<usize>().ok()?));
        let after = PLACEHOLDER_SUFFIXES.iter().find_map(|close| after.strip_prefix(close.as_bytes()));
        match (text, after) {
            (Some(text), Some(after)) => {
                out.extend_from_slice(text.as_bytes());
                rest = after;
            }
            _ => {
                out.extend_from_slice(PLACEHOLDER_PREFIX.as_bytes());
                rest = from.get(PLACEHOLDER_PREFIX.len()..).unwrap_or_default();
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests;
