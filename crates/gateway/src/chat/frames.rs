//! Converts events of a turn to messages for chat clients of every transport. A version 1 connection gets
//! only messages of version 1.

use toolway_agent::event::{NoticeCode, TurnEnd, TurnEvent, TurnFailure, TurnFailureCode, TurnStatus};
use toolway_agent::turn::RunningToolCall;
use toolway_models::FinishReason;
use toolway_types::{CallId, RawJson};
use toolway_wire::gateway_message::{
    Aborted, ChatToolResult, ChunkReset, DebugPrompt, Done, ErrorMessage, Notice, Text, Thinking,
    TitleUpdated, ToolCall, ToolProgressShown, Usage,
};
use toolway_wire::{GatewayMessage, error_code};

/// A serialized message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatFrame {
    /// The message's `type`.
    pub(crate) kind: &'static str,
    /// The whole message, a JSON object.
    pub(crate) text: String,
}

impl ChatFrame {
    /// Serializes a message.
    pub(crate) fn of(message: impl Into<GatewayMessage>) -> Self {
        let message = message.into();
        Self { kind: message.kind(), text: message.encode() }
    }
}

/// Converts an event to a message, or to `None` if the protocol version has no message for it.
pub(crate) fn event_frame(event: TurnEvent, version: u32) -> Option<ChatFrame> {
    let is_newer = version >= 2;
    Some(match event {
        TurnEvent::Chunk(content) => ChatFrame::of(Text { content }),
        TurnEvent::Thinking(content) => ChatFrame::of(Thinking { content }),
        TurnEvent::ChunkReset => ChatFrame::of(ChunkReset {}),
        TurnEvent::ToolCall { id, name, arguments } => call_frame(id, name, arguments),
        TurnEvent::ToolProgress { id, name, progress } if is_newer => ChatFrame::of(ToolProgressShown {
            id: id.to_string(),
            name,
            progress: progress.progress,
            total: progress.total,
            message: progress.message,
            content: progress.content,
        }),
        TurnEvent::WaitingForApproval { id, name, message } if is_newer => ChatFrame::of(ToolProgressShown {
            id: id.to_string(),
            name,
            progress: 0.0,
            total: None,
            message: Some(message),
            content: Vec::new(),
        }),
        // Version 1 shows nothing but text while a call runs.
        TurnEvent::WaitingForApproval { name, message, .. } => {
            ChatFrame::of(Text { content: format!("\n\n[{name}: {message}]\n\n") })
        }
        TurnEvent::ToolResult { id, name, outcome, duration } => {
            let duration_ms = is_newer.then_some(duration.as_secs_f64() * 1000.0);
            ChatFrame { kind: "tool_result", text: ChatToolResult::write(id, &name, &outcome, duration_ms) }
        }
        TurnEvent::Retrying { attempt, wait, error } if is_newer => {
            let message =
                format!("attempt {attempt} failed ({error}); retrying in {:.1} s", wait.as_secs_f64());
            ChatFrame::of(Notice { code: "retrying".to_owned(), message })
        }
        TurnEvent::Notice { code, message } if is_newer => {
            ChatFrame::of(Notice { code: serialized_name(&code), message })
        }
        // Version 1 has no notices. A client shows this text with the model's thinking, outside the answer.
        TurnEvent::Notice { code: NoticeCode::ToolsLeftOut | NoticeCode::PartsReplaced, message } => {
            ChatFrame::of(Thinking { content: format!("[{message}]\n") })
        }
        TurnEvent::DebugPrompt(messages) if !is_newer => {
            ChatFrame { kind: "debug_prompt", text: DebugPrompt { messages }.write_version_1() }
        }
        TurnEvent::DebugPrompt(messages) => ChatFrame::of(DebugPrompt { messages }),
        TurnEvent::Ended(end) => end_frame(end, version),
        TurnEvent::TitleGenerated(title) => ChatFrame::of(TitleUpdated { title }),
        TurnEvent::ToolProgress { .. } | TurnEvent::Retrying { .. } | TurnEvent::Notice { .. } => {
            return None;
        }
    })
}

/// Creates the message for the start of a tool call.
pub(crate) fn call_frame(id: CallId, name: String, args: RawJson) -> ChatFrame {
    ChatFrame::of(ToolCall { id: id.to_string(), name, args })
}

/// Creates the messages that show the turn so far to a new watcher.
pub(crate) fn catch_up_frames(text: String, calls: Vec<RunningToolCall>) -> impl Iterator<Item = ChatFrame> {
    let text = (!text.is_empty()).then(|| ChatFrame::of(Text { content: text }));
    text.into_iter().chain(calls.into_iter().map(|it| call_frame(it.id, it.name, it.arguments)))
}

fn end_frame(end: TurnEnd, version: u32) -> ChatFrame {
    let is_newer = version >= 2;
    let (usage, cost) = (is_newer.then(|| usage(&end)), end.cost.filter(|_| is_newer));
    let currency = end.currency.filter(|_| cost.is_some());
    match end.status {
        TurnStatus::Done => ChatFrame::of(Done {
            full_response: end.full_response,
            usage,
            cost,
            currency,
            rounds: is_newer.then_some(end.rounds),
            tool_calls: is_newer.then_some(end.tool_calls),
            finish_reason: end.finish.filter(|_| is_newer).map(|reason| finish_reason_name(&reason)),
        }),
        TurnStatus::Aborted => ChatFrame::of(Aborted { usage, cost, currency }),
        TurnStatus::Failed(why) => {
            let error = error_message(why);
            ChatFrame::of(match is_newer {
                true => error,
                false => ErrorMessage { hint: None, reason: None, ..error },
            })
        }
    }
}

/// Creates the `error` message that ends a turn.
pub(crate) fn error_message(why: TurnFailure) -> ErrorMessage {
    let TurnFailure { code, message, hint } = why;
    ErrorMessage {
        message,
        code: Some(failure_code(code).to_owned()),
        hint,
        reason: Some(serialized_name(&code)),
        id: None,
    }
}

fn usage(end: &TurnEnd) -> Usage {
    let usage = end.usage;
    Usage { input: usage.input, output: usage.output, cached: usage.cached, reasoning: usage.reasoning }
}

/// Returns the name of the reason why an answer ended.
pub(crate) fn finish_reason_name(reason: &FinishReason) -> String {
    match reason {
        FinishReason::Other(said) => said.clone(),
        known => serialized_name(known),
    }
}

/// Returns the code of the `error` that ends a turn.
fn failure_code(code: TurnFailureCode) -> &'static str {
    match code {
        TurnFailureCode::NoModel => error_code::NO_MODEL,
        TurnFailureCode::Auth => error_code::AUTH_ERROR,
        TurnFailureCode::Provider => error_code::PROVIDER_ERROR,
        TurnFailureCode::LimitReached
        | TurnFailureCode::BudgetExceeded
        | TurnFailureCode::ContextTooLong
        | TurnFailureCode::ShuttingDown
        | TurnFailureCode::Internal => error_code::AGENT_ERROR,
    }
}

/// Returns the serialized name of a value without fields.
fn serialized_name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
