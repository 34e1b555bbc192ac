//! The interface of model providers.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Stream;
use toolway_types::RawJson;

use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::provider_kind::ProviderKind;
use crate::request::ModelRequest;
use crate::schema::NotExpressible;
use crate::tools::{ConvertedTool, ToolDefinition};

/// Events of a response as they arrive. Dropping the stream cancels the request immediately.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A model in a provider's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableModel {
    /// Its id at the provider.
    pub id: String,
    /// Size of its context window in tokens, if the provider reports it.
    pub context_tokens: Option<u64>,
}

/// Limits that apply to all models of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Maximum number of tools in one request.
    pub max_tools: usize,
    /// Maximum length of a tool's name, in characters.
    pub max_name_chars: usize,
}

/// A model provider at one address, used with one key.
#[async_trait]
pub trait ModelProvider: fmt::Debug + Send + Sync + 'static {
    /// Name that the owner gave it.
    fn name(&self) -> &Arc<str>;

    /// The kind of its API.
    fn kind(&self) -> ProviderKind;

    /// Its limits.
    fn limits(&self) -> ProviderLimits;

    /// Sends a request to a model. A failure before any output is retried and reported as [`ModelEvent::Retrying`]. An
    /// error ends the stream; events before it stay valid.
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream;

    /// Returns the body of the request.
    ///
    /// # Errors
    /// [`ModelError`] if the API can't express the request.
    fn request_body(&self, request: &ModelRequest) -> Result<RawJson, ModelError>;

    /// Converts a tool to the form for this provider's models.
    ///
    /// # Errors
    /// [`NotExpressible`] if the API can't express the tool. Requests then omit it, and the conversation continues
    /// without it.
    fn convert_tool(&self, tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible>;

    /// Lists the models that it offers.
    ///
    /// # Errors
    /// [`ModelError`] if the list can't be read.
    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError>;
}
