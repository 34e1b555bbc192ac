//! The Chat Completions API of OpenAI and of compatible servers. The code is the same for all of them; differences
//! between servers are in [`Switches`](crate::config::Switches).

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

mod call_assembler;
mod chunk;
mod history;
mod message;
mod reasoning_details;
mod request;
mod stream;
mod tool;

/// Chat Completions (`POST …/v1/chat/completions`).
#[derive(Debug)]
pub(super) struct ChatCompletionsApi;

impl ProviderApi for ChatCompletionsApi {
    fn request_url(&self, config: &ProviderConfig, _: &ModelRequest) -> Url {
        config.base_url.with_version("v1", "chat/completions")
    }

    fn headers(&self, config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
        config.configured_key_header()
    }

    fn body(&self, config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
        request::body(config, request)
    }

    fn decoder(&self, config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder> {
        let tools = tool::tools_to_restore(&config.compatibility, request);
        Box::new(stream::ChatCompletionsDecoder::new(config, request, tools))
    }

    fn max_tools(&self, config: &ProviderConfig) -> usize {
        tool::max_tools(&config.compatibility)
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
