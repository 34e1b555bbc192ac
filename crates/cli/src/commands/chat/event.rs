//! What happens in a turn, as the gateway's events say it.

use serde::Deserialize;
use toolway_types::RawJson;

use crate::client::{GatewayEvent, parse_response};
use crate::error::{CliError, CliResult};
use crate::print::amount::Tokens;

/// One thing that happened.
#[derive(Debug)]
pub(super) enum TurnEvent {
    /// The turn has begun, in this session.
    Started(TurnStarted),
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
    Failed(TurnFailed),
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnStarted {
    pub(super) session_id: String,
    pub(super) agent: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: RawJson,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnToolProgress {
    pub(super) id: String,
    pub(super) progress: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnToolResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) duration_ms: Option<f64>,
    pub(super) status: String,
    pub(super) result: Option<RawJson>,
    pub(super) code: Option<String>,
    pub(super) message: Option<String>,
    pub(super) hint: Option<String>,
}

impl TurnToolResult {
    pub(super) fn is_success(&self) -> bool {
        self.status == "success"
    }
}

/// What a turn took.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct TurnTotals {
    pub(super) full_response: Option<String>,
    pub(super) usage: Option<Tokens>,
    pub(super) cost: Option<f64>,
    pub(super) currency: Option<String>,
}

/// Why a turn failed.
#[derive(Debug, Deserialize)]
pub(super) struct TurnFailed {
    #[serde(default)]
    code: Option<String>,
    message: String,
    #[serde(default)]
    hint: Option<String>,
}

impl TurnFailed {
    /// In the gateway's words.
    pub(super) fn to_error(&self) -> CliError {
        let code = self.code.clone().unwrap_or_else(|| "AGENT_ERROR".to_owned());
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
        let hint = self.hint.clone().or_else(|| usual.map(str::to_owned));
        CliError::new(self.message.as_str()).with_code(code).with_optional_hint(hint)
    }
}

#[derive(Deserialize)]
struct ContentPayload {
    content: String,
}

#[derive(Deserialize)]
struct NoticePayload {
    message: String,
}

impl TurnEvent {
    /// Reads an event; none where it is one that this program does not know.
    pub(super) fn parse(event: &GatewayEvent) -> CliResult<Option<Self>> {
        let data = &event.data;
        Ok(Some(match event.kind.as_str() {
            "session_start" => Self::Started(parse_response(data)?),
            "chunk" => Self::Chunk(parse_response::<ContentPayload>(data)?.content),
            "thinking" => Self::Thinking(parse_response::<ContentPayload>(data)?.content),
            "chunk_reset" => Self::Reset,
            "tool_call" => Self::ToolCall(parse_response(data)?),
            "tool_progress" => Self::ToolProgress(parse_response(data)?),
            "tool_result" => Self::ToolResult(parse_response(data)?),
            "notice" => Self::Notice(parse_response::<NoticePayload>(data)?.message),
            "done" => Self::Done(parse_response(data)?),
            "aborted" => Self::Aborted(parse_response(data)?),
            "error" => Self::Failed(parse_response(data)?),
            _ => return Ok(None),
        }))
    }
}
