//! Google's Gemini (`generateContent` of the Gemini API, streamed).

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderName;
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

mod chunk;
mod function_response;
mod generation;
mod history;
mod model_list;
mod part;
mod request;
mod stream;
mod tool;

/// The versions that stand in addresses; `parametersJsonSchema` is in the first.
const API_VERSIONS: &[&str] = &["v1beta", "v1", "v1alpha"];
/// Most functions in one request.
const MAX_TOOLS: usize = 128;

/// Google's Gemini.
#[derive(Debug)]
pub(crate) struct GeminiProvider(Arc<GeminiApi>);

#[derive(Debug)]
struct GeminiApi {
    config: Arc<ProviderConfig>,
    http: ProviderHttpClient,
}

impl GeminiProvider {
    pub(crate) fn new(config: ProviderConfig, http: ProviderHttpClient) -> Self {
        Self(Arc::new(GeminiApi { config: Arc::new(config), http }))
    }
}

/// What understands the answer to a request.
pub(crate) fn decoder(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
    Box::new(stream::GeminiDecoder::new(Arc::clone(config), request))
}

/// The headers of every request. The key never stands in an address.
fn headers(config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
    config.key_header(HeaderName::from_static("x-goog-api-key"), "")
}

fn endpoint_url(config: &ProviderConfig, path: &str) -> Url {
    config.base_url.adding_version(API_VERSIONS, path)
}

/// The address of a model, which is written with its collection or without. Whatever the id is, it leads nowhere but
/// below the base.
fn model_url(config: &ProviderConfig, model: &str) -> Url {
    let mut url = endpoint_url(config, "");
    let (collection, id) = model.rsplit_once('/').unwrap_or(("models", model));
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(collection.split('/')).push(&format!("{id}:streamGenerateContent"));
    }
    url.set_query(Some("alt=sse"));
    url
}

#[async_trait]
impl ProviderApi for GeminiApi {
    fn config(&self) -> &Arc<ProviderConfig> {
        &self.config
    }

    fn http(&self) -> &ProviderHttpClient {
        &self.http
    }

    fn prepare(&self, request: &ModelRequest) -> Result<PreparedRequest, ModelError> {
        let body = request::body(&self.config, request)?;
        Ok(PreparedRequest {
            url: model_url(&self.config, &request.model),
            headers: headers(&self.config)?,
            body,
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
        decoder(&self.config, request)
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        model_list::list_models(&self.config, &self.http).await
    }
}

#[async_trait]
impl ModelProvider for GeminiProvider {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Gemini
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

#[cfg(test)]
mod tests;
