//! Messages from the gateway.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use toolway_types::SpecDocument;
use toolway_types::json::{push_number, push_string};
use toolway_types::{CallId, ContentPart, Outcome, RawJson, ResultEnvelope};

use crate::codec::{messages, present, structs, write};
use crate::limits::ConnectionLimits;

/// Usual number of characters of a token, for estimates.
const CHARACTERS_PER_TOKEN: usize = 4;

messages! {
    /// A message from the gateway.
    GatewayMessage {
        /// Announces the session immediately after a connection to `/ws/chat`.
        "session_start" => SessionStart(SessionStart),
        /// Answers `connect`.
        "connected" => Connected(Connected),
        /// Answers `register_tools` and `unregister_tools`.
        "tools_registered" => ToolsRegistered(ToolsRegistered),
        /// Answers `get_registered_tools`.
        "registered_tools" => RegisteredTools(RegisteredTools),
        /// Carries text from the model.
        "chunk" => Chunk(Text),
        /// Carries reasoning text from the model.
        "thinking" => Thinking(Thinking),
        /// Discards the text shown so far in this turn.
        "chunk_reset" => ChunkReset(ChunkReset),
        /// Reports the start of a tool call in this chat.
        "tool_call" => ToolCall(ToolCall),
        /// Reports the end of a tool call in this chat.
        "tool_result" => ToolResult(ChatToolResult),
        /// Reports the progress of a call started by this client. Since 2.
        "tool_progress" => ToolProgress(ToolProgressShown),
        /// Answers `call_tool`. Since 2.
        "call_result" => CallResult(CallResult),
        /// Asks the device to run a tool.
        "tool_call_request" => ToolCallRequest(ToolCallRequest),
        /// Asks the device to stop a call. Since 2.
        "tool_call_cancel" => ToolCallCancel(ToolCallCancel),
        /// Acknowledges a tool result.
        "result_acknowledged" => ResultAcknowledged(ResultAcknowledged),
        /// Asks for permission or approval. Since 2.
        "permission_request" => PermissionRequest(PermissionRequest),
        /// Shows the prompt sent to the model.
        "debug_prompt" => DebugPrompt(DebugPrompt),
        /// Ends a turn.
        "done" => Done(Done),
        /// Reports that the turn was aborted.
        "aborted" => Aborted(Aborted),
        /// Answers `abort`.
        "abort_ack" => AbortAck(AbortAck),
        /// Reports a new title of the session.
        "title_updated" => TitleUpdated(TitleUpdated),
        /// Informs a person about the running turn. Since 2.
        "notice" => Notice(Notice),
        /// Reports an error in a client's message or in a turn.
        "error" => Error(ErrorMessage),
    }
}

