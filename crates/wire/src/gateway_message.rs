//! What the gateway sends.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use toolway_types::SpecDocument;
use toolway_types::{CallId, ContentPart, Outcome, RawJson, ResultEnvelope};

use crate::codec::{messages, present, structs, write};
use crate::limits::ConnectionLimits;

messages! {
    /// A message from the gateway.
    GatewayMessage {
        /// Sent at once on `/ws/chat`.
        "session_start" => SessionStart(SessionStart),
        /// Answers `connect`.
        "connected" => Connected(Connected),
        /// Answers `register_tools` and `unregister_tools`.
        "tools_registered" => ToolsRegistered(ToolsRegistered),
        /// Answers `get_registered_tools`.
        "registered_tools" => RegisteredTools(RegisteredTools),
        /// Text of the model.
        "chunk" => Chunk(Text),
        /// The model's thinking.
        "thinking" => Thinking(Thinking),
        /// Discard the text shown so far in this turn.
        "chunk_reset" => ChunkReset(ChunkReset),
        /// A tool starts in this chat.
        "tool_call" => ToolCall(ToolCall),
        /// A tool ended in this chat.
        "tool_result" => ToolResult(ChatToolResult),
        /// How far a call is that this client started. Since 2.
        "tool_progress" => ToolProgress(ToolProgressShown),
        /// Answers `call_tool`. Since 2.
        "call_result" => CallResult(CallResult),
        /// Run this on the device.
        "tool_call_request" => ToolCallRequest(ToolCallRequest),
        /// Stop running it. Since 2.
        "tool_call_cancel" => ToolCallCancel(ToolCallCancel),
        /// A result arrived.
        "result_acknowledged" => ResultAcknowledged(ResultAcknowledged),
        /// May it? Since 2.
        "permission_request" => PermissionRequest(PermissionRequest),
        /// What was sent to the model.
        "debug_prompt" => DebugPrompt(DebugPrompt),
        /// The turn is over.
        "done" => Done(Done),
        /// The turn was stopped.
        "aborted" => Aborted(Aborted),
        /// Answers `abort`.
        "abort_ack" => AbortAck(AbortAck),
        /// The session has a new title.
        "title_updated" => TitleUpdated(TitleUpdated),
        /// Something that a person should know of the running turn. Since 2.
        "notice" => Notice(Notice),
        /// Something the client sent, or the turn, failed.
        "error" => Error(ErrorMessage),
    }
}

