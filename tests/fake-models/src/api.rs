//! The supported APIs.

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
    /// Chat Completions of other servers: no key is required, unknown fields are accepted, and answers have
    /// the [`ApiQuirks`](crate::ApiQuirks) of the test.
    Compatible,
}

impl ApiKind {
    /// All APIs.
    pub const ALL: [Self; 5] =
        [Self::Openai, Self::OpenaiResponses, Self::Anthropic, Self::Gemini, Self::Compatible];

    /// Returns the name in settings and scripts: `openai`, `openai-responses`, `anthropic`, `gemini` or
    /// `compatible`.
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

    /// Returns the path of the base URL. OpenAI's two APIs have the same one, as in reality. Anthropic's and
    /// Gemini's have no version: their SDKs add `/v1` and `/v1beta`.
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
