//! Encodes and decodes the parts of a message as JSON.
//!
//! ```json
//! {"type": "text", "text": "…"}
//! {"type": "image", "data": "…", "mimeType": "image/png"}
//! {"type": "thinking", "text": "…"}
//! {"type": "tool_call", "call_id": "…", "name": "…", "arguments": "…", "truncated": true}
//! {"type": "tool_result", "call_id": "…", "name": "…", "status": "success", "result": …}
//! {"type": "summary", "text": "…", "through": 12, "tools": ["…"]}
//! ```
//!
//! A tool result has the fields of [`ResultEnvelope`]. Some outcomes cannot be restored from these fields
//! alone, for example a structured value that is a string, or text between images. For these outcomes, the
//! stored form has two more fields: `"structured"` is true if `result` is the structured value, and
//! `"whole": true` means that `content` contains all parts, including text.
//!
//! In the stored form, a part may also have `"opaque"`: data that only the model provider that created it
//! receives. The public form never contains it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolway_models::{MessagePart, OpaqueState, ToolCall, ToolResult};
use toolway_types::{
    CallId, Code, ContentPart, JsonObject, Outcome, RawJson, ResultEnvelope, ToolError, ToolOutput,
};

/// Maximum length of the type that is shown for an unreadable part, in characters.
const MAX_TYPE_CHARS: usize = 200;

/// A part in its stored or public form.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StoredPart<'p> {
    Text {
        text: &'p str,
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<&'p OpaqueState>,
    },
    Image {
        data: &'p str,
        #[serde(rename = "mimeType")]
        mime_type: &'p str,
    },
    Thinking {
        text: &'p str,
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<&'p OpaqueState>,
    },
    ToolCall {
        call_id: CallId,
        name: &'p str,
        arguments: &'p str,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<&'p OpaqueState>,
    },
    ToolResult {
        call_id: CallId,
        name: &'p str,
        #[serde(flatten)]
        outcome: StoredOutcome<'p>,
    },
    Summary {
        text: &'p str,
        through: u64,
        #[serde(skip_serializing_if = "is_empty_list")]
        tools: &'p [String],
    },
}

