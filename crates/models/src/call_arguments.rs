//! The arguments of tool calls on their way back to a provider. They are always one JSON object that the API can
//! read: what a model wrote may be cut or malformed.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;
use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

use crate::message::ToolCall;
use crate::tools::ConvertedTools;

/// How much is shown to the model of arguments that can't be sent, in bytes.
const MAX_SHOWN_BYTES: usize = 2_000;
/// How deep arguments and results nest where they are sent as JSON. Some APIs count each level several times.
const MAX_LEVELS: usize = 32;
/// The field in which they are shown.
const UNREADABLE_FIELD: &str = "unreadable_arguments";

/// The arguments of a call as an object, under the names that they have in this form. What is no object is shown in
/// one: APIs take nothing else, and what was wrong stands in the result.
pub(crate) fn arguments_json(call: &ToolCall, tools: &ConvertedTools) -> RawJson {
    let text = call.arguments.trim();
    if text.is_empty() && !call.is_cut {
        return RawJson::empty_object();
    }
    if !call.is_cut && is_object(text) && is_readable(text) {
        let sent = tools.renamed_arguments(&call.name, text);
        return RawJson::parse(sent.as_deref().unwrap_or(text)).unwrap_or_else(|_| RawJson::empty_object());
    }
    wrap_unreadable(text)
}

/// Whether every API can read a JSON text: some refuse a number that no double holds, half of a character in `\u`
/// escapes, or deep nesting, and with it the conversation for good.
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

/// An object that shows what could not be read as one.
pub(crate) fn wrap_unreadable(text: &str) -> RawJson {
    let shown = text.get(..text.floor_char_boundary(MAX_SHOWN_BYTES)).unwrap_or_default();
    RawJson::from(&json!({ UNREADABLE_FIELD: shown }))
}

/// Arguments as a server can read them. What the model wrote may be cut or malformed; some servers refuse a history
/// in which it is, so it is shown inside of an object, and what was wrong stands in the result.
pub(crate) fn arguments_text(call: &ToolCall) -> Cow<'_, str> {
    let text = call.arguments.as_str();
    match (text.trim().is_empty(), call.is_cut) {
        (true, false) => Cow::Borrowed("{}"),
        (false, false) if is_object(text) => Cow::Borrowed(text),
        _ => Cow::Owned(wrap_unreadable(text).get().to_owned()),
    }
}

/// Whether a text is one whole JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests;
