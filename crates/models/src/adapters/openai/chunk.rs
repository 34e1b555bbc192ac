//! The fields of Chat Completions chunks that we use. No field is required, and wrong types are tolerated:
//! servers send null for missing values, strings for lists, and lists for strings (pitfall M11).

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::lenient;
use crate::usage::ModelUsage;

/// Data of an event, or a complete response.
#[derive(Debug, Deserialize)]
pub(super) struct ChatCompletionChunk<'a> {
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<ChunkChoice<'a>>>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) usage: Option<CompletionUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Groq says here why it stopped early.
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) x_groq: Option<GroqExtension>,
}

#[derive(Debug, Deserialize)]
pub(super) struct GroqExtension {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) error: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) usage: Option<CompletionUsage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChunkChoice<'a> {
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<ChatCompletionDelta<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<ChatCompletionDelta<'a>>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatCompletionDelta<'a> {
    #[serde(default)]
    pub(super) content: DeltaContent,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) reasoning: Option<String>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) refusal: Option<String>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolCallDelta<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolCallDelta<'a> {
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) index: Option<u64>,
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(default, borrow, deserialize_with = "lenient::borrowed")]
    pub(super) name: Option<Cow<'a, str>>,
    /// JSON text; from some servers an object in its place.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Content of a message: a string, or, from Mistral's thinking models, a list of parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DeltaContent(pub(super) Vec<DeltaContentPart>);

/// Some of it.
#[derive(Debug, PartialEq)]
pub(super) enum DeltaContentPart {
    Text(String),
    Thinking(String),
}

impl<'de> Deserialize<'de> for DeltaContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DeltaContentVisitor)
    }
}

struct DeltaContentVisitor;

/// A part of a list.
#[derive(Deserialize)]
struct MistralContentPart {
    #[serde(default, deserialize_with = "lenient::text")]
    text: Option<String>,
    #[serde(default)]
    thinking: DeltaContent,
}

impl<'de> Visitor<'de> for DeltaContentVisitor {
    type Value = DeltaContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<DeltaContent, E> {
        self.visit_string(text.to_owned())
    }
    fn visit_string<E: Error>(self, text: String) -> Result<DeltaContent, E> {
        Ok(DeltaContent(if text.is_empty() { Vec::new() } else { vec![DeltaContentPart::Text(text)] }))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<DeltaContent, A::Error> {
        let mut said = Vec::new();
        while let Some(item) = items.next_element::<&RawValue>()? {
            let Ok(part) = serde_json::from_str::<MistralContentPart>(item.get()) else { continue };
            let thoughts = part.thinking.0.into_iter().map(|spoken| match spoken {
                DeltaContentPart::Text(text) | DeltaContentPart::Thinking(text) => {
                    DeltaContentPart::Thinking(text)
                }
            });
            said.extend(thoughts);
            said.extend(part.text.filter(|text| !text.is_empty()).map(DeltaContentPart::Text));
        }
        Ok(DeltaContent(said))
    }
    fn visit_unit<E: Error>(self) -> Result<DeltaContent, E> {
        Ok(DeltaContent::default())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<DeltaContent, E> {
        Ok(DeltaContent::default())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<DeltaContent, E> {
        Ok(DeltaContent::default())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<DeltaContent, E> {
        Ok(DeltaContent::default())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<DeltaContent, E> {
        Ok(DeltaContent::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<DeltaContent, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(DeltaContent::default())
    }
}

/// Tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionUsage {
    #[serde(deserialize_with = "lenient::count")]
    prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::count")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::count")]
    total_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::object")]
    prompt_tokens_details: PromptTokensDetails,
    #[serde(deserialize_with = "lenient::object")]
    completion_tokens_details: CompletionTokensDetails,
    /// DeepSeek's word for it.
    #[serde(deserialize_with = "lenient::count")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptTokensDetails {
    #[serde(deserialize_with = "lenient::count")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionTokensDetails {
    #[serde(deserialize_with = "lenient::count")]
    reasoning_tokens: Option<u64>,
}

impl CompletionUsage {
    pub(super) fn usage(&self) -> ModelUsage {
        let reasoning = self.completion_tokens_details.reasoning_tokens;
        ModelUsage {
            input: self.prompt_tokens,
            output: self.completion_tokens.map(|said| said.saturating_add(self.uncounted_reasoning_tokens())),
            cached: self.prompt_tokens_details.cached_tokens.or(self.prompt_cache_hit_tokens),
            cache_written: self.prompt_tokens_details.cache_write_tokens,
            reasoning,
        }
    }

    /// Returns the reasoning tokens if the server does not include them in the output tokens (xAI). The total shows it.
    fn uncounted_reasoning_tokens(&self) -> u64 {
        let (Some(prompt), Some(said), Some(total)) =
            (self.prompt_tokens, self.completion_tokens, self.total_tokens)
        else {
            return 0;
        };
        let thought = self.completion_tokens_details.reasoning_tokens.unwrap_or_default();
        let all = prompt.saturating_add(said).saturating_add(thought);
        if all == total { thought } else { 0 }
    }
}
