//! The features of an MCP server beyond tools: resources, prompts, completion, and notifications. The upstream side
//! implements them with its connections; the server side passes them to clients.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities,
};
use tokio::sync::broadcast;
use toolway_types::Slug;

use crate::client_link::RequestingClient;
use crate::protocol_era::ProtocolEra;

/// The facts that a server declared in the handshake.
#[derive(Debug, Clone)]
pub struct ServerFacts {
    /// The negotiated protocol version.
    pub protocol_version: ProtocolVersion,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// The name and version of the server.
    pub info: Implementation,
    /// The server's instructions for clients.
    pub instructions: Option<String>,
}

/// A notification of a server.
#[derive(Debug, Clone)]
pub enum UpstreamEvent {
    /// A resource changed (`notifications/resources/updated`).
    ResourceUpdated {
        /// The URI of the resource.
        uri: String,
    },
    /// The list of resources or of resource templates changed.
    ResourceListChanged,
    /// The list of prompts changed.
    PromptListChanged,
    /// A log message that belongs to no call. A log message of a call goes to the call's client
    /// ([`crate::client_link::RequestingClient::send_log`]).
    Log(LoggingMessageNotificationParam),
    /// The server reconnected or disconnected. Everything known of it may have changed.
    Reconnected,
}

/// The features of one server, for clients that reach a server of both eras in one of them. Errors come from the server or say that it is unreachable.
#[async_trait]
pub trait ServerOffering: Send + Sync + 'static {
    /// The facts of the server; `None` while it is not connected.
    fn facts(&self) -> Option<Arc<ServerFacts>>;

    /// `resources/list`.
    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData>;

    /// `resources/templates/list`.
    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData>;

    /// `resources/read`. Requests of the server meanwhile go to `client`; the result is never `InputRequired`.
    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        client: Arc<dyn RequestingClient>,
    ) -> Result<ReadResourceResponse, ErrorData>;

    /// `prompts/list`.
    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, ErrorData>;

    /// `prompts/get`, with the same rules as [`ServerOffering::read_resource`].
    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        client: Arc<dyn RequestingClient>,
    ) -> Result<GetPromptResponse, ErrorData>;

    /// `completion/complete`.
    async fn complete(&self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData>;

    /// Subscribes to changes of a resource ([`UpstreamEvent::ResourceUpdated`]) until the guard is dropped. The
    /// server sees one subscription per resource.
    async fn subscribe(&self, uri: &str) -> Result<SubscriptionGuard, ErrorData>;

    /// Requests log messages of this level and above until the guard is dropped. The server gets the lowest requested
    /// level.
    async fn request_log_level(&self, level: LoggingLevel) -> Result<SubscriptionGuard, ErrorData>;

    /// The server's events from now on. A slow receiver loses events.
    fn events(&self) -> broadcast::Receiver<UpstreamEvent>;
}

/// Holds a subscription. Dropping it ends the subscription.
pub struct SubscriptionGuard(#[allow(dead_code, reason = "held for its drop")] Box<dyn Send + Sync>);

impl SubscriptionGuard {
    /// Creates a guard that ends the subscription by dropping `guard`.
    #[must_use]
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self(Box::new(guard))
    }
}

impl std::fmt::Debug for SubscriptionGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubscriptionGuard").finish_non_exhaustive()
    }
}

/// All connected servers, by the slug of their source.
pub trait OfferingRegistry: Send + Sync + 'static {
    /// The server of this source, for clients that reach a server of both eras in this one.
    fn offering(&self, source: &Slug, era: ProtocolEra) -> Option<Arc<dyn ServerOffering>>;

    /// All servers, sorted by slug, for clients that reach servers of both eras in this one.
    fn all(&self, era: ProtocolEra) -> Vec<(Slug, Arc<dyn ServerOffering>)>;
}

/// A registry without servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOfferings;

impl OfferingRegistry for NoOfferings {
    fn offering(&self, _: &Slug, _: ProtocolEra) -> Option<Arc<dyn ServerOffering>> {
        None
    }

    fn all(&self, _: ProtocolEra) -> Vec<(Slug, Arc<dyn ServerOffering>)> {
        Vec::new()
    }
}
