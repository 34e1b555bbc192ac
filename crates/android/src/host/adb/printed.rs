//! Bundles as `content call` prints them: `Bundle[{key=value, key=value}]`, where nothing is escaped and no value has
//! a type.
//!
//! What helps is that the keys are known (which ones follows from the method that was called) and that Android prints
//! them in the order of their hashes (`ArrayMap`), each once. So a value ends where a key follows that may still
//! come, and of several such places the last one counts. A JSON value ends where its JSON does. Text within a value
//! therefore can't take the place of a key that is really there: `status`, `data` and `error_code` of a provider
//! that speaks CETP are always its own. What can't be told apart: a message that contains `, resolution_hint=…` or
//! `, authorize_intent=…` in a bundle without that key looks as if it had it (so it is good that such an intent is
//! only ever started within the provider's own app, and only if a person agrees); the text `null` looks like no
//! value; `true` under the key `success` is taken for the boolean. An array of strings is printed as its class only.

use crate::bundle::{Bundle, Value};

/// What kind of value a key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A single word.
    Word,
    /// `true` or `false`.
    Flag,
    /// JSON text.
    Json,
    /// Any text.
    Free,
    /// An array of strings.
    Strings,
}

/// The keys of an answer, in the order in which Android prints them: that of `String.hashCode`.
type Keys = &'static [(&'static str, Kind)];

/// Of CETP, section 2.3.
const CETP: Keys = &[
    ("error_message", Kind::Free),
    ("resolution_hint", Kind::Free),
    ("authorize_intent", Kind::Word),
    ("status", Kind::Word),
    ("data", Kind::Json),
    ("error_code", Kind::Word),
];
/// Of the MCP dialects' `get_tool_info`; their tools can't be run in this way.
const MCP: Keys = &[
    ("error_message", Kind::Free),
    ("success", Kind::Flag),
    ("tool_name", Kind::Free),
    ("tool", Kind::Json),
    ("tool_input_required", Kind::Strings),
    ("tool_description", Kind::Free),
    ("tool_input_schema", Kind::Json),
];
/// How Java prints an array of strings; a number follows.
const STRINGS: &str = "[Ljava.lang.String;@";
/// Places at which a JSON value is tried to begin, from the last one on.
const MOST_TRIES: usize = 16;

/// The bundle that a text is, as a method's answer; nothing where it is none, or was cut.
pub(super) fn bundle(text: &str, method: &str) -> Option<Bundle> {
    let keys = if method == crate::mcp::GET_TOOL_INFO { MCP } else { CETP };
    let mut rest = text.strip_prefix("Bundle[{")?.strip_suffix("}]")?;
    let mut left = keys;
    let mut bundle = Bundle::new();
    while !rest.is_empty() {
        let (key, value) = rest.split_once('=')?;
        let (value, after) = match left.iter().position(|(known, _)| *known == key) {
            Some(at) => {
                let kind = left.get(at).map_or(Kind::Free, |(_, kind)| *kind);
                left = left.get(at + 1..).unwrap_or_default();
                let (value, after) = match kind {
                    Kind::Word | Kind::Flag | Kind::Strings => at_entry(value),
                    Kind::Json => json_end(value)
                        .filter(|(_, after)| !is_one_of(keys, after) || is_one_of(left, after))
                        .unwrap_or_else(|| free(value, left)),
                    Kind::Free => free(value, left),
                };
                bundle.insert(key, typed(value, kind));
                (value, after)
            }
            // Nobody's key here.
            None => {
                let (first, after) = at_entry(value);
                let (value, after) = if after.is_empty() { free(value, left) } else { (first, after) };
                if !keys.iter().any(|(known, _)| *known == key) {
                    bundle.insert(key, plain(value));
                }
                (value, after)
            }
        };
        debug_assert!(value.len() + after.len() < rest.len());
        rest = after;
    }
    Some(bundle)
}

/// Whether a text begins with an entry of one of these keys.
fn is_one_of(keys: Keys, text: &str) -> bool {
    text.split_once('=').is_some_and(|(key, _)| keys.iter().any(|(known, _)| *known == key))
}

/// Whether an entry of any dialect's key begins anywhere in a text.
fn has_known(text: &str) -> bool {
    let begins = |(key, _): &(&str, Kind)| {
        text.strip_prefix(key).is_some_and(|rest| rest.starts_with('='))
            || text.contains(&format!(", {key}="))
    };
    CETP.iter().chain(MCP).any(begins)
}

/// Splits at the first `, ` behind which something looks like an entry.
fn at_entry(text: &str) -> (&str, &str) {
    let found = text.match_indices(", ").find(|(at, _)| looks_like_entry(after(text, *at)));
    match found {
        Some((at, _)) => (text.get(..at).unwrap_or_default(), after(text, at)),
        None => (text, ""),
    }
}

/// What stands behind the `, ` at `at`.
fn after(text: &str, at: usize) -> &str {
    text.get(at + 2..).unwrap_or_default()
}

fn looks_like_entry(text: &str) -> bool {
    let key = text.split('=').next().unwrap_or_default();
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    key.len() < text.len() && !key.is_empty() && key.chars().all(is_key)
}

/// Splits behind a JSON value that fills everything up to the end or to the next entry.
fn json_end(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    let (value, rest) = text.split_at_checked(values.byte_offset())?;
    if rest.is_empty() {
        return Some((value, ""));
    }
    let rest = rest.strip_prefix(", ").filter(|rest| looks_like_entry(rest))?;
    Some((value, rest))
}

/// Splits off a value that may contain anything: keys are looked for from the end, the one that is printed last
/// first, and each must have a value of its kind that reaches up to the one behind it.
fn free(text: &'_ str, left: Keys) -> (&'_ str, &'_ str) {
    let mut end = text.len();
    for (key, kind) in left.iter().rev() {
        let head = text.get(..end).unwrap_or_default();
        let mark = format!(", {key}=");
        let fits = |at: &usize| {
            let value = head.get(at + mark.len()..).unwrap_or_default();
            let (value, after) = match kind {
                Kind::Word | Kind::Flag | Kind::Strings => at_entry(value),
                Kind::Json => json_end(value).unwrap_or((value, "")),
                Kind::Free => return true,
            };
            let is_good = match kind {
                Kind::Json => value == "null" || json_end(value).is_some(),
                Kind::Flag => matches!(value, "true" | "false"),
                Kind::Strings => value == "null" || value.starts_with(STRINGS),
                Kind::Word | Kind::Free => !value.contains([' ', '\n', '\t']),
            };
            // Between two known keys there may be one that nobody knows, and nothing that could be a known one.
            is_good && !has_known(after)
        };
        let tries = if *kind == Kind::Json { MOST_TRIES } else { 1 };
        if let Some(at) = head.rmatch_indices(&mark).map(|(at, _)| at).take(tries).find(fits) {
            end = at;
        }
    }
    if end == text.len() { (text, "") } else { (text.get(..end).unwrap_or_default(), after(text, end)) }
}

fn plain(value: &str) -> Value {
    if value == "null" { Value::Null } else { value.into() }
}

fn typed(value: &str, kind: Kind) -> Value {
    match (kind, value) {
        (Kind::Flag, "true") => true.into(),
        (Kind::Flag, "false") => false.into(),
        (Kind::Strings, value) if value.starts_with(STRINGS) => Value::Other("java.lang.String[]".to_owned()),
        _ => plain(value),
    }
}

#[cfg(test)]
mod tests;
