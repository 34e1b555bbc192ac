//! Parses the gateway's events of a turn.

use toolway_api::chat::{
    SessionStart, TextDelta, TurnFailure, TurnNotice, TurnToolCall, TurnToolProgress, TurnToolResult,
    TurnTotals,
};
use toolway_api::event_stream::SESSION_START;

use crate::client::{GatewayEvent, parse_response};
use crate::error::{CliError, CliResult};

/// An event of a turn.
#[derive(Debug)]
pub(super) enum TurnEvent {
    /// The turn started in this session.
    Started(SessionStart),
    Chunk(String),
    Thinking(String),
    /// The model starts over: discard the text received so far.
    Reset,
    ToolCall(TurnToolCall),
    ToolProgress(TurnToolProgress),
    ToolResult(TurnToolResult),
    Notice(String),
    /// The turn ended normally.
    Done(TurnTotals),
    /// The turn was stopped.
    Aborted(TurnTotals),
    /// The turn failed.
    Failed(TurnFailure),
}

/// Converts a failed turn to an error.
pub(super) fn failure_error(failure: &TurnFailure) -> CliError {
    let code = failure.code.clone().unwrap_or_else(|| "AGENT_ERROR".to_owned());
    let usual = match code.as_str() {
        "NO_MODEL" => {
            Some("add a model with `toolway models add`; `toolway models presets` lists the known providers")
        }
        "AUTH_ERROR" => {
            Some("`toolway models list` shows the location of the API key; `toolway models test` checks it")
        }
        "PROVIDER_ERROR" => Some("check the model provider with `toolway models test`"),
        _ => None,
    };
    let hint = failure.hint.clone().or_else(|| usual.map(str::to_owned));
    CliError::new(failure.message.as_str()).with_code(code).with_optional_hint(hint)
}

impl TurnEvent {
    /// Parses an event; `None` if this program does not know its type.
    pub(super) fn parse(event: &GatewayEvent) -> CliResult<Option<Self>> {
        let data = &event.data;
        Ok(Some(match event.kind.as_str() {
            SESSION_START => Self::Started(parse_response(data)?),
            "chunk" => Self::Chunk(parse_response::<TextDelta>(data)?.content),
            "thinking" => Self::Thinking(parse_response::<TextDelta>(data)?.content),
            "chunk_reset" => Self::Reset,
            "tool_call" => Self::ToolCall(parse_response(data)?),
            "tool_progress" => Self::ToolProgress(parse_response(data)?),
            "tool_result" => Self::ToolResult(parse_response(data)?),
            "notice" => Self::Notice(parse_response::<TurnNotice>(data)?.message),
            "done" => Self::Done(parse_response(data)?),
            "aborted" => Self::Aborted(parse_response(data)?),
            "error" => Self::Failed(parse_response(data)?),
            _ => return Ok(None),
        }))
    }
}
