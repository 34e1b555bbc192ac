//! The parts of a message as JSON.
//!
//! ```json
//! {"type": "text", "text": "…"}
//! {"type": "image", "data": "…", "mimeType": "image/png"}
//! {"type": "thinking", "text": "…"}
//! {"type": "tool_call", "call_id": "…", "name": "…", "arguments": "…", "cut": true}
//! {"type": "tool_result", "call_id": "…", "name": "…", "status": "success", "result": …}
//! {"type": "summary", "text": "…", "through": 12}
//! ```
//!
//! A result has the fields of the envelope ([`Envelope`]). Where these alone would not give the same outcome back (a
//! structured value that is a text, texts between pictures), the stored form says more: `"structured": true`, and
//! `"whole": true` where `content` holds all parts, texts too. In the stored form a part may also carry `"opaque"`,
//! what its model provider wants to see again; nobody else is shown it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolway_models::{Opaque, Part, ToolCall, ToolResult};
use toolway_types::{
    CallId, Code, ContentPart, Envelope, JsonObject, Outcome, RawJson, ToolError, ToolOutput,
};

/// Most characters of what is said of a part that can't be read.
const NOTE_CHARS: usize = 200;

/// A part on its way into the store.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Written<'p> {
    Text {
        text: &'p str,
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<&'p Opaque>,
    },
    Image {
        data: &'p str,
        #[serde(rename = "mimeType")]
        mime_type: &'p str,
    },
    Thinking {
        text: &'p str,
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<&'p Opaque>,
    },
    ToolCall {
        call_id: CallId,
        name: &'p str,
        arguments: &'p str,
        #[serde(skip_serializing_if = "is_false")]
        cut: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<&'p Opaque>,
    },
    ToolResult {
        call_id: CallId,
        name: &'p str,
        #[serde(flatten)]
        outcome: WrittenOutcome<'p>,
    },
    Summary {
        text: &'p str,
        through: u64,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenOutcome<'p> {
    /// The envelope says it all.
    Plain(Envelope<'p>),
    /// It does not.
    Exact {
        status: &'static str,
        result: ExactResult<'p>,
        content: &'p [ContentPart],
        structured: bool,
        whole: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ExactResult<'p> {
    Structured(&'p RawJson),
    Text(String),
}

/// A part as it stands in the store: the fields of all kinds, so that what others wrote is read as the text it is.
#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    call_id: Option<CallId>,
    name: Option<String>,
    arguments: Option<String>,
    #[serde(default)]
    cut: bool,
    opaque: Option<Opaque>,
    through: Option<u64>,
}

/// An envelope as it stands in the store, or in the record of a call.
#[derive(Deserialize)]
struct OutcomeFields {
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
    /// In the record of a call: the text is only the start of the envelope.
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    start: String,
    #[serde(default)]
    of: u64,
}

/// What a stored part is.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// A part of a message.
    Part(Part),
    /// A summary of the messages up to a number.
    Summary {
        /// The summary.
        text: String,
        /// The number of the last message that it covers.
        through: u64,
    },
}

/// Some parts as the JSON array that is stored.
#[must_use]
pub fn write(parts: &[Part]) -> RawJson {
    let written: Vec<Written<'_>> = parts.iter().map(|part| Written::of(part, true)).collect();
    RawJson::from_value(&written).unwrap_or_else(|_| empty())
}

/// A summary as the JSON array that is stored.
#[must_use]
pub fn write_summary(text: &str, through: u64) -> RawJson {
    RawJson::from_value(&[Written::Summary { text, through }]).unwrap_or_else(|_| empty())
}

/// Stored parts. One that can't be read becomes a text that says so.
#[must_use]
pub fn read(parts: &RawJson) -> Vec<Read> {
    match parts.to::<Vec<RawJson>>() {
        Ok(parts) => parts.iter().map(read_one).collect(),
        Err(_) => vec![note(parts)],
    }
}

/// Stored parts as people and programs are shown them: without what only a model provider understands.
#[must_use]
pub fn public_parts(parts: &RawJson) -> Vec<RawJson> {
    let Ok(stored) = parts.to::<Vec<RawJson>>() else { return Vec::new() };
    stored.iter().map(public).collect()
}

fn public(stored: &RawJson) -> RawJson {
    let written = match known(stored) {
        Some(Read::Part(part)) => RawJson::from_value(&Written::of(&part, false)).ok(),
        Some(Read::Summary { text, through }) => {
            RawJson::from_value(&Written::Summary { text: &text, through }).ok()
        }
        // A newer version's: all but what is never shown.
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

impl<'p> Written<'p> {
    /// As it is stored, or as it is shown.
    fn of(part: &'p Part, stored: bool) -> Self {
        let kept = |opaque: &'p Option<Opaque>| opaque.as_ref().filter(|_| stored);
        match part {
            Part::Text { text, opaque } => Self::Text { text, opaque: kept(opaque) },
            Part::Image { data, mime_type } => Self::Image { data, mime_type },
            Part::Thinking { text, opaque } => Self::Thinking { text, opaque: kept(opaque) },
            Part::ToolCall(call) => Self::ToolCall {
                call_id: call.id,
                name: &call.name,
                arguments: &call.arguments,
                cut: call.is_cut,
                opaque: kept(&call.opaque),
            },
            Part::ToolResult(result) => Self::ToolResult {
                call_id: result.call_id,
                name: &result.name,
                outcome: WrittenOutcome::of(&result.outcome, stored),
            },
        }
    }
}

impl<'p> WrittenOutcome<'p> {
    fn of(outcome: &'p Outcome, stored: bool) -> Self {
        match outcome {
            Outcome::Success(output) if stored && !is_said_by_envelope(output) => Self::Exact {
                status: "success",
                result: match &output.structured {
                    Some(value) => ExactResult::Structured(value),
                    None => ExactResult::Text(output.joined_text()),
                },
                content: &output.content,
                structured: output.structured.is_some(),
                whole: true,
            },
            _ => Self::Plain(Envelope(outcome)),
        }
    }
}

/// Whether the envelope's fields give the same output back.
fn is_said_by_envelope(output: &ToolOutput) -> bool {
    let no_text = |parts: &[ContentPart]| parts.iter().all(|part| part.as_text().is_none());
    match (&output.structured, output.content.as_slice()) {
        (Some(value), parts) => value.to::<String>().is_err() && no_text(parts),
        (None, [ContentPart::Text { .. }]) => true,
        (None, [ContentPart::Text { text }, rest @ ..]) => !text.is_empty() && no_text(rest),
        (None, parts) => !parts.is_empty() && no_text(parts),
    }
}

pub(crate) fn read_one(stored: &RawJson) -> Read {
    known(stored).unwrap_or_else(|| note(stored))
}

/// A part of a kind that this version knows.
fn known(stored: &RawJson) -> Option<Read> {
    let fields: Fields = stored.to().ok()?;
    let part = match fields.kind.as_str() {
        "text" => Part::Text { text: fields.text?, opaque: fields.opaque },
        "image" => Part::Image { data: fields.data?, mime_type: fields.mime_type? },
        "thinking" => Part::Thinking { text: fields.text.unwrap_or_default(), opaque: fields.opaque },
        "tool_call" => Part::ToolCall(ToolCall {
            id: fields.call_id?,
            name: fields.name?,
            arguments: fields.arguments?,
            is_cut: fields.cut,
            opaque: fields.opaque,
        }),
        "tool_result" => {
            Part::ToolResult(ToolResult::new(fields.call_id?, fields.name?, Arc::new(outcome(stored)?)))
        }
        "summary" => return Some(Read::Summary { text: fields.text?, through: fields.through? }),
        _ => return None,
    };
    Some(Read::Part(part))
}

/// The outcome that an envelope came from: one that is stored here, or in the record of a call.
#[must_use]
pub fn outcome(envelope: &RawJson) -> Option<Outcome> {
    let fields: OutcomeFields = envelope.to().ok()?;
    if fields.status != "success" {
        let code = fields.code.as_deref().and_then(Code::from_name).unwrap_or(Code::ToolFailed);
        let message = if fields.cut { cut_text(&fields) } else { fields.message };
        return Some(Outcome::Error(ToolError {
            code,
            message,
            hint: fields.hint,
            authorize_intent: fields.authorize_intent,
            dispatched: fields.dispatched,
            retryable: fields.retryable,
        }));
    }
    if fields.cut {
        return Some(Outcome::Success(ToolOutput::text(cut_text(&fields))));
    }
    let mut output = ToolOutput { content: fields.content, structured: None };
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

fn cut_text(fields: &OutcomeFields) -> String {
    format!("{}\n[only the start of {} bytes was kept]", fields.start, fields.of)
}

/// What stands in the place of something that can't be read: its kind, and its text where it has one.
fn note(stored: &RawJson) -> Read {
    let fields: JsonObject = stored.to().unwrap_or_default();
    let of = |name: &str| fields.get(name).and_then(Value::as_str);
    let kind: String = of("type").unwrap_or("?").chars().take(NOTE_CHARS).collect();
    let mut text = format!("[a part of the kind {kind:?}, which this version can't read]");
    if let Some(more) = of("text") {
        text.push('\n');
        text.push_str(more);
    }
    Read::Part(Part::text(text))
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
