//! OpenAI's Chat Completions, of OpenAI itself and of whatever is compatible with it. What a server lacks is said by
//! its [`Switches`](crate::config::Switches); the code is the same for all of them.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_types::RawJson;

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::exchange::{self, ProviderApi};
use crate::provider::{
    AvailableModel, ConvertedTool, ModelProvider, ModelStream, NotExpressible, ProviderKind, ProviderLimits,
};
use crate::request::ModelRequest;
use crate::response::ResponseDecoder;
use crate::tools::ToolDefinition;
use crate::transport::{PreparedRequest, ProviderHttpClient};

mod call_assembler;
mod call_encoding;
mod chunk;
mod history;
mod message;
mod model_list;
mod reasoning_details;
mod request;
mod stream;
mod tool;

pub(crate) use call_encoding::{arguments, is_object, wire_call_id};
pub(crate) use message::DataUrl;
pub(crate) use model_list::list_models;
pub(crate) use request::{effort_name, output_schema};
pub(crate) use tool::{convert_parameters, limit_description};

/// Longest name of a tool.
pub(crate) const MAX_NAME_CHARS: usize = crate::tool_names::MAX_TOOL_NAME_BYTES;

/// A provider that speaks Chat Completions.
#[derive(Debug)]
pub(crate) struct OpenAiChatProvider(Arc<OpenAiChatApi>);

#[derive(Debug)]
struct OpenAiChatApi {
    config: Arc<ProviderConfig>,
    http: ProviderHttpClient,
}

impl OpenAiChatProvider {
    pub(crate) fn new(config: ProviderConfig, http: ProviderHttpClient) -> Self {
        Self(Arc::new(OpenAiChatApi { config: Arc::new(config), http }))
    }
}

#[async_trait]
impl ProviderApi for OpenAiChatApi {
    fn config(&self) -> &Arc<ProviderConfig> {
        &self.config
    }

    fn http(&self) -> &ProviderHttpClient {
        &self.http
    }

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest, ModelError> {
        let headers = self.config.configured_key_header()?;
        let url = self.config.base_url.with_version("v1", "chat/completions");
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
    let tools = tool::tools_to_restore(&config.compatibility, request);
    Box::new(stream::ChatCompletionsDecoder::new(Arc::clone(config), request, tools))
}

#[async_trait]
impl ModelProvider for OpenAiChatProvider {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        self.0.config.kind
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits {
            max_tools: tool::max_tools(&self.0.config.compatibility),
            max_name_chars: MAX_NAME_CHARS,
        }
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

/// A body as JSON.
pub(crate) fn body_json(config: &ProviderConfig, body: &[u8]) -> Result<RawJson, ModelError> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the request can't be written: {error}");
        ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message)
    })
}
