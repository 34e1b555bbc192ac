//! The Gemini API of Google (`generateContent`, streamed).

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use reqwest::Url;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::provider_api::{ModelListPage, ProviderApi};
use crate::request::ModelRequest;
use crate::response::ResponseDecoder;
use crate::schema::NotExpressible;
use crate::tools::{ConvertedTool, ToolDefinition};

mod chunk;
mod function_response;
mod generation;
mod history;
mod model_list;
mod part;
mod request;
mod stream;
mod tool;

/// Versions that a base URL may end in. Requests use the first one, because only it has `parametersJsonSchema`.
const API_VERSIONS: &[&str] = &["v1beta", "v1", "v1alpha"];
/// Maximum number of functions in one request.
const MAX_TOOLS: usize = 128;

/// The Gemini API (`POST …/v1beta/models/{model}:streamGenerateContent`).
#[derive(Debug)]
pub(super) struct GeminiApi;

impl ProviderApi for GeminiApi {
    fn request_url(&self, config: &ProviderConfig, request: &ModelRequest) -> Url {
        model_url(config, &request.model)
    }

    fn headers(&self, config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
        // The API also takes the key in the address, where it would end up in logs.
        config.key_header(HeaderName::from_static("x-goog-api-key"), "")
    }

    fn body(&self, config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
        request::body(config, request)
    }

    fn decoder(&self, config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
        Box::new(stream::GeminiDecoder::new(config, request))
    }

    fn max_tools(&self, _: &ProviderConfig) -> usize {
        MAX_TOOLS
    }

    fn convert_tool(
        &self,
        _: &ProviderConfig,
        tool: &ToolDefinition,
    ) -> Result<Arc<ConvertedTool>, NotExpressible> {
        tool.converted_to(tool::FORMAT, tool::convert)
    }

    fn model_list_url(&self, config: &ProviderConfig, cursor: Option<&str>) -> Url {
        model_list::page_url(config.base_url.adding_version(API_VERSIONS, "models"), cursor)
    }

    fn parse_model_list(&self, body: &[u8]) -> Option<ModelListPage> {
        model_list::parse_page(body)
    }
}

/// URL of a model, whose id has a collection in front of it or not. Any id stays below the base URL.
fn model_url(config: &ProviderConfig, model: &str) -> Url {
    let mut url = config.base_url.adding_version(API_VERSIONS, "");
    let (collection, id) = model.rsplit_once('/').unwrap_or(("models", model));
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(collection.split('/')).push(&format!("{id}:streamGenerateContent"));
    }
    url.query_pairs_mut().append_pair("alt", "sse");
    url
}

#[cfg(test)]
mod tests;