structs! {
    /// The message `session_start`.
    SessionStart {
        /// Protocol version agreed so far.
        v: u32,
        /// Id of the session; always present.
        session_id: String,
        /// True if the session existed before.
        resumed: bool,
        /// Number of messages in the session.
        message_count: u64,
        /// Name of the client.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Name of the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
        /// Model that answers, as `NAME/ID`; absent if none is configured. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// True if a turn is running; its remaining events follow. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        busy: Option<bool>,
    }

    /// The message `connected`.
    Connected {
        /// Agreed protocol version.
        v: u32,
        /// Always `Connection established`.
        message: String,
        /// Slug of this connection's source. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Token for `connect` after a lost connection. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume_token: Option<String>,
        /// Interval between the gateway's pings, in milliseconds. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heartbeat_ms: Option<u64>,
        /// Limits of the gateway for this connection. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<ConnectionLimits>,
    }

    /// The message `tools_registered`.
    ToolsRegistered {
        /// Number of tools in the answered message.
        count: usize,
        /// Number of this connection's live tools.
        registered: usize,
        /// Refused tools with reasons. Version 1 clients ignore it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejected: Vec<Rejected>,
    }

    /// A refused tool.
    Rejected {
        /// Name of the tool, if readable.
        name: String,
        /// Reason for the refusal.
        reason: String,
    }

    /// The message `registered_tools`.
    RegisteredTools {
        /// Live tools of this connection, as registered.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<SpecDocument>"))]
        tools: Vec<RawJson>,
    }

    /// The message `chunk`.
    Text {
        /// Next part of the text.
        content: String,
    }

    /// The message `thinking`.
    Thinking {
        /// Next part of the reasoning.
        content: String,
    }

    /// The message `chunk_reset`.
    ChunkReset {}

    /// The message `tool_call`.
    ToolCall {
        /// Id of the call.
        id: String,
        /// Name of the tool as shown to the model.
        name: String,
        /// Arguments; always an object.
        args: RawJson,
    }

    /// The message `tool_progress`, for calls started by this client or belonging to its chat.
    ToolProgressShown {
        /// Id given in `call_tool`, or the call's id in a chat.
        id: String,
        /// Name of the tool.
        name: String,
        /// Progress so far.
        progress: f64,
        /// Total number of steps, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// Description of the current step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Partial output.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentPart>,
    }

    /// The message `tool_call_request`.
    ToolCallRequest {
        /// Id of the call.
        id: String,
        /// Name of the tool as registered by the device.
        name: String,
        /// Arguments; always an object.
        args: RawJson,
        /// Remaining time, in milliseconds. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        /// Number of the attempt, starting at 1. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    }

    /// The message `tool_call_cancel`.
    ToolCallCancel {
        /// Id of the call.
        id: String,
        /// Reason for the cancellation.
        reason: String,
    }

    /// The message `result_acknowledged`.
    ResultAcknowledged {
        /// Id of the call.
        id: String,
        /// Status of the result. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<ResultStatus>,
    }

    /// The message `permission_request`.
    PermissionRequest {
        /// Id of the request.
        id: String,
        /// Kind of request: `permission` or `approval`.
        kind: String,
        /// Name of the tool.
        tool: String,
        /// Requested permission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permission: Option<String>,
        /// Reason for the request.
        reason: String,
        /// Arguments, shortened for display.
        args_preview: String,
        /// Remaining time to answer, in milliseconds.
        expires_ms: u64,
    }

    /// The message `debug_prompt`.
    DebugPrompt {
        /// Messages sent to the model; each message's content is a string. In version 1 one string, which contains
        /// them as JSON.
        messages: Vec<RawJson>,
    }

    /// The message `done`.
    Done {
        /// Complete text of the answer.
        full_response: String,
        /// Tokens used. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Cost of the turn. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Currency of `cost`. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        currency: Option<String>,
        /// Number of model requests. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds: Option<u32>,
        /// Number of tool calls. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_calls: Option<u32>,
        /// Reason why the last model response ended: `stop`, `length`, or another value. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
    }

    /// Token usage.
    Usage {
        /// Input tokens.
        input: Option<u64>,
        /// Output tokens.
        output: Option<u64>,
        /// Input tokens read from the provider's cache.
        cached: Option<u64>,
        /// Output tokens used for reasoning.
        reasoning: Option<u64>,
    }

    /// The message `aborted`.
    Aborted {
        /// Tokens used. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Cost of the turn. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Currency of `cost`. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        currency: Option<String>,
    }

    /// The message `abort_ack`.
    AbortAck {
        /// Result of the abort request.
        status: String,
    }

    /// The message `title_updated`.
    TitleUpdated {
        /// New title of the session.
        title: String,
    }

    /// The message `notice`.
    Notice {
        /// Code for programs.
        code: String,
        /// Text for people.
        message: String,
    }

    /// The message `error`.
    ErrorMessage {
        /// Description of the error.
        message: String,
        /// Code for programs; listed under `x-error-codes`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Next step. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// Specific reason of a failed turn. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// `id` of the message that the gateway could not read, if the message had one. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    }
}

impl DebugPrompt {
    /// Writes the frame for version 1: the messages as one JSON text, and an estimate of their tokens.
    #[must_use]
    pub fn write_version_1(&self) -> String {
        #[derive(Serialize)]
        struct DebugPromptFrame<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            messages: &'a str,
            estimated_tokens: usize,
        }
        let messages = write(&self.messages);
        let estimated_tokens = messages.chars().count().div_ceil(CHARACTERS_PER_TOKEN);
        write(&DebugPromptFrame { kind: "debug_prompt", messages: &messages, estimated_tokens })
    }
}

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

#[cfg(test)]
mod tests;
