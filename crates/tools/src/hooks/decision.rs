//! The decision of a hook: one JSON object, or nothing, which lets the call continue.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolway_core::{AfterCallDecision, BeforeCallDecision, HookError, RawArguments};
use toolway_types::name::is_invisible;
use toolway_types::{ContentPart, RawJson, ToolOutput};

/// Decision before a call. An empty response means continue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum BeforeDecision {
    /// The call continues unchanged.
    Continue {},
    /// The call continues with other arguments, if they match the tool's schema.
    Modify {
        /// The complete new arguments.
        #[allow(dead_code, reason = "read from the text itself, which keeps its numbers as they are")]
        arguments: Map<String, Value>,
    },
    /// The call is cancelled.
    Cancel {
        /// Reason for the caller.
        reason: String,
    },
}

/// Decision after a call. An empty response means continue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum AfterDecision {
    /// The outcome does not change.
    Continue {},
    /// The outcome becomes a success with this result.
    Replace {
        /// Text, or a structured value.
        #[allow(dead_code, reason = "read from the text itself, which keeps its numbers as they are")]
        result: Value,
        /// Content parts other than text.
        #[serde(default)]
        content: Vec<ContentPart>,
    },
}

/// Length of the excerpt of an invalid response in an error message, in bytes.
const EXCERPT_BYTES: usize = 200;

/// Parses a response to a request before a call.
pub(super) fn parse_before(text: &str) -> Result<BeforeCallDecision, HookError> {
    if text.trim().is_empty() {
        return Ok(BeforeCallDecision::Continue);
    }
    Ok(match decision(text)? {
        BeforeDecision::Continue {} => BeforeCallDecision::Continue,
        BeforeDecision::Cancel { reason } => BeforeCallDecision::Cancel { reason },
        BeforeDecision::Modify { .. } => {
            #[derive(Deserialize)]
            struct RawModifyDecision {
                arguments: RawJson,
            }
            BeforeCallDecision::Modify(RawArguments::Json(decision::<RawModifyDecision>(text)?.arguments))
        }
    })
}

/// Parses a response to a request after a call.
pub(super) fn parse_after(text: &str) -> Result<AfterCallDecision, HookError> {
    if text.trim().is_empty() {
        return Ok(AfterCallDecision::Keep);
    }
    Ok(match decision(text)? {
        AfterDecision::Continue {} => AfterCallDecision::Keep,
        AfterDecision::Replace { content, .. } => {
            #[derive(Deserialize)]
            struct RawReplaceDecision {
                result: RawJson,
            }
            AfterCallDecision::Replace(output(decision::<RawReplaceDecision>(text)?.result, content))
        }
    })
}

/// Creates an output: a string becomes text, any other value becomes structured.
fn output(result: RawJson, mut others: Vec<ContentPart>) -> ToolOutput {
    match result.to::<String>() {
        Ok(text) => {
            others.insert(0, ContentPart::text(text));
            ToolOutput::new(others, None)
        }
        Err(_) => ToolOutput::new(others, Some(result)),
    }
}

fn decision<T: DeserializeOwned>(text: &str) -> Result<T, HookError> {
    serde_json::from_str(text).map_err(|error| {
        HookError(format!("its response is not a decision: {error}: {}", excerpt(text.trim(), EXCERPT_BYTES)))
    })
}

/// The start of a text, on one line. Invisible characters are escaped, because the text goes to logs and terminals.
pub(super) fn excerpt(text: &str, bytes: usize) -> String {
    let kept = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    let mark = if kept.len() < text.len() { "…" } else { "" };
    let line: Vec<_> = kept.split_whitespace().collect();
    let mut shown = String::with_capacity(kept.len());
    for c in line.join(" ").chars() {
        match is_invisible(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    format!("{shown}{mark}")
}

#[cfg(test)]
mod tests;