/// The outcome of a tool call in its stored or public form.
#[derive(Serialize)]
#[serde(untagged)]
enum StoredOutcome<'p> {
    /// The envelope alone, in the public form or because it represents the outcome exactly.
    Plain(ResultEnvelope<'p>),
    /// The envelope needs additional fields.
    Exact {
        status: &'static str,
        result: StoredExactResult<'p>,
        content: &'p [ContentPart],
        structured: bool,
        whole: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum StoredExactResult<'p> {
    Structured(&'p RawJson),
    Text(String),
}

/// The fields that stored parts can have. This is not a tagged enum, because serde would parse its contents
/// and not keep the JSON of providers and tools byte for byte.
#[derive(Deserialize)]
struct StoredPartFields {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    call_id: Option<CallId>,
    name: Option<String>,
    arguments: Option<String>,
    /// Version 0.1 stored this field as `cut`. A migration would also rewrite `opaque`, whose bytes model
    /// providers sign.
    #[serde(default, alias = "cut")]
    truncated: bool,
    opaque: Option<OpaqueState>,
    through: Option<u64>,
    #[serde(default)]
    tools: Vec<String>,
}

/// The fields of an envelope in the store or in a call record.
#[derive(Deserialize)]
struct StoredOutcomeFields {
    status: String,
    #[serde(default)]
    result: RawJson,
    #[serde(default)]
    content: Vec<ContentPart>,
    #[serde(default)]
    structured: bool,
    #[serde(default)]
    whole: bool,
    #[serde(default)]
    message: String,
    code: Option<String>,
    hint: Option<String>,
    authorize_intent: Option<RawJson>,
    #[serde(default)]
    dispatched: bool,
    #[serde(default)]
    retryable: bool,
    /// Only in call records: true if the record contains only `preview`, the start of the result.
    #[serde(default)]
    truncated: bool,
    #[serde(default)]
    preview: String,
    #[serde(default)]
    total_bytes: u64,
}

/// A decoded part.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptPart {
    /// A part of a message.
    Part(MessagePart),
    /// A summary of older messages.
    Summary {
        /// Text of the summary.
        text: String,
        /// Number of the last message that it covers.
        through: u64,
        /// Tools that the conversation used or found before it, the most recent first.
        tools: Vec<String>,
    },
}

/// Encodes parts as the JSON array that is stored.
#[must_use]
pub fn encode_parts(parts: &[MessagePart]) -> RawJson {
    let written: Vec<StoredPart<'_>> = parts.iter().map(|part| StoredPart::of(part, true)).collect();
    RawJson::from_value(&written).unwrap_or_else(|_| empty())
}

/// Encodes a summary as the JSON array that is stored.
#[must_use]
pub fn encode_summary(text: &str, through: u64, tools: &[String]) -> RawJson {
    RawJson::from_value(&[StoredPart::Summary { text, through, tools }]).unwrap_or_else(|_| empty())
}

/// Decodes stored parts. A text part with an explanation replaces each unreadable part.
#[must_use]
pub fn decode_parts(parts: &RawJson) -> Vec<TranscriptPart> {
    match parts.to::<Vec<RawJson>>() {
        Ok(parts) => parts.iter().map(decode_part).collect(),
        Err(_) => vec![unreadable_placeholder(parts)],
    }
}

/// Converts stored parts to their public form: without `opaque`.
#[must_use]
pub fn public_parts(parts: &RawJson) -> Vec<RawJson> {
    let Ok(stored) = parts.to::<Vec<RawJson>>() else { return Vec::new() };
    stored.iter().map(public_part).collect()
}

fn public_part(stored: &RawJson) -> RawJson {
    let written = match decode_known_part(stored) {
        Some(TranscriptPart::Part(part)) => RawJson::from_value(&StoredPart::of(&part, false)).ok(),
        Some(TranscriptPart::Summary { text, through, .. }) => {
            RawJson::from_value(&StoredPart::Summary { text: &text, through, tools: &[] }).ok()
        }
        // A part from a newer version: keep everything except the field that is never public.
        None => stored.to::<JsonObject>().ok().map(|mut fields| {
            fields.remove("opaque");
            RawJson::from(&Value::Object(fields))
        }),
    };
    written.unwrap_or_default()
}

fn empty() -> RawJson {
    RawJson::from(&Value::Array(Vec::new()))
}

impl<'p> StoredPart<'p> {
    /// Creates the stored form, or the public form if `stored` is false.
    fn of(part: &'p MessagePart, stored: bool) -> Self {
        let kept = |opaque: &'p Option<OpaqueState>| opaque.as_ref().filter(|_| stored);
        match part {
            MessagePart::Text { text, opaque } => Self::Text { text, opaque: kept(opaque) },
            MessagePart::Image { data, mime_type } => Self::Image { data, mime_type },
            MessagePart::Thinking { text, opaque } => Self::Thinking { text, opaque: kept(opaque) },
            MessagePart::ToolCall(call) => Self::ToolCall {
                call_id: call.id,
                name: &call.name,
                arguments: &call.arguments,
                truncated: call.is_cut,
                opaque: kept(&call.opaque),
            },
            MessagePart::ToolResult(result) => Self::ToolResult {
                call_id: result.call_id,
                name: &result.name,
                outcome: StoredOutcome::of(&result.outcome, stored),
            },
        }
    }
}

impl<'p> StoredOutcome<'p> {
    fn of(outcome: &'p Outcome, stored: bool) -> Self {
        match outcome {
            Outcome::Success(output) if stored && !is_lossless_in_envelope(output) => Self::Exact {
                status: "success",
                result: match &output.structured {
                    Some(value) => StoredExactResult::Structured(value),
                    None => StoredExactResult::Text(output.joined_text()),
                },
                content: &output.content,
                structured: output.structured.is_some(),
                whole: true,
            },
            _ => Self::Plain(ResultEnvelope(outcome)),
        }
    }
}

/// Returns true if the envelope's fields represent the output exactly.
fn is_lossless_in_envelope(output: &ToolOutput) -> bool {
    let no_text = |parts: &[ContentPart]| parts.iter().all(|part| part.as_text().is_none());
    match (&output.structured, output.content.as_slice()) {
        (Some(value), parts) => value.to::<String>().is_err() && no_text(parts),
        (None, [ContentPart::Text { .. }]) => true,
        (None, [ContentPart::Text { text }, rest @ ..]) => !text.is_empty() && no_text(rest),
        (None, parts) => !parts.is_empty() && no_text(parts),
    }
}

pub(crate) fn decode_part(stored: &RawJson) -> TranscriptPart {
    decode_known_part(stored).unwrap_or_else(|| unreadable_placeholder(stored))
}

/// Decodes a part of a kind that this version knows.
fn decode_known_part(stored: &RawJson) -> Option<TranscriptPart> {
    let fields: StoredPartFields = stored.to().ok()?;
    let part = match fields.kind.as_str() {
        "text" => MessagePart::Text { text: fields.text?, opaque: fields.opaque },
        "image" => MessagePart::Image { data: fields.data?, mime_type: fields.mime_type? },
        "thinking" => MessagePart::Thinking { text: fields.text.unwrap_or_default(), opaque: fields.opaque },
        "tool_call" => MessagePart::ToolCall(ToolCall {
            id: fields.call_id?,
            name: fields.name?,
            arguments: fields.arguments?,
            is_cut: fields.truncated,
            opaque: fields.opaque,
        }),
        "tool_result" => MessagePart::ToolResult(ToolResult::new(
            fields.call_id?,
            fields.name?,
            Arc::new(outcome_from_envelope(stored)?),
        )),
        "summary" => {
            let (text, through) = (fields.text?, fields.through?);
            return Some(TranscriptPart::Summary { text, through, tools: fields.tools });
        }
        _ => return None,
    };
    Some(TranscriptPart::Part(part))
}

/// Converts an envelope from the store or from a call record to an outcome; `None` if it is invalid.
#[must_use]
pub fn outcome_from_envelope(envelope: &RawJson) -> Option<Outcome> {
    let fields: StoredOutcomeFields = envelope.to().ok()?;
    if fields.status != "success" {
        let code = fields.code.as_deref().and_then(Code::from_name).unwrap_or(Code::ToolFailed);
        let message = if fields.truncated { truncated_text(&fields) } else { fields.message };
        return Some(Outcome::Error(ToolError {
            code,
            message,
            hint: fields.hint,
            authorize_intent: fields.authorize_intent,
            dispatched: fields.dispatched,
            retryable: fields.retryable,
            original: None,
        }));
    }
    if fields.truncated {
        return Some(Outcome::Success(ToolOutput::text(truncated_text(&fields))));
    }
    let mut output = ToolOutput::new(fields.content, None);
    if fields.structured {
        output.structured = Some(fields.result);
    } else if !fields.whole {
        match fields.result.to::<String>() {
            Ok(text) if text.is_empty() && !output.content.is_empty() => {}
            Ok(text) => output.content.insert(0, ContentPart::text(text)),
            Err(_) => output.structured = Some(fields.result),
        }
    }
    Some(Outcome::Success(output))
}

fn truncated_text(fields: &StoredOutcomeFields) -> String {
    format!("{}\n[only the start of {} bytes was kept]", fields.preview, fields.total_bytes)
}

/// Creates a text part that replaces an unreadable part. Contains its type, and its text if it has one.
fn unreadable_placeholder(stored: &RawJson) -> TranscriptPart {
    let fields: JsonObject = stored.to().unwrap_or_default();
    let field = |name: &str| fields.get(name).and_then(Value::as_str);
    let kind: String = field("type").unwrap_or("?").chars().take(MAX_TYPE_CHARS).collect();
    let mut text = format!("[this version of Toolway can't read a part of type {kind:?}]");
    if let Some(more) = field("text") {
        text.push('\n');
        text.push_str(more);
    }
    TranscriptPart::Part(MessagePart::text(text))
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_empty_list(list: &[String]) -> bool {
    list.is_empty()
}

#[cfg(test)]
mod tests;
