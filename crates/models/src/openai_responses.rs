//! OpenAI's Responses API, used without OpenAI keeping anything (`store: false`): the whole conversation goes with
//! each request, the model's encrypted thinking in its place.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_types::RawJson;

use crate::answer::Decoder;
use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::exchange::{self, Api};
use crate::openai::{NAME_CHARS, offered, shown};
use crate::provider::{
    Converted, ModelProvider, ModelStream, NotExpressible, OfferedModel, ProviderKind, ProviderLimits,
};
use crate::request::ModelRequest;
use crate::tools::ToolDefinition;
use crate::transport::{Http, Prepared};

mod event;
mod input;
mod items;
mod request;
mod stream;
mod tool;

/// A provider that speaks the Responses API.
#[derive(Debug)]
pub(crate) struct OpenAiResponses(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Arc<ProviderConfig>,
    http: Http,
}

impl OpenAiResponses {
    pub(crate) fn new(config: ProviderConfig, http: Http) -> Self {
        Self(Arc::new(Inner { config: Arc::new(config), http }))
    }
}

#[async_trait]
impl Api for Inner {
    fn config(&self) -> &Arc<ProviderConfig> {
        &self.config
    }

    fn http(&self) -> &Http {
        &self.http
    }

    fn prepare(&self, request: &ModelRequest) -> Result<Prepared, ModelError> {
        let headers = self.config.switched_key_header()?;
        let url = self.config.base_url.with_version("v1", "responses");
        Ok(Prepared { url, headers, body: request::body(&self.config, request)? })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        decoder(&self.config, request)
    }

    async fn offered(&self) -> Result<Vec<OfferedModel>, ModelError> {
        offered(&self.config, &self.http, self.config.switched_key_header()?).await
    }
}

/// What understands the answer to a request.
pub(crate) fn decoder(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn Decoder> {
    let restore = tool::restored(&config.switches, request);
    Box::new(stream::ResponsesDecoder::new(Arc::clone(config), request, restore))
}

#[async_trait]
impl ModelProvider for OpenAiResponses {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::OpenaiResponses
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits { tools: self.0.config.switches.max_tools, name_chars: NAME_CHARS }
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        exchange::ask(Arc::clone(&self.0) as Arc<dyn Api>, request)
    }

    fn body(&self, request: &ModelRequest) -> Result<RawJson, ModelError> {
        shown(&self.0.config, &request::body(&self.0.config, request)?)
    }

    fn convert(&self, tool: &ToolDefinition) -> Result<Arc<Converted>, NotExpressible> {
        let switches = &self.0.config.switches;
        tool.converted(tool::form(switches), |tool| tool::convert(switches, tool))
    }

    async fn models(&self) -> Result<Vec<OfferedModel>, ModelError> {
        self.0.offered().await
    }
}
