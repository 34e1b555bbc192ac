//! Messages from the gateway.

mod call_frames;

use serde::Serialize;
#[cfg(feature = "schema")]
use toolway_types::SpecDocument;
use toolway_types::{ContentPart, RawJson};

use crate::codec::{messages, structs, write};
use crate::limits::ConnectionLimits;

pub use call_frames::{CallResult, ChatToolResult, ResultStatus};

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

#[cfg(test)]
mod tests;
