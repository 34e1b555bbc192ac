//! Events of the Responses API, as far as they are read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient;
use crate::usage::ModelUsage;

/// Type of an event, for events without a name.
#[derive(Deserialize)]
pub(super) struct ResponsesEventType<'a> {
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
}

/// A piece of text, thinking or arguments.
#[derive(Deserialize)]
pub(super) struct OutputItemDelta {
    #[serde(default)]
    pub(super) output_index: u64,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) delta: Option<String>,
}

/// A part of a summary begins.
#[derive(Deserialize)]
pub(super) struct SummaryPartEvent {
    #[serde(default)]
    pub(super) output_index: u64,
}

/// An item begins, or is whole.
#[derive(Deserialize)]
pub(super) struct OutputItemEvent<'a> {
    #[serde(default)]
    pub(super) output_index: u64,
    #[serde(borrow)]
    pub(super) item: ResponsesOutputItem<'a>,
}

/// An item of a response.
#[derive(Deserialize)]
pub(super) struct ResponsesOutputItem<'a> {
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) id: Option<Cow<'a, str>>,
    /// Parts of a message, or unencrypted text of thinking.
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) content: Vec<OutputContentPart>,
    /// Phase of a message: final answer or commentary.
    #[serde(borrow)]
    pub(super) phase: Option<&'a RawValue>,
    /// Of thinking: its summary.
    #[serde(borrow)]
    pub(super) summary: Option<&'a RawValue>,
    /// Of thinking: its encrypted form.
    #[serde(borrow)]
    pub(super) encrypted_content: Option<&'a RawValue>,
    /// Of a call: the id by which its result names it.
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) call_id: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) arguments: Option<String>,
}

/// A part of a message, of thinking, or of a summary.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputContentPart {
    #[serde(deserialize_with = "lenient::text")]
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "lenient::text")]
    pub(super) refusal: Option<String>,
}

/// Start of a response.
#[derive(Deserialize)]
pub(super) struct ResponseCreatedEvent<'a> {
    #[serde(borrow)]
    pub(super) response: CreatedResponse<'a>,
}

#[derive(Deserialize)]
pub(super) struct CreatedResponse<'a> {
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) model: Option<Cow<'a, str>>,
}

/// End of a response, successful or not.
#[derive(Deserialize)]
pub(super) struct ResponseEndedEvent<'a> {
    #[serde(borrow)]
    pub(super) response: EndedResponse<'a>,
}

/// A response. Its items are read only if they did not arrive as events.
#[derive(Deserialize)]
pub(super) struct EndedResponse<'a> {
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) incomplete_details: IncompleteDetails,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) usage: ResponsesUsage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct IncompleteDetails {
    #[serde(deserialize_with = "lenient::text")]
    pub(super) reason: Option<String>,
}

/// Tokens.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesUsage {
    #[serde(deserialize_with = "lenient::count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::object")]
    input_tokens_details: InputTokensDetails,
    #[serde(deserialize_with = "lenient::count")]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::object")]
    output_tokens_details: OutputTokensDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputTokensDetails {
    #[serde(deserialize_with = "lenient::count")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputTokensDetails {
    #[serde(deserialize_with = "lenient::count")]
    reasoning_tokens: Option<u64>,
}

impl ResponsesUsage {
    pub(super) fn usage(&self) -> ModelUsage {
        ModelUsage {
            input: self.input_tokens,
            output: self.output_tokens,
            cached: self.input_tokens_details.cached_tokens,
            cache_written: self.input_tokens_details.cache_write_tokens,
            reasoning: self.output_tokens_details.reasoning_tokens,
        }
    }
}
