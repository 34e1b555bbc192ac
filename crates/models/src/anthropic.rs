//! Anthropic's Messages, of Anthropic itself and of whoever speaks it too.

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue};
use reqwest::Url;
use reqwest::header::HeaderMap;
use toolway_types::RawJson;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::exchange::{self, ProviderApi};
use crate::openai::body_json;
use crate::provider::{
    AvailableModel, ConvertedTool, ModelProvider, ModelStream, NotExpressible, ProviderKind, ProviderLimits,
};
use crate::request::ModelRequest;
use crate::response::ResponseDecoder;
use crate::tools::ToolDefinition;
use crate::transport::{PreparedRequest, ProviderHttpClient};

mod capabilities;
mod content_block;
mod event;
mod history;
mod model_list;
mod output;
mod request;
mod stream;
mod thinking;
mod tool;

/// The version of Messages that is spoken (header `anthropic-version`).
pub const VERSION: &str = "2023-06-01";
/// The versions that stand in addresses.
const API_VERSIONS: &[&str] = &["v1"];
/// Most tools in one request. No bound is documented; this is more than any model makes use of.
const MAX_TOOLS: usize = 1_000;

/// A provider that speaks Messages.
#[derive(Debug)]
pub(crate) struct AnthropicProvider(Arc<AnthropicApi>);

#[derive(Debug)]
struct AnthropicApi {
    config: Arc<ProviderConfig>,
    http: ProviderHttpClient,
}

impl AnthropicProvider {
    pub(crate) fn new(config: ProviderConfig, http: ProviderHttpClient) -> Self {
        Self(Arc::new(AnthropicApi { config: Arc::new(config), http }))
    }
}

/// What understands the answer to a request.
pub(crate) fn decoder(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
    Box::new(stream::MessageDecoder::new(Arc::clone(config), request))
}

/// The headers of every request.
fn headers(config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
    let mut headers = config.key_header(HeaderName::from_static("x-api-key"), "")?;
    headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
    Ok(headers)
}

fn endpoint_url(config: &ProviderConfig, path: &str) -> Url {
    config.base_url.adding_version(API_VERSIONS, path)
}

#[async_trait]
impl ProviderApi for AnthropicApi {
    fn config(&self) -> &Arc<ProviderConfig> {
        &self.config
    }

    fn http(&self) -> &ProviderHttpClient {
        &self.http
    }

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest, ModelError> {
        let mut headers = headers(&self.config)?;
        if let Some(beta) = thinking::beta_header(&self.config, request) {
            headers.insert(thinking::BETA_HEADER, HeaderValue::from_static(beta));
        }
        let body = request::body(&self.config, request)?;
        Ok(PreparedRequest { url: endpoint_url(&self.config, "messages"), headers, body })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
        decoder(&self.config, request)
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        model_list::list_models(&self.config, &self.http).await
    }
}

#[async_trait]
impl ModelProvider for AnthropicProvider {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Anthropic
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits { max_tools: MAX_TOOLS, max_name_chars: crate::tool_names::MAX_TOOL_NAME_BYTES }
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        exchange::stream_response(Arc::clone(&self.0) as Arc<dyn ProviderApi>, request)
    }

    fn request_body(&self, request: &ModelRequest) -> Result<RawJson, ModelError> {
        body_json(&self.0.config, &request::body(&self.0.config, request)?)
    }

    fn convert_tool(&self, tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible> {
        tool.converted_to(tool::FORMAT, tool::convert)
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        self.0.list_models().await
    }
}
