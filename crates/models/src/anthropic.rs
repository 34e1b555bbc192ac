//! Anthropic's Messages, of Anthropic itself and of whoever speaks it too.

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue};
use reqwest::Url;
use reqwest::header::HeaderMap;
use toolway_types::RawJson;

use crate::answer::Decoder;
use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::exchange::{self, Api};
use crate::openai::shown;
use crate::provider::{
    Converted, ModelProvider, ModelStream, NotExpressible, OfferedModel, ProviderKind, ProviderLimits,
};
use crate::request::ModelRequest;
use crate::tools::ToolDefinition;
use crate::transport::{Http, Prepared};

mod block;
mod event;
mod generation;
mod history;
mod offered;
mod output;
mod request;
mod stream;
mod thinking;
mod tool;

/// The version of Messages that is spoken (header `anthropic-version`).
pub const VERSION: &str = "2023-06-01";
/// The versions that stand in addresses.
const PATHS: &[&str] = &["v1"];
/// Most tools in one request. No bound is documented; this is more than any model makes use of.
const MAX_TOOLS: usize = 1_000;

/// A provider that speaks Messages.
#[derive(Debug)]
pub(crate) struct Anthropic(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Arc<ProviderConfig>,
    http: Http,
}

impl Anthropic {
    pub(crate) fn new(config: ProviderConfig, http: Http) -> Self {
        Self(Arc::new(Inner { config: Arc::new(config), http }))
    }
}

/// What understands the answer to a request.
pub(crate) fn decoder(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn Decoder> {
    Box::new(stream::MessageDecoder::new(Arc::clone(config), request))
}

/// The headers of every request.
fn headers(config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
    let mut headers = config.key_header(HeaderName::from_static("x-api-key"), "")?;
    headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
    Ok(headers)
}

fn address(config: &ProviderConfig, path: &str) -> Url {
    config.base_url.before_version(PATHS, path)
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
        let mut headers = headers(&self.config)?;
        if let Some(beta) = thinking::beta(&self.config, request) {
            headers.insert(thinking::BETA, HeaderValue::from_static(beta));
        }
        let body = request::body(&self.config, request)?;
        Ok(Prepared { url: address(&self.config, "messages"), headers, body })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        decoder(&self.config, request)
    }

    async fn offered(&self) -> Result<Vec<OfferedModel>, ModelError> {
        offered::offered(&self.config, &self.http).await
    }
}

#[async_trait]
impl ModelProvider for Anthropic {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Anthropic
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits { tools: MAX_TOOLS, name_chars: crate::names::MAX_NAME }
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        exchange::ask(Arc::clone(&self.0) as Arc<dyn Api>, request)
    }

    fn body(&self, request: &ModelRequest) -> Result<RawJson, ModelError> {
        shown(&self.0.config, &request::body(&self.0.config, request)?)
    }

    fn convert(&self, tool: &ToolDefinition) -> Result<Arc<Converted>, NotExpressible> {
        tool.converted(tool::FORM, tool::convert)
    }

    async fn models(&self) -> Result<Vec<OfferedModel>, ModelError> {
        self.0.offered().await
    }
}
