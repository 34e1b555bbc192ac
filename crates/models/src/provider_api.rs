//! The interface of an adapter: the parts of a model API that differ from one provider to the next.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use reqwest::Url;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::provider::AvailableModel;
use crate::request::ModelRequest;
use crate::response::ResponseDecoder;
use crate::schema::NotExpressible;
use crate::tools::{ConvertedTool, ToolDefinition};
use crate::transport::ProviderHttpClient;

/// A model API. It has no state: everything about one provider is in its [`ProviderConfig`].
pub(crate) trait ProviderApi: fmt::Debug + Send + Sync {
    /// URL to which a request is posted.
    fn request_url(&self, config: &ProviderConfig, request: &ModelRequest) -> Url;

    /// Headers of every request, including the key.
    ///
    /// # Errors
    /// [`ModelError`] if the key is not valid in a header.
    fn headers(&self, config: &ProviderConfig) -> Result<HeaderMap, ModelError>;

    /// Adds headers that only this request needs.
    fn add_request_headers(
        &self,
        _config: &ProviderConfig,
        _request: &ModelRequest,
        _headers: &mut HeaderMap,
    ) {
    }

    /// JSON body of a request.
    ///
    /// # Errors
    /// [`ModelError`] if the API can't express the request.
    fn body(&self, config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError>;

    /// A decoder for the response to a request.
    fn decoder(&self, config: &Arc<ProviderConfig>, request: &ModelRequest) -> Box<dyn ResponseDecoder>;

    /// Maximum number of tools in one request.
    fn max_tools(&self, config: &ProviderConfig) -> usize;

    /// Converts a tool to the form that the API expects.
    ///
    /// # Errors
    /// [`NotExpressible`] if the API can't express the tool.
    fn convert_tool(
        &self,
        config: &ProviderConfig,
        tool: &ToolDefinition,
    ) -> Result<Arc<ConvertedTool>, NotExpressible>;

    /// URL of a page of the model list. `cursor` comes from the page before; it is `None` for the first page.
    fn model_list_url(&self, config: &ProviderConfig, cursor: Option<&str>) -> Url;

    /// Maximum size of a page of the model list, in bytes.
    fn max_list_page_bytes(&self) -> usize {
        4 * 1024 * 1024
    }

    /// Parses a page of the model list; `None` if it is not one.
    fn parse_model_list(&self, body: &[u8]) -> Option<ModelListPage>;
}

/// One provider's API: the adapter, the configuration and the HTTP client. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ApiEndpoint {
    pub(crate) api: &'static dyn ProviderApi,
    pub(crate) config: Arc<ProviderConfig>,
    pub(crate) http: ProviderHttpClient,
}

/// One page of a provider's model list.
#[derive(Debug)]
pub(crate) struct ModelListPage {
    pub(crate) models: Vec<AvailableModel>,
    /// Cursor of the next page, if there is one.
    pub(crate) next: Option<String>,
}
