//! How servers that call themselves compatible differ from OpenAI's.

use serde::{Deserialize, Serialize};

/// How a server differs from OpenAI's, as many do that call themselves compatible.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApiQuirks {
    /// Tool calls have no `id`.
    pub no_call_ids: bool,
    /// Deltas of tool calls have no `index`.
    pub no_call_index: bool,
    /// All deltas of tool calls say index 0; a new `id` begins the next call.
    pub index_always_zero: bool,
    /// A tool call's arguments come as a JSON object, not as text.
    pub arguments_as_object: bool,
    /// Calls of tools end with `finish_reason: "stop"`.
    pub finish_stop_for_calls: bool,
    /// The field for thinking: `reasoning_content` where nothing is said, elsewhere `reasoning`.
    pub thinking_field: Option<String>,
    /// Each chunk carries the usage so far, not a last one without choices.
    pub usage_in_each_chunk: bool,
    /// The stream ends without `[DONE]`.
    pub no_done: bool,
    /// Comments between the chunks, as routers send them while they wait.
    pub comments: bool,
}
