//! Chunks of Gemini's responses, as far as they are read. Unknown types of parts are skipped.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient;
use crate::usage::ModelUsage;

/// A chunk of a stream, or a complete response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateContentResponse<'a> {
    #[serde(default, borrow)]
    pub(super) candidates: Option<Vec<GeminiCandidate<'a>>>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) prompt_feedback: PromptFeedback,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) usage_metadata: Option<GeminiUsage>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) model_version: Option<String>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiCandidate<'a> {
    #[serde(default, borrow)]
    pub(super) content: Option<CandidateContent<'a>>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) finish_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) finish_message: Option<String>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) index: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CandidateContent<'a> {
    #[serde(default, borrow)]
    pub(super) parts: Option<Vec<CandidatePart<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CandidatePart<'a> {
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(default, alias = "thought_signature", deserialize_with = "lenient::text")]
    pub(super) thought_signature: Option<String>,
    #[serde(default, borrow)]
    pub(super) function_call: Option<CandidateFunctionCall<'a>>,
    #[serde(default)]
    pub(super) inline_data: Option<CandidateBlob>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CandidateFunctionCall<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) name: Option<String>,
    #[serde(default, borrow)]
    pub(super) args: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CandidateBlob {
    pub(super) mime_type: String,
    pub(super) data: String,
}

/// Reason why there was no response.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PromptFeedback {
    pub(super) block_reason: Option<String>,
}

/// Token counts of the response so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiUsage {
    /// Those from the cache among them.
    #[serde(default, deserialize_with = "lenient::count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cached_content_token_count: Option<u64>,
    /// Thinking not among them.
    #[serde(default, deserialize_with = "lenient::count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    thoughts_token_count: Option<u64>,
}

impl GeminiUsage {
    pub(super) fn usage(self) -> ModelUsage {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        ModelUsage {
            input: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            output: sum(self.candidates_token_count, self.thoughts_token_count),
            cached: self.cached_content_token_count,
            cache_written: None,
            reasoning: self.thoughts_token_count,
        }
    }
}