structs! {
    /// `session_start`.
    SessionStart {
        /// The version agreed so far.
        v: u32,
        /// The session's id; always there.
        session_id: String,
        /// Whether it existed before.
        resumed: bool,
        /// How many messages it holds.
        message_count: u64,
        /// The client's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The agent's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
        /// The model that answers, as `NAME/ID`; not there where none is set up. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Whether a turn is running, which is shown from here on. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        busy: Option<bool>,
    }

    /// `connected`.
    Connected {
        /// The version agreed.
        v: u32,
        /// Always `Connection established`.
        message: String,
        /// The slug of this connection's source. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// What to give in `connect` after a lost connection. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume_token: Option<String>,
        /// How often the gateway pings, in milliseconds. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heartbeat_ms: Option<u64>,
        /// What the gateway accepts. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<ConnectionLimits>,
    }

    /// `tools_registered`.
    ToolsRegistered {
        /// How many the message held.
        count: usize,
        /// How many of this connection are live now.
        registered: usize,
        /// Which were refused, and why. Since 2.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejected: Vec<Rejected>,
    }

    /// A refused tool.
    Rejected {
        /// Its name, as far as it could be read.
        name: String,
        /// Why.
        reason: String,
    }

    /// `registered_tools`.
    RegisteredTools {
        /// The live tools of this connection, as they were registered.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<SpecDocument>"))]
        tools: Vec<RawJson>,
    }

    /// `chunk`.
    Text {
        /// The text.
        content: String,
    }

    /// `thinking`.
    Thinking {
        /// The text.
        content: String,
    }

    /// `chunk_reset`.
    ChunkReset {}

    /// `tool_call`.
    ToolCall {
        /// The call's id.
        id: String,
        /// The tool's name as the model sees it.
        name: String,
        /// Always an object.
        args: RawJson,
    }

    /// `tool_progress` of a call this client started or whose chat it is.
    ToolProgressShown {
        /// The id given in `call_tool`, or the call's id in a chat.
        id: String,
        /// The tool's name.
        name: String,
        /// How far.
        progress: f64,
        /// Of how much.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Output so far.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentPart>,
    }

    /// `tool_call_request`.
    ToolCallRequest {
        /// The call's id.
        id: String,
        /// The tool's name as the device registered it.
        name: String,
        /// The arguments; always an object.
        args: RawJson,
        /// How many milliseconds remain. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        /// 1, and one more each time it is sent again. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    }

    /// `tool_call_cancel`.
    ToolCallCancel {
        /// The call's id.
        id: String,
        /// Why.
        reason: String,
    }

    /// `result_acknowledged`.
    ResultAcknowledged {
        /// The call's id.
        id: String,
        /// What became of the result. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<ResultStatus>,
    }

    /// `permission_request`.
    PermissionRequest {
        /// The question's id.
        id: String,
        /// `permission` or `approval`.
        kind: String,
        /// The tool's name.
        tool: String,
        /// The permission asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permission: Option<String>,
        /// Why it is asked.
        reason: String,
        /// The arguments, cut to what a person can read.
        args_preview: String,
        /// How many milliseconds remain to answer.
        expires_ms: u64,
    }

    /// `debug_prompt`.
    DebugPrompt {
        /// What was sent to the model; each message's content is a string.
        messages: Vec<RawJson>,
    }

    /// `done`.
    Done {
        /// The whole text.
        full_response: String,
        /// Tokens used. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What it cost. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// The currency of `cost`. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        currency: Option<String>,
        /// How often the model was asked. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds: Option<u32>,
        /// How many tools it called. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_calls: Option<u32>,
        /// Why its last answer ended: `stop`, `length`, or another word. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
    }

    /// Tokens used.
    Usage {
        /// Read.
        input: Option<u64>,
        /// Written.
        output: Option<u64>,
        /// Read from the provider's cache.
        cached: Option<u64>,
        /// Spent on thinking.
        reasoning: Option<u64>,
    }

    /// `aborted`.
    Aborted {
        /// Tokens used. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What it cost. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// The currency of `cost`. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        currency: Option<String>,
    }

    /// `abort_ack`.
    AbortAck {
        /// What was done.
        status: String,
    }

    /// `title_updated`.
    TitleUpdated {
        /// The new title.
        title: String,
    }

    /// `notice`.
    Notice {
        /// For programs.
        code: String,
        /// In words.
        message: String,
    }

    /// `error`.
    ErrorMessage {
        /// In words.
        message: String,
        /// The reason, for programs; listed under `x-error-codes`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// What to do about it. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// Where a turn failed: the fine reason. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
}

impl ToolCallRequest {
    /// Writes the frame without copying its parts first. `deadline_ms` and `attempt` are for version 2.
    #[must_use]
    pub fn write(
        id: CallId,
        name: &str,
        args: &RawJson,
        deadline_ms: Option<u64>,
        attempt: Option<u32>,
    ) -> String {
        #[derive(Serialize)]
        struct ToolCallRequestFrame<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            id: CallId,
            name: &'a str,
            args: &'a RawJson,
            #[serde(skip_serializing_if = "Option::is_none")]
            deadline_ms: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            attempt: Option<u32>,
        }
        write(&ToolCallRequestFrame { kind: "tool_call_request", id, name, args, deadline_ms, attempt })
    }
}

/// What became of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It is the call's outcome.
    Accepted,
    /// The call had already ended otherwise.
    Late,
    /// The call already has this device's result.
    Duplicate,
    /// No such call of this device.
    Unknown,
}

/// `tool_result` in a chat.
// For whoever reads it; `ToolResultShown::write` makes the frame from an outcome.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatToolResult {
    /// The call's id.
    pub id: String,
    /// The tool's name as the model sees it.
    pub name: String,
    /// The result as text, or what went wrong; always a string.
    pub output: String,
    /// How long it took, in milliseconds. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// `success` or `error`. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What the tool gave. Since 2.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Parts other than text. Since 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentPart>,
    /// `timeout`, `permission_denied`, `execution_error` or `validation_error`. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// What went wrong. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The fine reason; listed under `x-codes`. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What to do about it. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What to open so that the user can authorise. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorize_intent: Option<RawJson>,
    /// Whether the request had left for the tool. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatched: Option<bool>,
    /// Whether the same call may succeed when made again. Since 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl ChatToolResult {
    /// Writes the frame for an outcome, without copying it first. `duration_ms` is for version 2, and with it the
    /// fields of the outcome.
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

/// An outcome as a text: its text, or its structured value where it has none; or what went wrong.
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

/// `call_result`: the answer to `call_tool`.
// For whoever reads it; `CallResult::write` makes the frame from an outcome.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallResult {
    /// The id given in `call_tool`.
    pub id: String,
    /// The call's own id.
    pub call_id: String,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// `success` or `error`.
    pub status: String,
    /// What the tool gave.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Parts other than text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentPart>,
    /// `timeout`, `permission_denied`, `execution_error` or `validation_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The fine reason; listed under `x-codes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What to open so that the user can authorise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorize_intent: Option<RawJson>,
    /// Whether the request had left for the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatched: Option<bool>,
    /// Whether the same call may succeed when made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl CallResult {
    /// Writes the frame for an outcome, without copying it first.
    #[must_use]
    pub fn write(id: &str, call_id: CallId, duration_ms: f64, outcome: &Outcome) -> String {
        #[derive(Serialize)]
        struct CallResultFrame<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            id: &'a str,
            call_id: CallId,
            duration_ms: f64,
            #[serde(flatten)]
            envelope: ResultEnvelope<'a>,
        }
        write(&CallResultFrame {
            kind: "call_result",
            id,
            call_id,
            duration_ms,
            envelope: ResultEnvelope(outcome),
        })
    }
}

#[cfg(test)]
mod tests;
