//! What happens in a turn, as the gateway's events say it.

use serde::Deserialize;
use toolway_types::RawJson;

use crate::client::{Event, read};
use crate::print::amount::Tokens;
use crate::report::{Done, Failure};

/// One thing that happened.
#[derive(Debug)]
pub(super) enum TurnEvent {
    /// The turn has begun, in this session.
    Started(Started),
    Chunk(String),
    Thinking(String),
    /// The text shown so far does not count.
    Reset,
    ToolCall(ToolCall),
    ToolProgress(ToolProgress),
    ToolResult(ToolResult),
    Notice(String),
    /// The turn is over, as it should be.
    Done(Totals),
    /// Somebody stopped it.
    Aborted(Totals),
    /// It failed.
    Failed(Failed),
}

#[derive(Debug, Deserialize)]
pub(super) struct Started {
    pub(super) session_id: String,
    pub(super) agent: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: RawJson,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolProgress {
    pub(super) id: String,
    pub(super) progress: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) duration_ms: Option<f64>,
    pub(super) status: String,
    pub(super) result: Option<RawJson>,
    pub(super) code: Option<String>,
    pub(super) message: Option<String>,
    pub(super) hint: Option<String>,
}

impl ToolResult {
    pub(super) fn is_success(&self) -> bool {
        self.status == "success"
    }
}

/// What a turn took.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Totals {
    pub(super) full_response: Option<String>,
    pub(super) usage: Option<Tokens>,
    pub(super) cost: Option<f64>,
    pub(super) currency: Option<String>,
}

/// Why a turn failed.
#[derive(Debug, Deserialize)]
pub(super) struct Failed {
    #[serde(default)]
    code: Option<String>,
    message: String,
    #[serde(default)]
    hint: Option<String>,
}

impl Failed {
    /// In the gateway's words.
    pub(super) fn failure(&self) -> Failure {
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
        Failure::new(self.message.as_str()).code(code).maybe_hint(hint)
    }
}

#[derive(Deserialize)]
struct Text {
    content: String,
}

#[derive(Deserialize)]
struct Words {
    message: String,
}

impl TurnEvent {
    /// Reads an event; none where it is one that this program does not know.
    pub(super) fn read(event: &Event) -> Done<Option<Self>> {
        let data = &event.data;
        Ok(Some(match event.kind.as_str() {
            "session_start" => Self::Started(read(data)?),
            "chunk" => Self::Chunk(read::<Text>(data)?.content),
            "thinking" => Self::Thinking(read::<Text>(data)?.content),
            "chunk_reset" => Self::Reset,
            "tool_call" => Self::ToolCall(read(data)?),
            "tool_progress" => Self::ToolProgress(read(data)?),
            "tool_result" => Self::ToolResult(read(data)?),
            "notice" => Self::Notice(read::<Words>(data)?.message),
            "done" => Self::Done(read(data)?),
            "aborted" => Self::Aborted(read(data)?),
            "error" => Self::Failed(read(data)?),
            _ => return Ok(None),
        }))
    }
}
