//! The Messages API of Anthropic and of compatible servers.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::provider_api::{ModelListPage, ProviderApi};
use crate::request::ModelRequest;
use crate::response::ResponseDecoder;
use crate::schema::NotExpressible;
use crate::tools::{ConvertedTool, ToolDefinition};

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

/// Version of the API (header `anthropic-version`).
pub const VERSION: &str = "2023-06-01";
/// Versions that a base URL may end in.
const API_VERSIONS: &[&str] = &["v1"];
/// Maximum number of tools in one request. No limit is documented; this is more than any model can use.
const MAX_TOOLS: usize = 1_000;

/// Messages (`POST …/v1/messages`).
#[derive(Debug)]
pub(super) struct MessagesApi;

impl ProviderApi for MessagesApi {
    fn request_url(&self, config: &ProviderConfig, _: &ModelRequest) -> Url {
        config.base_url.adding_version(API_VERSIONS, "messages")
    }

    fn headers(&self, config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
        let mut headers = config.key_header(HeaderName::from_static("x-api-key"), "")?;
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        Ok(headers)
    }

    fn add_request_headers(&self, config: &ProviderConfig, request: &ModelRequest, headers: &mut HeaderMap) {
        if let Some(beta) = thinking::beta_header(config, request) {
            headers.insert(thinking::BETA_HEADER, HeaderValue::from_static(beta));
        }
    }

    fn body(&self, config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
        request::body(config, request)
    }

    fn decoder(&self, config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
        Box::new(stream::MessageDecoder::new(config, request))
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
