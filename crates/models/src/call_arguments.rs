//! Prepares the arguments of earlier tool calls for the next request. A model's arguments may be cut or malformed, but
//! the APIs accept only valid JSON objects.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;
use toolway_types::json::nests_deeper_than;
use toolway_types::{RawJson, foreign_json};

use crate::message::ToolCall;
use crate::tools::ConvertedTools;

/// Maximum length of unreadable arguments that are shown to the model, in bytes.
const MAX_SHOWN_BYTES: usize = 2_000;
/// Maximum nesting depth of arguments and results that are sent as JSON. Some APIs count each level several times.
const MAX_LEVELS: usize = 32;
/// Field that shows unreadable arguments.
const UNREADABLE_FIELD: &str = "unreadable_arguments";

/// Returns the arguments of a call as an object, with the property names of the converted tool. Anything else is
/// wrapped in an object: the APIs accept only objects, and the tool's result already describes the error.
pub(crate) fn arguments_json(call: &ToolCall, tools: &ConvertedTools) -> RawJson {
    let text = foreign_json::replace_lone_surrogates(call.arguments.trim());
    if text.is_empty() && !call.is_cut {
        return RawJson::empty_object();
    }
    if !call.is_cut && is_object(&text) && is_readable(&text) {
        let sent = tools.renamed_arguments(&call.name, &text);
        return RawJson::parse(sent.as_deref().unwrap_or(&text)).unwrap_or_else(|_| RawJson::empty_object());
    }
    wrap_unreadable(&text)
}

/// Returns whether every API can read a JSON text. Some reject numbers beyond the range of a double, half of a
/// surrogate pair in `\u` escapes, or deep nesting. The text stays in the conversation, so they would reject all later
/// requests too.
pub(crate) fn is_readable(json: &str) -> bool {
    let has_escaped_half = || json.contains(r"\ud") || json.contains(r"\uD");
    let has_exponent = || {
        let pairs = json.as_bytes().windows(2);
        pairs.into_iter().any(|pair| matches!(pair, [digit, b'e' | b'E'] if digit.is_ascii_digit()))
    };
    !nests_deeper_than(json, MAX_LEVELS)
        && (!(has_escaped_half() || has_exponent())
            || serde_json::from_str::<serde_json::Value>(json).is_ok())
}

/// Wraps unreadable arguments in an object.
pub(crate) fn wrap_unreadable(text: &str) -> RawJson {
    let shown = text.get(..text.floor_char_boundary(MAX_SHOWN_BYTES)).unwrap_or_default();
    RawJson::from(&json!({ UNREADABLE_FIELD: shown }))
}

/// Returns the arguments of a call as JSON text that any server can read. The model's text may be cut or malformed.
/// Some servers refuse a history with such a text, so it is wrapped in an object.
pub(crate) fn arguments_text(call: &ToolCall) -> Cow<'_, str> {
    let text = call.arguments.as_str();
    match (text.trim().is_empty(), call.is_cut) {
        (true, false) => Cow::Borrowed("{}"),
        (false, false) if is_object(text) => foreign_json::replace_lone_surrogates(text),
        _ => Cow::Owned(wrap_unreadable(text).get().to_owned()),
    }
}

/// Returns whether a text is one complete JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests;
