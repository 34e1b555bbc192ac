//! Parses bundles as printed by `content call`: `Bundle[{key=value, key=value}]`, without escaping and
//! without types.
//!
//! Two facts help: the keys are known (they follow from the method), and Android prints each once, in the
//! order of their hashes (`ArrayMap`). So a value ends where a key follows that is still possible; if there
//! are several such places, the last one counts. A JSON value ends where its JSON ends. Text within a value
//! therefore can't replace a key that is present: `status`, `data` and `error_code` of a CETP provider are
//! always its own. Some cases are ambiguous: a message that contains `, resolution_hint=…` or `,
//! authorize_intent=…` in a bundle without that key looks as if it had the key (so such an intent is started
//! only within the provider's own app, and only if a person agrees); the text `null` looks like no value;
//! `true` under the key `success` is parsed as a boolean. An array of strings is printed only as its class.

use crate::bundle::{Bundle, BundleValue};

/// Kind of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrintedValueKind {
    /// A single word.
    Word,
    /// `true` or `false`.
    Flag,
    /// JSON text.
    Json,
    /// Any text.
    Text,
    /// An array of strings.
    Strings,
}

/// The keys of an answer, in the order in which Android prints them: that of `String.hashCode`.
type ReplyKeys = &'static [(&'static str, PrintedValueKind)];

/// Keys of CETP, section 2.3.
const CETP: ReplyKeys = &[
    ("error_message", PrintedValueKind::Text),
    ("resolution_hint", PrintedValueKind::Text),
    ("authorize_intent", PrintedValueKind::Word),
    ("status", PrintedValueKind::Word),
    ("data", PrintedValueKind::Json),
    ("error_code", PrintedValueKind::Word),
];
/// Keys of the MCP dialects' `get_tool_info`. Their tools can't be run over adb.
const MCP: ReplyKeys = &[
    ("error_message", PrintedValueKind::Text),
    ("success", PrintedValueKind::Flag),
    ("tool_name", PrintedValueKind::Text),
    ("tool", PrintedValueKind::Json),
    ("tool_input_required", PrintedValueKind::Strings),
    ("tool_description", PrintedValueKind::Text),
    ("tool_input_schema", PrintedValueKind::Json),
];
/// Printed form of an array of strings in Java; a number follows.
const STRINGS: &str = "[Ljava.lang.String;@";
/// Maximum number of places at which a JSON value is assumed to start, from the last one backwards.
const MAX_TRIES: usize = 16;

/// Parses a text as the bundle of a method's answer; `None` if it is not a bundle or is truncated.
pub(super) fn parse_bundle(text: &str, method: &str) -> Option<Bundle> {
    let keys = if method == crate::mcp::GET_TOOL_INFO { MCP } else { CETP };
    let mut rest = text.strip_prefix("Bundle[{")?.strip_suffix("}]")?;
    let mut left = keys;
    let mut bundle = Bundle::new();
    while !rest.is_empty() {
        let (key, value) = rest.split_once('=')?;
        let (value, after) = match left.iter().position(|(known, _)| *known == key) {
            Some(at) => {
                let kind = left.get(at).map_or(PrintedValueKind::Text, |(_, kind)| *kind);
                left = left.get(at + 1..).unwrap_or_default();
                let (value, after) = match kind {
                    PrintedValueKind::Word | PrintedValueKind::Flag | PrintedValueKind::Strings => {
                        split_at_entry(value)
                    }
                    PrintedValueKind::Json => split_json_value(value)
                        .filter(|(_, after)| !is_one_of(keys, after) || is_one_of(left, after))
                        .unwrap_or_else(|| split_free_text(value, left)),
                    PrintedValueKind::Text => split_free_text(value, left),
                };
                bundle.insert(key, parse_typed_value(value, kind));
                (value, after)
            }
            // Unknown keys are skipped.
            None => {
                let (first, after) = split_at_entry(value);
                let (value, after) =
                    if after.is_empty() { split_free_text(value, left) } else { (first, after) };
                if !keys.iter().any(|(known, _)| *known == key) {
                    bundle.insert(key, parse_plain_value(value));
                }
                (value, after)
            }
        };
        debug_assert!(value.len() + after.len() < rest.len());
        rest = after;
    }
    Some(bundle)
}

