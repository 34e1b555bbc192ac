//! OpenAI's Responses API, used without OpenAI keeping anything (`store: false`): the whole conversation goes with
//! each request, the model's encrypted thinking in its place.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_types::RawJson;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::exchange::{self, ProviderApi};
use crate::openai::{MAX_NAME_CHARS, body_json, list_models};
use crate::provider::{
    AvailableModel, ConvertedTool, ModelProvider, ModelStream, NotExpressible, ProviderKind, ProviderLimits,
};
use crate::request::ModelRequest;
use crate::response::ResponseDecoder;
use crate::tools::ToolDefinition;
use crate::transport::{PreparedRequest, ProviderHttpClient};

mod event;
mod input;
mod open_items;
mod request;
mod stream;
mod tool;

/// A provider that speaks the Responses API.
#[derive(Debug)]
pub(crate) struct OpenAiResponsesProvider(Arc<OpenAiResponsesApi>);

#[derive(Debug)]
struct OpenAiResponsesApi {
    config: Arc<ProviderConfig>,
    http: ProviderHttpClient,
}

impl OpenAiResponsesProvider {
    pub(crate) fn new(config: ProviderConfig, http: ProviderHttpClient) -> Self {
        Self(Arc::new(OpenAiResponsesApi { config: Arc::new(config), http }))
    }
}

#[async_trait]
impl ProviderApi for OpenAiResponsesApi {
    fn config(&self) -> &Arc<ProviderConfig> {
        &self.config
    }

    fn http(&self) -> &ProviderHttpClient {
        &self.http
    }

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest, ModelError> {
        let headers = self.config.configured_key_header()?;
        let url = self.config.base_url.with_version("v1", "responses");
        Ok(PreparedRequest { url, headers, body: request::body(&self.config, request)? })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
        decoder(&self.config, request)
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        list_models(&self.config, &self.http, self.config.configured_key_header()?).await
    }
}

/// What understands the answer to a request.
pub(crate) fn decoder(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
    let restore = tool::tools_to_restore(&config.compatibility, request);
    Box::new(stream::ResponsesDecoder::new(Arc::clone(config), request, restore))
}

#[async_trait]
impl ModelProvider for OpenAiResponsesProvider {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::OpenaiResponses
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits { max_tools: self.0.config.compatibility.max_tools, max_name_chars: MAX_NAME_CHARS }
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        exchange::stream_response(Arc::clone(&self.0) as Arc<dyn ProviderApi>, request)
    }

    fn request_body(&self, request: &ModelRequest) -> Result<RawJson, ModelError> {
        body_json(&self.0.config, &request::body(&self.0.config, request)?)
    }

    fn convert_tool(&self, tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible> {
        let switches = &self.0.config.compatibility;
        tool.converted_to(tool::tool_format(switches), |tool| tool::convert(switches, tool))
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        self.0.list_models().await
    }
}
