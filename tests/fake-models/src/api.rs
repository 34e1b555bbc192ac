//! The APIs that are spoken here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An API of model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApiKind {
    /// OpenAI's Chat Completions: `POST /chat/completions`.
    Openai,
    /// OpenAI's Responses: `POST /responses`.
    OpenaiResponses,
    /// Anthropic's Messages: `POST /v1/messages`.
    Anthropic,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
    /// Chat Completions as others than OpenAI serve it: no key is asked for, nothing that is unknown is refused, and
    /// answers have the [`Quirks`](crate::Quirks) that the test chose.
    Compatible,
}

impl ApiKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Openai, Self::OpenaiResponses, Self::Anthropic, Self::Gemini, Self::Compatible];

    /// The word for it in settings and scripts: `openai`, `openai-responses`, `anthropic`, `gemini`, `compatible`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Compatible => "compatible",
        }
    }

    /// The path of its base URL. Those of OpenAI's two APIs are the same, as they are in life. Anthropic's and
    /// Gemini's have no version in them: their SDKs add `/v1` and `/v1beta`.
    #[must_use]
    pub fn base_path(self) -> &'static str {
        match self {
            Self::Openai | Self::OpenaiResponses => "/openai/v1",
            Self::Anthropic => "/anthropic",
            Self::Gemini => "/gemini",
            Self::Compatible => "/compatible/v1",
        }
    }
}

impl fmt::Display for ApiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
