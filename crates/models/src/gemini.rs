//! Not written yet.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use toolway_types::RawJson;

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::provider::{
    Converted, ModelProvider, ModelStream, NotExpressible, OfferedModel, ProviderKind, ProviderLimits,
};
use crate::request::ModelRequest;
use crate::tools::ToolDefinition;
use crate::transport::Http;

pub(crate) fn decoder(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn crate::answer::Decoder> {
    crate::openai::decoder(config, request)
}

#[derive(Debug)]
pub(crate) struct Gemini(ProviderConfig);

impl Gemini {
    pub(crate) fn new(config: ProviderConfig, _: Http) -> Self {
        Self(config)
    }

    fn error(&self) -> ModelError {
        ModelError::new(ModelErrorKind::InvalidRequest, self.0.name.clone(), "not written yet")
    }
}

#[async_trait]
impl ModelProvider for Gemini {
    fn name(&self) -> &Arc<str> {
        &self.0.name
    }
    fn kind(&self) -> ProviderKind {
        ProviderKind::Gemini
    }
    fn limits(&self) -> ProviderLimits {
        ProviderLimits { tools: 128, name_chars: 64 }
    }
    fn stream(&self, _: Arc<ModelRequest>) -> ModelStream {
        stream::once(std::future::ready(Err(self.error()))).boxed()
    }
    fn body(&self, _: &ModelRequest) -> Result<RawJson, ModelError> {
        Err(self.error())
    }
    fn convert(&self, _: &ToolDefinition) -> Result<Converted, NotExpressible> {
        Err(NotExpressible("not written yet".to_owned()))
    }
    async fn models(&self) -> Result<Vec<OfferedModel>, ModelError> {
        Err(self.error())
    }
}
