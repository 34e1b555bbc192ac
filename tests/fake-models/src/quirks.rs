//! Differences between servers that call themselves compatible and OpenAI's.

use serde::{Deserialize, Serialize};

/// Differences from OpenAI's server, as in many that call themselves compatible.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApiQuirks {
    /// Tool calls have no `id`.
    pub no_call_ids: bool,
    /// Deltas of tool calls have no `index`.
    pub no_call_index: bool,
    /// All deltas of tool calls have index 0; a new `id` starts the next call.
    pub index_always_zero: bool,
    /// A tool call's arguments are a JSON object instead of a text.
    pub arguments_as_object: bool,
    /// Tool calls end with `finish_reason: "stop"`.
    pub finish_stop_for_calls: bool,
    /// Field for thinking: `reasoning_content` by default, or for example `reasoning`.
    pub thinking_field: Option<String>,
    /// Each chunk has the usage so far, instead of a last chunk without choices.
    pub usage_in_each_chunk: bool,
    /// The stream ends without `[DONE]`.
    pub no_done: bool,
    /// Comments between the chunks, as sent by routers while they wait.
    pub comments: bool,
}
