//! OpenAI's Chat Completions, of OpenAI itself and of whatever is compatible with it. What a server lacks is said by
//! its [`Switches`](crate::config::Switches); the code is the same for all of them.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_types::RawJson;

use crate::answer::Decoder;
use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::exchange::{self, Api};
use crate::provider::{
    Converted, ModelProvider, ModelStream, NotExpressible, OfferedModel, ProviderKind, ProviderLimits,
};
use crate::request::ModelRequest;
use crate::tools::ToolDefinition;
use crate::transport::{Http, Prepared};

mod call;
mod calls;
mod chunk;
mod details;
mod history;
mod message;
mod offered;
mod request;
mod stream;
mod tool;

pub(crate) use call::{arguments, id, is_object};
pub(crate) use message::DataUrl;
pub(crate) use offered::offered;
pub(crate) use request::{output_form, word};
pub(crate) use tool::{described, parameters};

/// Longest name of a tool.
pub(crate) const NAME_CHARS: usize = crate::names::MAX_NAME;

/// A provider that speaks Chat Completions.
#[derive(Debug)]
pub(crate) struct OpenAi(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Arc<ProviderConfig>,
    http: Http,
}

impl OpenAi {
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
        let url = self.config.base_url.with_version("v1", "chat/completions");
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
    let tools = tool::restored(&config.switches, request);
    Box::new(stream::ChatDecoder::new(Arc::clone(config), request, tools))
}

#[async_trait]
impl ModelProvider for OpenAi {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        self.0.config.kind
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits { tools: tool::most(&self.0.config.switches), name_chars: NAME_CHARS }
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

/// A body as JSON.
pub(crate) fn shown(config: &ProviderConfig, body: &[u8]) -> Result<RawJson, ModelError> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the request can't be written: {error}");
        ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message)
    })
}