/// Returns true if a text starts with an entry of one of these keys.
fn is_one_of(keys: ReplyKeys, text: &str) -> bool {
    text.split_once('=').is_some_and(|(key, _)| keys.iter().any(|(known, _)| *known == key))
}

/// Returns true if an entry of any dialect's key starts anywhere in a text.
fn has_known_entry(text: &str) -> bool {
    let begins = |(key, _): &(&str, PrintedValueKind)| {
        text.strip_prefix(key).is_some_and(|rest| rest.starts_with('='))
            || text.contains(&format!(", {key}="))
    };
    CETP.iter().chain(MCP).any(begins)
}

/// Splits at the first `, ` that is followed by something like an entry.
fn split_at_entry(text: &str) -> (&str, &str) {
    let found = text.match_indices(", ").find(|(at, _)| looks_like_entry(text_after_separator(text, *at)));
    match found {
        Some((at, _)) => (text.get(..at).unwrap_or_default(), text_after_separator(text, at)),
        None => (text, ""),
    }
}

/// Returns the text after the `, ` at `at`.
fn text_after_separator(text: &str, at: usize) -> &str {
    text.get(at + 2..).unwrap_or_default()
}

fn looks_like_entry(text: &str) -> bool {
    let key = text.split('=').next().unwrap_or_default();
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    key.len() < text.len() && !key.is_empty() && key.chars().all(is_key)
}

/// Splits after a JSON value that extends to the end or to the next entry.
fn split_json_value(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    let (value, rest) = text.split_at_checked(values.byte_offset())?;
    if rest.is_empty() {
        return Some((value, ""));
    }
    let rest = rest.strip_prefix(", ").filter(|rest| looks_like_entry(rest))?;
    Some((value, rest))
}

/// Splits off a value that may contain anything. Searches for keys from the end, starting with the one that
/// is printed last; each must have a value of its kind that extends to the next key.
fn split_free_text(text: &'_ str, left: ReplyKeys) -> (&'_ str, &'_ str) {
    let mut end = text.len();
    for (key, kind) in left.iter().rev() {
        let head = text.get(..end).unwrap_or_default();
        let mark = format!(", {key}=");
        let fits = |at: &usize| {
            let value = head.get(at + mark.len()..).unwrap_or_default();
            let (value, after) = match kind {
                PrintedValueKind::Word | PrintedValueKind::Flag | PrintedValueKind::Strings => {
                    split_at_entry(value)
                }
                PrintedValueKind::Json => split_json_value(value).unwrap_or((value, "")),
                PrintedValueKind::Text => return true,
            };
            let is_good = match kind {
                PrintedValueKind::Json => value == "null" || split_json_value(value).is_some(),
                PrintedValueKind::Flag => matches!(value, "true" | "false"),
                PrintedValueKind::Strings => value == "null" || value.starts_with(STRINGS),
                PrintedValueKind::Word | PrintedValueKind::Text => !value.contains([' ', '\n', '\t']),
            };
            // Between two known keys there may be an unknown key, but nothing that could be a known one.
            is_good && !has_known_entry(after)
        };
        let tries = if *kind == PrintedValueKind::Json { MAX_TRIES } else { 1 };
        if let Some(at) = head.rmatch_indices(&mark).map(|(at, _)| at).take(tries).find(fits) {
            end = at;
        }
    }
    if end == text.len() {
        (text, "")
    } else {
        (text.get(..end).unwrap_or_default(), text_after_separator(text, end))
    }
}

fn parse_plain_value(value: &str) -> BundleValue {
    if value == "null" { BundleValue::Null } else { value.into() }
}

fn parse_typed_value(value: &str, kind: PrintedValueKind) -> BundleValue {
    match (kind, value) {
        (PrintedValueKind::Flag, "true") => true.into(),
        (PrintedValueKind::Flag, "false") => false.into(),
        (PrintedValueKind::Strings, value) if value.starts_with(STRINGS) => {
            BundleValue::Other("java.lang.String[]".to_owned())
        }
        _ => parse_plain_value(value),
    }
}

#[cfg(test)]
mod tests;
