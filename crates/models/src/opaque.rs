//! What Anthropic's and Gemini's adapters keep with the parts of an answer, and what goes back of it: ids of calls to
//! the provider that gave them, signatures to the very model whose thinking they sign.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

use crate::config::ProviderConfig;
use crate::message::{OpaqueState, ToolCall};
use crate::openai::is_object;
use crate::tools::ConvertedTools;

/// How much is shown to the model of arguments that can't be sent, in bytes.
const MAX_SHOWN_BYTES: usize = 2_000;
/// How deep arguments and results nest where they are sent as JSON. Some APIs count each level several times.
const MAX_LEVELS: usize = 32;
/// The field in which they are shown.
const UNREADABLE_FIELD: &str = "unreadable_arguments";

/// What is kept with a part.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OpaquePayload {
    /// The model that was asked.
    pub(crate) model: Arc<str>,
    /// The provider's id of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// What the part is signed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<String>,
    /// Thinking that nobody may read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redacted: Option<String>,
}

impl OpaquePayload {
    /// For a part of an answer.
    pub(crate) fn to_opaque(&self, config: &ProviderConfig) -> OpaqueState {
        let data = RawJson::from_value(self).unwrap_or_else(|_| RawJson::empty_object());
        OpaqueState { provider: Arc::clone(&config.name), data }
    }

    /// What is kept with a part, where this provider gave it.
    pub(crate) fn from_opaque(opaque: Option<&OpaqueState>, config: &ProviderConfig) -> Option<Self> {
        opaque?.for_provider(&config.name)?.to().ok()
    }

    /// The same, where this model did.
    pub(crate) fn from_opaque_of_model(
        opaque: Option<&OpaqueState>,
        config: &ProviderConfig,
        model: &str,
    ) -> Option<Self> {
        Self::from_opaque(opaque, config).filter(|kept| &*kept.model == model)
    }
}

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

#[cfg(test)]
mod tests;
