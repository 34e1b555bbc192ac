//! Events and responses of Messages, as far as they are read. Unknown types of events and blocks are skipped, as the
//! API requires.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient;

/// The data of an event.
#[derive(Debug, Deserialize)]
pub(super) struct MessageStreamEvent<'a> {
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(super) message: Option<MessageResponse<'a>>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) index: Option<u64>,
    #[serde(default, borrow)]
    pub(super) content_block: Option<MessageContentBlock<'a>>,
    #[serde(default, borrow)]
    pub(super) delta: Option<MessageStreamDelta<'a>>,
    #[serde(default)]
    pub(super) usage: Option<AnthropicUsage>,
}

/// A message as it begins, or a whole one.
#[derive(Debug, Deserialize)]
pub(super) struct MessageResponse<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<AnthropicUsage>,
    #[serde(default, borrow)]
    pub(super) content: Option<Vec<MessageContentBlock<'a>>>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) stop_reason: Option<String>,
}

/// A block as it begins, or a whole one.
#[derive(Debug, Deserialize)]
pub(super) struct MessageContentBlock<'a> {
    #[serde(default, borrow)]
    pub(super) r#type: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) text: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) thinking: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) signature: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) data: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) name: Option<String>,
    #[serde(default, borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// More of a block, or why the message ends.
#[derive(Debug, Deserialize)]
pub(super) struct MessageStreamDelta<'a> {
    #[serde(default, borrow)]
    pub(super) r#type: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) text: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) thinking: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) signature: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) partial_json: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) stop_reason: Option<String>,
}

/// Tokens. Those read from the cache and written into it are not among `input_tokens`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct AnthropicUsage {
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) output_tokens_details: AnthropicOutputTokensDetails,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct AnthropicOutputTokensDetails {
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) thinking_tokens: Option<u64>,
}
