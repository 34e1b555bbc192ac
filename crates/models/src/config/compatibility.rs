//! Features of OpenAI's APIs that a server supports. The defaults for an unknown server are conservative: a request
//! contains nothing that the server may not know.

use http::HeaderName;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::provider_kind::ProviderKind;

/// Name of the field that limits output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// Name of the field for the random seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedField {
    /// `seed`.
    Seed,
    /// `random_seed`.
    RandomSeed,
    /// The server has no such field.
    None,
}

/// Supported forms of `tool_choice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoiceSupport {
    /// The strings `none`, `auto` and `required`, and an object that names a tool.
    Full,
    /// Only the strings. To force a single tool, the request contains only this tool, with `required`.
    StringOnly,
    /// None: the model does as it likes.
    None,
}

/// Way to enforce a response schema.
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

/// Required form of tool call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdFormat {
    /// Any text.
    Any,
    /// Nine letters and digits (Mistral).
    NineAlphanumeric,
}

/// Way to request thinking.
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

/// Way to send thinking back.
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
    /// The key has the prefix `Bearer `, as in the header `authorization`.
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
            text.parse().map_err(|_| de::Error::custom(format!("{text:?} is not a valid header name")))?;
        Ok(Self { bearer: name == http::header::AUTHORIZATION, name })
    }
}

macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $careful:expr,)*) => {
        /// Features of OpenAI's APIs that a server supports.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        pub struct Switches {
            $($(#[$doc])* pub $name: $type,)*
        }

        /// Changes to [`Switches`] by the owner; `None` keeps the value.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct SwitchChanges {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,)*
        }

        impl Switches {
            /// Conservative values for an unknown server.
            #[must_use]
            pub fn careful() -> Self {
                Self { $($name: $careful,)* }
            }

            /// Applies changes.
            #[must_use]
            pub fn with(mut self, changes: &SwitchChanges) -> Self {
                $(if let Some(value) = &changes.$name { self.$name.clone_from(value); })*
                self
            }
        }
    };
}

switches! {
    /// `stream_options` with `include_usage` is supported. Without it, tokens are counted only if the server reports
    /// them by itself.
    stream_usage: bool = false,
    /// Name of the field that limits output tokens.
    max_tokens: MaxTokensField = MaxTokensField::MaxTokens,
    /// Instructions have the role `developer` instead of `system`.
    developer_role: bool = false,
    /// Tools are supported.
    tools: bool = true,
    /// Maximum number of tools in one request.
    max_tools: usize = 128,
    /// A tool's description may have more than 1024 characters. Otherwise it is truncated.
    long_descriptions: bool = false,
    /// Supported forms of `tool_choice`.
    tool_choice: ToolChoiceSupport = ToolChoiceSupport::Full,
    /// `parallel_tool_calls` is supported.
    parallel_tool_calls: bool = false,
    /// Tools are sent in strict form if their schema allows it. The model then follows the schema, but must give every
    /// property, optional ones as null.
    strict: bool = false,
    /// Images are supported. Otherwise a text replaces them.
    images: bool = false,
    /// Way to enforce a response schema.
    structured_output: StructuredOutputMode = StructuredOutputMode::Instructions,
    /// Required form of tool call ids.
    call_ids: CallIdFormat = CallIdFormat::Any,
    /// Way to request thinking.
    reasoning: ReasoningRequest = ReasoningRequest::None,
    /// Way to send thinking back.
    reasoning_replay: ReasoningReplay = ReasoningReplay::None,
    /// The content of a message may be a list of parts. Otherwise it is always one string.
    content_parts: bool = true,
    /// The content of a message with tool calls may be null. Otherwise it is an empty string.
    null_content: bool = false,
    /// A user message may follow a tool result. Otherwise a short assistant message is put between them.
    user_after_tool: bool = true,
    /// Name of the field for the random seed.
    seed: SeedField = SeedField::Seed,
    /// The header that carries the key. In any header other than `authorization` the key has no prefix.
    key_header: ApiKeyHeader = ApiKeyHeader::default(),
}

impl Switches {
    /// Defaults of a kind: all features for OpenAI itself, conservative values for any other server.
    #[must_use]
    pub fn for_kind(kind: ProviderKind) -> Self {
        match kind {
            ProviderKind::Openai | ProviderKind::OpenaiResponses => Self::for_openai(),
            ProviderKind::Compatible | ProviderKind::Anthropic | ProviderKind::Gemini => Self::careful(),
        }
    }

    /// Features of OpenAI itself.
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
