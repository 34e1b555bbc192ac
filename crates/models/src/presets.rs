//! Presets for well-known model providers: address, environment variable of the key, and supported features. They come
//! from the documentation of the providers on the given date. [`ProviderPreset::is_tested`] tells whether a preset was
//! tested against the provider itself.

use std::time::Duration;

use crate::config::{
    CallIdFormat, InvalidBaseUrl, MaxTokensField, ProviderConfig, ProviderTimeouts, ReasoningReplay,
    ReasoningRequest, SeedField, StructuredOutputMode, Switches, ToolChoiceSupport,
};
use crate::provider_kind::ProviderKind;

/// A preset for a model provider.
#[derive(Debug, Clone, Copy)]
pub struct ProviderPreset {
    /// The word for it on the command line.
    pub name: &'static str,
    /// Its name.
    pub title: &'static str,
    /// The kind of its API.
    pub kind: ProviderKind,
    /// Base URL. For a program on the owner's computer: its default address.
    pub base_url: &'static str,
    /// Usual environment variable of the key; `None` if it usually needs no key.
    pub key_env: Option<&'static str>,
    /// URL of its documentation.
    pub documentation: &'static str,
    /// When that was looked at.
    pub verified_on: &'static str,
    /// It was tested against the provider itself.
    pub is_tested: bool,
    /// A note for the owner.
    pub note: &'static str,
    compatibility: fn() -> Switches,
    /// Timeout for the first byte, in seconds.
    first_byte_s: u64,
}

/// Of one that answers at once, if only to say that it is there.
const FAST_FIRST_BYTE_S: u64 = 60;
/// Of one whose models may think before they answer at all.
const REASONING_FIRST_BYTE_S: u64 = 300;
/// Of the owner's own computer, which first loads a model and reads the whole conversation.
const LOCAL_FIRST_BYTE_S: u64 = 600;

impl ProviderPreset {
    /// Supported features of OpenAI's API.
    #[must_use]
    pub fn compatibility(&self) -> Switches {
        (self.compatibility)()
    }

    /// Timeouts.
    #[must_use]
    pub fn timeouts(&self) -> ProviderTimeouts {
        ProviderTimeouts { first_byte: Duration::from_secs(self.first_byte_s), ..ProviderTimeouts::default() }
    }

    /// A configuration without a key, under a name of the owner's.
    ///
    /// # Errors
    /// Never for the presets of this list, whose addresses are tested.
    pub fn config(&self, name: &str) -> Result<ProviderConfig, InvalidBaseUrl> {
        let mut config = ProviderConfig::new(name, self.kind, self.base_url.parse()?);
        config.compatibility = self.compatibility();
        config.timeouts = self.timeouts();
        Ok(config)
    }
}

/// The preset of this name.
#[must_use]
pub fn get(name: &str) -> Option<&'static ProviderPreset> {
    ALL.iter().find(|preset| preset.name == name)
}

const VERIFIED_ON: &str = "2026-11-28";

