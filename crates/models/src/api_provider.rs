//! A model provider that is reached over HTTP: an API together with a configuration.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_types::RawJson;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::exchange::stream_response;
use crate::model_list::list_models;
use crate::provider::{AvailableModel, ModelProvider, ModelStream, ProviderLimits};
use crate::provider_api::{ApiEndpoint, ProviderApi};
use crate::provider_kind::ProviderKind;
use crate::request::ModelRequest;
use crate::request_body::body_json;
use crate::schema::NotExpressible;
use crate::tool_names::MAX_TOOL_NAME_BYTES;
use crate::tools::{ConvertedTool, ToolDefinition};
use crate::transport::ProviderHttpClient;

/// Implements [`ModelProvider`] for all APIs.
#[derive(Debug)]
pub(crate) struct ApiProvider {
    endpoint: ApiEndpoint,
}

impl ApiProvider {
    pub(crate) fn new(
        api: &'static dyn ProviderApi,
        config: ProviderConfig,
        http: ProviderHttpClient,
    ) -> Self {
        Self { endpoint: ApiEndpoint { api, config: Arc::new(config), http } }
    }
}

#[async_trait]
impl ModelProvider for ApiProvider {
    fn name(&self) -> &Arc<str> {
        &self.endpoint.config.name
    }

    fn kind(&self) -> ProviderKind {
        self.endpoint.config.kind
    }

    fn limits(&self) -> ProviderLimits {
        let ApiEndpoint { api, config, .. } = &self.endpoint;
        ProviderLimits { max_tools: api.max_tools(config), max_name_chars: MAX_TOOL_NAME_BYTES }
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        stream_response(self.endpoint.clone(), request)
    }

    fn request_body(&self, request: &ModelRequest) -> Result<RawJson, ModelError> {
        let ApiEndpoint { api, config, .. } = &self.endpoint;
        body_json(config, &api.body(config, request)?)
    }

    fn convert_tool(&self, tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible> {
        self.endpoint.api.convert_tool(&self.endpoint.config, tool)
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        list_models(&self.endpoint).await
    }
}
