//! What happens in a turn, as the gateway's events say it.

use toolway_api::chat::{
    SessionStart, TextDelta, TurnFailure, TurnNotice, TurnToolCall, TurnToolProgress, TurnToolResult,
    TurnTotals,
};
use toolway_api::event_stream::SESSION_START;

use crate::client::{GatewayEvent, parse_response};
use crate::error::{CliError, CliResult};

/// One thing that happened.
#[derive(Debug)]
pub(super) enum TurnEvent {
    /// The turn has begun, in this session.
    Started(SessionStart),
    Chunk(String),
    Thinking(String),
    /// The text shown so far does not count.
    Reset,
    ToolCall(TurnToolCall),
    ToolProgress(TurnToolProgress),
    ToolResult(TurnToolResult),
    Notice(String),
    /// The turn is over, as it should be.
    Done(TurnTotals),
    /// Somebody stopped it.
    Aborted(TurnTotals),
    /// It failed.
    Failed(TurnFailure),
}

/// The failure of a turn as an error of this program.
pub(super) fn failure_error(failure: &TurnFailure) -> CliError {
    let code = failure.code.clone().unwrap_or_else(|| "AGENT_ERROR".to_owned());
    let usual = match code.as_str() {
        "NO_MODEL" => {
            Some("`toolway models add` adds one; `toolway models presets` lists those that are known")
        }
        "AUTH_ERROR" => {
            Some("`toolway models list` shows where the key is read from, `toolway models test` tries it")
        }
        "PROVIDER_ERROR" => Some("`toolway models test` tries the model provider by itself"),
        _ => None,
    };
    let hint = failure.hint.clone().or_else(|| usual.map(str::to_owned));
    CliError::new(failure.message.as_str()).with_code(code).with_optional_hint(hint)
}

impl TurnEvent {
    /// Reads an event; none where it is one that this program does not know.
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
