//! What a hook answers: one decision as a JSON object, or nothing, which lets the call go on.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolway_core::{AfterCallDecision, BeforeCallDecision, HookError, RawArguments};
use toolway_types::{ContentPart, RawJson, ToolOutput};

/// What is wanted before a call runs. No answer at all is continue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum BeforeDecision {
    /// It runs as it is.
    Continue {},
    /// It runs with other arguments, if they fit the tool's schema.
    Modify {
        /// All arguments, not only those that are new.
        #[allow(dead_code, reason = "read from the text itself, which keeps its numbers as they are")]
        arguments: Map<String, Value>,
    },
    /// It does not run.
    Cancel {
        /// Why, for whoever called.
        reason: String,
    },
}

/// What is wanted after a call ran. No answer at all is continue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum AfterDecision {
    /// The outcome stands.
    Continue {},
    /// The call has succeeded with this, whatever it ended in.
    Replace {
        /// Text, or a structured value.
        #[allow(dead_code, reason = "read from the text itself, which keeps its numbers as they are")]
        result: Value,
        /// Parts that are not text.
        #[serde(default)]
        content: Vec<ContentPart>,
    },
}

/// How much of an answer that can't be read is told, in bytes.
const EXCERPT_BYTES: usize = 200;

/// Understands an answer before a call.
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

/// Understands an answer after a call.
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

/// A text becomes text, anything else a structured value.
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
        HookError(format!("its answer is not a decision: {error}: {}", excerpt(text.trim(), EXCERPT_BYTES)))
    })
}

/// The start of a text, on one line.
pub(super) fn excerpt(text: &str, bytes: usize) -> String {
    let kept = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    let mark = if kept.len() < text.len() { "…" } else { "" };
    let line: Vec<_> = kept.split_whitespace().collect();
    format!("{}{mark}", line.join(" "))
}

#[cfg(test)]
mod tests;