/// All presets, those of the large providers first.
pub const ALL: &[ProviderPreset] = &[
    ProviderPreset {
        name: "openai",
        title: "OpenAI",
        kind: ProviderKind::Openai,
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        documentation: "https://developers.openai.com/api/docs/guides/function-calling",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "Chat Completions: thinking is not shown and not sent back. Models that think do better with openai-responses.",
        compatibility: || Switches::for_kind(ProviderKind::Openai),
        first_byte_s: REASONING_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "openai-responses",
        title: "OpenAI, Responses API",
        kind: ProviderKind::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        documentation: "https://developers.openai.com/api/docs/guides/reasoning",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "Nothing is kept at OpenAI: the conversation and the encrypted thinking go with each request.",
        compatibility: || Switches::for_kind(ProviderKind::OpenaiResponses),
        first_byte_s: FAST_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "anthropic",
        title: "Anthropic",
        kind: ProviderKind::Anthropic,
        base_url: "https://api.anthropic.com",
        key_env: Some("ANTHROPIC_API_KEY"),
        documentation: "https://platform.claude.com/docs/en/api/messages",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "",
        compatibility: || Switches::for_kind(ProviderKind::Anthropic),
        first_byte_s: FAST_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "gemini",
        title: "Google Gemini",
        kind: ProviderKind::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        key_env: Some("GEMINI_API_KEY"),
        documentation: "https://ai.google.dev/api/generate-content",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "",
        compatibility: || Switches::for_kind(ProviderKind::Gemini),
        first_byte_s: REASONING_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "ollama",
        title: "Ollama",
        kind: ProviderKind::Compatible,
        base_url: "http://localhost:11434/v1",
        key_env: None,
        documentation: "https://docs.ollama.com/api/openai-compatibility",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "It knows no tool_choice: a tool can't be forced. How much a model reads is set with num_ctx.",
        compatibility: || Switches {
            stream_usage: true,
            tool_choice: ToolChoiceSupport::None,
            reasoning: ReasoningRequest::Effort,
            ..local_server_compatibility()
        },
        first_byte_s: LOCAL_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "llama-cpp",
        title: "llama.cpp, llama-server",
        kind: ProviderKind::Compatible,
        base_url: "http://localhost:8080/v1",
        key_env: None,
        documentation: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "Tools need --jinja, and a template of the model that knows them.",
        compatibility: || Switches {
            stream_usage: true,
            tool_choice: ToolChoiceSupport::StringOnly,
            parallel_tool_calls: true,
            ..local_server_compatibility()
        },
        first_byte_s: LOCAL_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "lm-studio",
        title: "LM Studio",
        kind: ProviderKind::Compatible,
        base_url: "http://localhost:1234/v1",
        key_env: None,
        documentation: "https://lmstudio.ai/docs/developer/openai-compat",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "It refuses a tool_choice that names a tool; the words are known.",
        compatibility: || Switches {
            stream_usage: true,
            tool_choice: ToolChoiceSupport::StringOnly,
            ..local_server_compatibility()
        },
        first_byte_s: LOCAL_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "vllm",
        title: "vLLM",
        kind: ProviderKind::Compatible,
        base_url: "http://localhost:8000/v1",
        key_env: None,
        documentation: "https://docs.vllm.ai/en/latest/features/tool_calling/",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "Tools need --enable-auto-tool-choice and the --tool-call-parser of the model.",
        compatibility: || Switches {
            stream_usage: true,
            parallel_tool_calls: true,
            ..local_server_compatibility()
        },
        first_byte_s: LOCAL_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "openrouter",
        title: "OpenRouter",
        kind: ProviderKind::Compatible,
        base_url: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        documentation: "https://openrouter.ai/docs/api-reference/overview",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "What a model has depends on who serves it.",
        compatibility: || Switches {
            stream_usage: true,
            parallel_tool_calls: true,
            images: true,
            structured_output: StructuredOutputMode::JsonSchema,
            reasoning: ReasoningRequest::Object,
            reasoning_replay: ReasoningReplay::Details,
            null_content: true,
            ..Switches::careful()
        },
        first_byte_s: FAST_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "groq",
        title: "Groq",
        kind: ProviderKind::Compatible,
        base_url: "https://api.groq.com/openai/v1",
        key_env: Some("GROQ_API_KEY"),
        documentation: "https://console.groq.com/docs/openai",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "Few of its models keep to a schema, so answers are asked for as JSON alone; set output to change that.",
        compatibility: || Switches {
            max_tokens: MaxTokensField::MaxCompletionTokens,
            parallel_tool_calls: true,
            images: true,
            structured_output: StructuredOutputMode::JsonObject,
            reasoning: ReasoningRequest::Effort,
            ..Switches::careful()
        },
        first_byte_s: FAST_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "mistral",
        title: "Mistral",
        kind: ProviderKind::Compatible,
        base_url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        documentation: "https://docs.mistral.ai/api/",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "It refuses fields that it does not know, and a person's message right after a tool's result.",
        compatibility: || Switches {
            parallel_tool_calls: true,
            images: true,
            structured_output: StructuredOutputMode::JsonSchema,
            call_ids: CallIdFormat::NineAlphanumeric,
            reasoning: ReasoningRequest::Effort,
            user_after_tool: false,
            seed: SeedField::RandomSeed,
            ..Switches::careful()
        },
        first_byte_s: FAST_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "deepseek",
        title: "DeepSeek",
        kind: ProviderKind::Compatible,
        base_url: "https://api.deepseek.com/v1",
        key_env: Some("DEEPSEEK_API_KEY"),
        documentation: "https://api-docs.deepseek.com/guides/thinking_mode",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "Thinking is on by default and goes back with every answer; where a tool is forced it is switched off.",
        compatibility: || Switches {
            stream_usage: true,
            structured_output: StructuredOutputMode::JsonObject,
            reasoning: ReasoningRequest::Thinking,
            reasoning_replay: ReasoningReplay::Content,
            seed: SeedField::None,
            ..Switches::careful()
        },
        first_byte_s: FAST_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "xai",
        title: "xAI",
        kind: ProviderKind::OpenaiResponses,
        base_url: "https://api.x.ai/v1",
        key_env: Some("XAI_API_KEY"),
        documentation: "https://docs.x.ai/developers/model-capabilities/text/comparison",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "Its Chat Completions are deprecated, so it is asked through its Responses API.",
        compatibility: || Switches::for_kind(ProviderKind::OpenaiResponses),
        first_byte_s: FAST_FIRST_BYTE_S,
    },
    ProviderPreset {
        name: "together",
        title: "Together AI",
        kind: ProviderKind::Compatible,
        base_url: "https://api.together.ai/v1",
        key_env: Some("TOGETHER_API_KEY"),
        documentation: "https://docs.together.ai/docs/inference/openai-compatibility",
        verified_on: VERIFIED_ON,
        is_tested: false,
        note: "",
        compatibility: || Switches {
            images: true,
            structured_output: StructuredOutputMode::JsonSchema,
            ..Switches::careful()
        },
        first_byte_s: FAST_FIRST_BYTE_S,
    },
];

/// Features that servers on the owner's computer share: they accept images if the model does, enforce a response schema
/// by grammar, and do not limit descriptions.
fn local_server_compatibility() -> Switches {
    Switches {
        images: true,
        structured_output: StructuredOutputMode::JsonSchema,
        long_descriptions: true,
        ..Switches::careful()
    }
}

#[cfg(test)]
mod tests;
