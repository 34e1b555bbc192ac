//! Google's Gemini (`generateContent` of the Gemini API, streamed).

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderName;
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

mod chunk;
mod generation;
mod history;
mod offered;
mod part;
mod request;
mod response;
mod stream;
mod tool;

/// The versions that stand in addresses; `parametersJsonSchema` is in the first.
const PATHS: &[&str] = &["v1beta", "v1", "v1alpha"];
/// Most functions in one request.
const MAX_TOOLS: usize = 128;

/// Google's Gemini.
#[derive(Debug)]
pub(crate) struct Gemini(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Arc<ProviderConfig>,
    http: Http,
}

impl Gemini {
    pub(crate) fn new(config: ProviderConfig, http: Http) -> Self {
        Self(Arc::new(Inner { config: Arc::new(config), http }))
    }
}

/// What understands the answer to a request.
pub(crate) fn decoder(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn Decoder> {
    Box::new(stream::ContentDecoder::new(Arc::clone(config), request))
}

/// The headers of every request. The key never stands in an address.
fn headers(config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
    config.key_header(HeaderName::from_static("x-goog-api-key"), "")
}

fn address(config: &ProviderConfig, path: &str) -> Url {
    config.base_url.before_version(PATHS, path)
}

/// The address of a model, which is written with its collection or without. Whatever the id is, it leads nowhere but
/// below the base.
fn model_address(config: &ProviderConfig, model: &str) -> Url {
    let mut url = address(config, "");
    let (collection, id) = model.rsplit_once('/').unwrap_or(("models", model));
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(collection.split('/')).push(&format!("{id}:streamGenerateContent"));
    }
    url.set_query(Some("alt=sse"));
    url
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
        let body = request::body(&self.config, request)?;
        Ok(Prepared {
            url: model_address(&self.config, &request.model),
            headers: headers(&self.config)?,
            body,
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        decoder(&self.config, request)
    }

    async fn offered(&self) -> Result<Vec<OfferedModel>, ModelError> {
        offered::offered(&self.config, &self.http).await
    }
}

#[async_trait]
impl ModelProvider for Gemini {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Gemini
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

#[cfg(test)]
mod tests;
