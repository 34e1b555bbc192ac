//! What a model provider is to the rest of Toolway.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::request::ModelRequest;
use crate::tools::{ArgumentMapping, ToolDefinition};

/// The API that a model provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// OpenAI's Chat Completions.
    Openai,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// What speaks Chat Completions without being OpenAI's.
    Compatible,
}

impl ProviderKind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Openai, Self::OpenaiResponses, Self::Anthropic, Self::Gemini, Self::Compatible];

    /// The word in settings and on the command line.
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
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No such kind of model provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no kind of model provider: openai, openai-responses, anthropic, gemini or compatible")]
pub struct UnknownProviderKind(pub String);

impl FromStr for ProviderKind {
    type Err = UnknownProviderKind;
    fn from_str(text: &str) -> Result<Self, UnknownProviderKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| UnknownProviderKind(text.to_owned()))
    }
}

/// What a model says, as it comes. Dropping it ends the request at once.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A model that a provider offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableModel {
    /// Its id there.
    pub id: String,
    /// How many tokens it can read, where the provider says so.
    pub context_tokens: Option<u64>,
}

/// How a tool's definition crosses into a provider's API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertedTool {
    /// The definition as it is sent.
    pub json: RawJson,
    /// What of it could not be said there, each in words with its JSON pointer into `parameters`. All of it is still
    /// enforced: arguments are checked against the original.
    pub losses: Vec<String>,
    /// How arguments that fit what is sent become arguments of the tool.
    pub arguments: ArgumentMapping,
}

/// Why a tool can't be offered to a provider's models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotExpressible(pub String);

/// What all models of a provider share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Most tools in one request.
    pub max_tools: usize,
    /// Longest name of a tool, in characters.
    pub max_name_chars: usize,
}

/// A model provider, reached with one key at one address.
#[async_trait]
pub trait ModelProvider: fmt::Debug + Send + Sync + 'static {
    /// The owner's name for it.
    fn name(&self) -> &Arc<str>;

    /// The API that it speaks.
    fn kind(&self) -> ProviderKind;

    /// What it takes.
    fn limits(&self) -> ProviderLimits;

    /// Asks a model. What fails before anything came is tried again, which is told as
    /// [`ModelEvent::Retrying`]; an error ends the stream, and what came before it stands.
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream;

    /// The request's body as it is sent.
    ///
    /// # Errors
    /// Where the request can't be said in this API.
    fn request_body(&self, request: &ModelRequest) -> Result<RawJson, ModelError>;

    /// How a tool is described to this provider's models.
    ///
    /// # Errors
    /// [`NotExpressible`]: then it is left out of requests, and the conversation goes on without it.
    fn convert_tool(&self, tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible>;

    /// The models that it offers.
    ///
    /// # Errors
    /// [`ModelError`].
    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError>;
}
