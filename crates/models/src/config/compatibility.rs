//! What of Chat Completions a server has. For a server that nobody described, the careful values count: what it
//! may not know is not sent.

use http::HeaderName;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::provider_kind::ProviderKind;

/// How the most tokens of an answer are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// How the number is called that makes chance repeatable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedField {
    /// `seed`.
    Seed,
    /// `random_seed`.
    RandomSeed,
    /// There is none.
    None,
}

/// Which forms of `tool_choice` there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoiceSupport {
    /// The words `none`, `auto`, `required`, and an object that names a tool.
    Full,
    /// The words alone. A single tool is forced by `required` with no other tool beside it.
    StringOnly,
    /// None: the model does as it likes.
    None,
}

/// How an answer is kept to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutputMode {
    /// `response_format` of type `json_schema`.
    JsonSchema,
    /// `response_format` of type `json_object`; the schema is put into the instructions.
    JsonObject,
    /// The schema is put into the instructions, and that is all.
    Instructions,
}

/// What form ids of tool calls must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdFormat {
    /// Any text.
    Any,
    /// Nine letters and digits (Mistral).
    NineAlphanumeric,
}

/// How thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningRequest {
    /// Not at all: the model does as it likes.
    None,
    /// `reasoning_effort`.
    Effort,
    /// `reasoning` with `effort` (OpenRouter).
    Object,
    /// `thinking` with `type` `enabled` or `disabled` (DeepSeek).
    Thinking,
}

/// How thinking is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// Not at all.
    None,
    /// As `reasoning_content` of every answer, empty where an answer has none (DeepSeek, which refuses what lacks it).
    Content,
    /// As `reasoning_details`, just as they came (OpenRouter).
    Details,
}

/// The header that carries the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyHeader {
    /// Its name.
    pub name: HeaderName,
    /// Whether `Bearer ` stands before the key, as it does in the header `authorization`.
    pub bearer: bool,
}

impl Default for ApiKeyHeader {
    fn default() -> Self {
        Self { name: http::header::AUTHORIZATION, bearer: true }
    }
}

impl Serialize for ApiKeyHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name.as_str())
    }
}

impl<'de> Deserialize<'de> for ApiKeyHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let name: HeaderName =
            text.parse().map_err(|_| de::Error::custom(format!("{text:?} is no header's name")))?;
        Ok(Self { bearer: name == http::header::AUTHORIZATION, name })
    }
}

macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $careful:expr,)*) => {
        /// What of Chat Completions a server has.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        pub struct Switches {
            $($(#[$doc])* pub $name: $type,)*
        }

        /// What an owner says about a server; what is not said stays as it was.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct SwitchChanges {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,)*
        }

        impl Switches {
            /// The careful ones, for a server of which nothing is known.
            #[must_use]
            pub fn careful() -> Self {
                Self { $($name: $careful,)* }
            }

            /// With these changes.
            #[must_use]
            pub fn with(mut self, changes: &SwitchChanges) -> Self {
                $(if let Some(value) = &changes.$name { self.$name.clone_from(value); })*
                self
            }
        }
    };
}

switches! {
    /// Whether `stream_options` with `include_usage` is known. Without it tokens are counted only where the server
    /// reports them unasked.
    stream_usage: bool = false,
    /// How the most tokens of an answer are called.
    max_tokens: MaxTokensField = MaxTokensField::MaxTokens,
    /// Whether instructions have the role `developer`; otherwise it is `system`.
    developer_role: bool = false,
    /// Whether there are tools at all.
    tools: bool = true,
    /// Most tools in one request.
    max_tools: usize = 128,
    /// Whether a tool's description may have more than 1024 characters; otherwise the rest is cut off.
    long_descriptions: bool = false,
    /// Which forms of `tool_choice` there are.
    tool_choice: ToolChoiceSupport = ToolChoiceSupport::Full,
    /// Whether `parallel_tool_calls` is known.
    parallel_tool_calls: bool = false,
    /// Whether tools are sent in strict form where their schema can be said in it. Then the model keeps to the
    /// schema, but must give every property, optional ones as null.
    strict: bool = false,
    /// Whether pictures are taken. Where they are not, a text stands in their place.
    images: bool = false,
    /// How an answer is kept to a schema.
    structured_output: StructuredOutputMode = StructuredOutputMode::Instructions,
    /// What form ids of tool calls must have.
    call_ids: CallIdFormat = CallIdFormat::Any,
    /// How thinking is asked for.
    reasoning: ReasoningRequest = ReasoningRequest::None,
    /// How thinking is sent back.
    reasoning_replay: ReasoningReplay = ReasoningReplay::None,
    /// Whether a message's content may be a list of parts; otherwise it is always one text.
    content_parts: bool = true,
    /// Whether the content of a message with tool calls may be null; otherwise it is an empty text.
    null_content: bool = false,
    /// Whether a person's message may follow a tool's result; otherwise a short message of the model is put
    /// between.
    user_after_tool: bool = true,
    /// How the number is called that makes chance repeatable.
    seed: SeedField = SeedField::Seed,
    /// The header that carries the key. In any other than `authorization` the key stands alone.
    key_header: ApiKeyHeader = ApiKeyHeader::default(),
}

impl Switches {
    /// Those of a kind: all of it for OpenAI itself, the careful ones for any other server.
    #[must_use]
    pub fn for_kind(kind: ProviderKind) -> Self {
        match kind {
            ProviderKind::Openai | ProviderKind::OpenaiResponses => Self::for_openai(),
            ProviderKind::Compatible | ProviderKind::Anthropic | ProviderKind::Gemini => Self::careful(),
        }
    }

    /// OpenAI's own.
    fn for_openai() -> Self {
        Self {
            stream_usage: true,
            max_tokens: MaxTokensField::MaxCompletionTokens,
            developer_role: true,
            parallel_tool_calls: true,
            images: true,
            structured_output: StructuredOutputMode::JsonSchema,
            reasoning: ReasoningRequest::Effort,
            null_content: true,
            ..Self::careful()
        }
    }
}

#[cfg(test)]
mod tests;
