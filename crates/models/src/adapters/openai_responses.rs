//! The Responses API of OpenAI, without storage at OpenAI (`store: false`). Every request contains the whole
//! conversation, with the model's encrypted thinking.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use reqwest::Url;

use super::openai_common;
use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::provider_api::{ModelListPage, ProviderApi};
use crate::request::ModelRequest;
use crate::response::ResponseDecoder;
use crate::schema::NotExpressible;
use crate::tools::{ConvertedTool, ToolDefinition};

mod event;
mod input;
mod open_items;
mod request;
mod stream;
mod tool;

/// Responses (`POST …/v1/responses`).
#[derive(Debug)]
pub(super) struct ResponsesApi;

impl ProviderApi for ResponsesApi {
    fn request_url(&self, config: &ProviderConfig, _: &ModelRequest) -> Url {
        config.base_url.with_version("v1", "responses")
    }

    fn headers(&self, config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
        config.configured_key_header()
    }

    fn body(&self, config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
        request::body(config, request)
    }

    fn decoder(&self, config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
        let tools = tool::tools_to_restore(&config.compatibility, request);
        Box::new(stream::ResponsesDecoder::new(config, request, tools))
    }

    fn max_tools(&self, config: &ProviderConfig) -> usize {
        config.compatibility.max_tools
    }

    fn convert_tool(
        &self,
        config: &ProviderConfig,
        tool: &ToolDefinition,
    ) -> Result<Arc<ConvertedTool>, NotExpressible> {
        let switches = &config.compatibility;
        tool.converted_to(tool::tool_format(switches), |tool| tool::convert(switches, tool))
    }

    fn model_list_url(&self, config: &ProviderConfig, _: Option<&str>) -> Url {
        openai_common::model_list_url(config)
    }

    // Routers list hundreds of models with long descriptions on one page.
    fn max_list_page_bytes(&self) -> usize {
        16 * 1024 * 1024
    }

    fn parse_model_list(&self, body: &[u8]) -> Option<ModelListPage> {
        openai_common::parse_model_list(body)
    }
}
