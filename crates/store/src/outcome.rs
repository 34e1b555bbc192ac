//! Outcomes as they are stored: the envelope's JSON text. A text above the limit is truncated to
//! `{"status":…,"error_type"?,"code"?,"truncated":true,"kept_bytes":K,"total_bytes":N,"preview":"…"}`, where
//! `preview` contains the first K of the text's N bytes. Arguments are truncated in the same way, without the
//! first three fields.

use std::sync::Arc;

use serde::Deserialize;
use toolway_types::{Code, ContentPart, Outcome, RawJson, ResultEnvelope, ToolError, ToolOutput};

/// Space for the fields that mark a truncated text, in bytes.
const TRUNCATION_MARK_BYTES: usize = 112;

/// Approximate memory used by an outcome, in bytes. Cheap, because it serializes nothing.
pub(crate) fn weight(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Success(output) => {
            let structured = output.structured.as_ref().map_or(0, |value| value.get().len());
            structured + output.content.iter().map(part_weight).sum::<usize>()
        }
        Outcome::Error(error) => {
            let hint = error.hint.as_ref().map_or(0, String::len);
            let intent = error.authorize_intent.as_ref().map_or(0, |intent| intent.get().len());
            error.message.len() + hint + intent
        }
    }
}

fn part_weight(part: &ContentPart) -> usize {
    match part {
        ContentPart::Resource { resource } => value_weight(resource),
        other => other.size(),
    }
}

fn value_weight(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len(),
        serde_json::Value::Array(items) => items.iter().map(value_weight).sum(),
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + value_weight(value)).sum()
        }
        _ => size_of::<serde_json::Value>(),
    }
}

/// Serializes the envelope to at most `cap` bytes.
pub(crate) fn encode(outcome: &Outcome, cap: usize) -> String {
    let mut text = String::with_capacity(weight(outcome) + 64);
    text.push('{');
    ResultEnvelope(outcome).push_members(&mut text);
    text.push('}');
    if text.len() <= cap {
        return text;
    }
    let head = match outcome {
        Outcome::Success(_) => r#""status":"success","#.to_owned(),
        Outcome::Error(error) => {
            format!(r#""status":"error","error_type":"{}","code":"{}","#, error.kind(), error.code)
        }
    };
    truncated_json(&head, &text, cap)
}

/// Truncates a JSON text to at most `cap` bytes.
pub(crate) fn truncate(text: &str, cap: usize) -> Arc<str> {
    if text.len() <= cap { text.into() } else { truncated_json("", text, cap).into() }
}

fn truncated_json(head: &str, text: &str, cap: usize) -> String {
    let room = cap.saturating_sub(head.len() + TRUNCATION_MARK_BYTES);
    let mut used = 0;
    let mut kept = 0;
    for c in text.chars() {
        used += match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if u32::from(c) < 0x20 => 6,
            c => c.len_utf8(),
        };
        if used > room {
            break;
        }
        kept += c.len_utf8();
    }
    let preview = serde_json::Value::from(text.get(..kept).unwrap_or_default());
    format!(
        r#"{{{head}"truncated":true,"kept_bytes":{kept},"total_bytes":{},"preview":{preview}}}"#,
        text.len()
    )
}

/// A stored envelope.
#[derive(Deserialize)]
struct StoredEnvelope {
    status: String,
    #[serde(default)]
    result: RawJson,
    #[serde(default)]
    content: Vec<ContentPart>,
    #[serde(default)]
    message: String,
    code: Option<String>,
    hint: Option<String>,
    authorize_intent: Option<RawJson>,
    #[serde(default)]
    dispatched: bool,
    #[serde(default)]
    retryable: bool,
    #[serde(default)]
    truncated: bool,
}

/// Restores the outcome of a stored envelope, so that serializing it gives the same text. None if the text
/// was truncated or is not an envelope.
pub(crate) fn decode(text: &str) -> Option<Outcome> {
    let stored: StoredEnvelope = serde_json::from_str(text).ok()?;
    if stored.truncated {
        return None;
    }
    if stored.status == "success" {
        let mut output = ToolOutput::new(stored.content, None);
        match stored.result.to::<String>() {
            Ok(text) if text.is_empty() && !output.content.is_empty() => {}
            Ok(text) => output.content.insert(0, ContentPart::text(text)),
            Err(_) => output.structured = Some(stored.result),
        }
        return Some(Outcome::Success(output));
    }
    Some(Outcome::Error(ToolError {
        code: Code::from_name(stored.code.as_deref()?)?,
        message: stored.message,
        hint: stored.hint,
        authorize_intent: stored.authorize_intent,
        dispatched: stored.dispatched,
        retryable: stored.retryable,
        original: None,
    }))
}

/// Outcome of calls that were open when the gateway stopped without closing them.
pub(crate) fn restart_outcome() -> Outcome {
    let error = ToolError::new(
        Code::GatewayRestarted,
        "The gateway stopped while this call was running, so its result is not known",
    );
    Outcome::Error(
        error
            .with_dispatched(true)
            .with_hint("It may have had its effects; check that before you call it again"),
    )
}

#[cfg(test)]
mod tests;
