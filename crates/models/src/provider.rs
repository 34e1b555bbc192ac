//! What a model provider is to the rest of Toolway.

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
