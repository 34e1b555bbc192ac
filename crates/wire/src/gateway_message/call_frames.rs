//! Messages of every call. They are written directly from their parts, without a copy of them.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use serde::{Deserialize, Serialize};
use toolway_types::json::{push_number, push_string};
use toolway_types::{CallId, ContentPart, Outcome, RawJson, ResultEnvelope};

use super::{ResultAcknowledged, ToolCallRequest};
use crate::codec::{present, write};

impl ToolCallRequest {
    /// Writes the frame without copying its parts first. `deadline_ms` and `attempt` require version 2.
    #[must_use]
    pub fn write(
        id: CallId,
        name: &str,
        args: &RawJson,
        deadline_ms: Option<u64>,
        attempt: Option<u32>,
    ) -> String {
        let mut frame = String::with_capacity(args.get().len() + name.len() + 140);
        frame.push_str(r#"{"type":"tool_call_request","id":""#);
        push_display(&mut frame, id);
        frame.push_str(r#"","name":"#);
        push_string(&mut frame, name);
        frame.push_str(r#","args":"#);
        frame.push_str(args.get());
        for (field, value) in
            [(r#","deadline_ms":"#, deadline_ms), (r#","attempt":"#, attempt.map(u64::from))]
        {
            if let Some(value) = value {
                frame.push_str(field);
                push_display(&mut frame, value);
            }
        }
        frame.push('}');
        frame
    }
}

impl ResultAcknowledged {
    /// Writes the frame. `status` requires version 2.
    #[must_use]
    pub fn write(id: &str, status: Option<ResultStatus>) -> String {
        let mut frame = String::with_capacity(id.len() + 64);
        frame.push_str(r#"{"type":"result_acknowledged","id":"#);
        push_string(&mut frame, id);
        if let Some(status) = status {
            frame.push_str(r#","status":"#);
            push_string(&mut frame, status.as_str());
        }
        frame.push('}');
        frame
    }
}

/// Appends a value's text. It must need no escape.
fn push_display(frame: &mut String, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = write!(frame, "{value}");
}

/// Status of a received tool result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// The result is the call's outcome.
    Accepted,
    /// The call had already ended in another way.
    Late,
    /// The gateway already has this device's result.
    Duplicate,
    /// This device has no such call.
    Unknown,
}

impl ResultStatus {
    /// Name of the status in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Late => "late",
            Self::Duplicate => "duplicate",
            Self::Unknown => "unknown",
        }
    }
}

/// The message `tool_result` in a chat.
// Only for decoding: `ChatToolResult::write` makes the frame directly from an outcome.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatToolResult {
    /// Id of the call.
    pub id: String,
    /// Name of the tool as shown to the model.
    pub name: String,
    /// Result or error as text; always a string.
    pub output: String,
    /// Duration of the call, in milliseconds. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// Status of the call: `success` or `error`. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Result of the tool. Since 2.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Content parts other than text. Since 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentPart>,
    /// Kind of failure: `timeout`, `permission_denied`, `execution_error` or `validation_error`. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Description of the failure. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Specific reason of the failure; listed under `x-codes`. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Next step for the caller. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Intent that lets the user authorize access. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorize_intent: Option<RawJson>,
    /// True if the request was sent to the tool. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatched: Option<bool>,
    /// True if the same call may succeed on retry. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl ChatToolResult {
    /// Writes the frame for an outcome, without copying it first. `duration_ms` and the fields of the outcome
    /// require version 2.
    #[must_use]
    pub fn write(id: CallId, name: &str, outcome: &Outcome, duration_ms: Option<f64>) -> String {
        #[derive(Serialize)]
        struct ChatToolResultFrame<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            id: CallId,
            name: &'a str,
            output: Cow<'a, str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            duration_ms: Option<f64>,
            #[serde(flatten)]
            envelope: Option<ResultEnvelope<'a>>,
        }
        let envelope = duration_ms.map(|_| ResultEnvelope(outcome));
        write(&ChatToolResultFrame {
            kind: "tool_result",
            id,
            name,
            output: output_text(outcome),
            duration_ms,
            envelope,
        })
    }
}

/// Text form of an outcome: its text, else its structured value, else its error message.
fn output_text(outcome: &Outcome) -> Cow<'_, str> {
    let output = match outcome {
        Outcome::Error(error) => return Cow::Borrowed(&error.message),
        Outcome::Success(output) => output,
    };
    match (output.content.as_slice(), &output.structured) {
        ([ContentPart::Text { text }], _) => Cow::Borrowed(text),
        (parts, Some(structured)) if parts.iter().all(|part| part.as_text().is_none()) => {
            Cow::Borrowed(structured.get())
        }
        _ => Cow::Owned(output.joined_text()),
    }
}

/// The message `call_result`, the answer to `call_tool`.
// Only for decoding: `CallResult::write` makes the frame directly from an outcome.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallResult {
    /// Id given in `call_tool`.
    pub id: String,
    /// Id of the call in the gateway.
    pub call_id: String,
    /// Duration of the call, in milliseconds.
    pub duration_ms: f64,
    /// Status of the call: `success` or `error`.
    pub status: String,
    /// Result of the tool.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Content parts other than text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentPart>,
    /// Kind of failure: `timeout`, `permission_denied`, `execution_error` or `validation_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Description of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Specific reason of the failure; listed under `x-codes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Next step for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Intent that lets the user authorize access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorize_intent: Option<RawJson>,
    /// True if the request was sent to the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatched: Option<bool>,
    /// True if the same call may succeed on retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl CallResult {
    /// Writes the frame for an outcome, without copying it first.
    #[must_use]
    pub fn write(id: &str, call_id: CallId, duration_ms: f64, outcome: &Outcome) -> String {
        let size = match outcome {
            Outcome::Success(output) => output.size(),
            Outcome::Error(error) => error.message.len(),
        };
        let mut frame = String::with_capacity(size + id.len() + 160);
        frame.push_str(r#"{"type":"call_result","id":"#);
        push_string(&mut frame, id);
        frame.push_str(r#","call_id":""#);
        push_display(&mut frame, call_id);
        frame.push_str(r#"","duration_ms":"#);
        push_number(&mut frame, duration_ms);
        frame.push(',');
        ResultEnvelope(outcome).push_members(&mut frame);
        frame.push('}');
        frame
    }
}
