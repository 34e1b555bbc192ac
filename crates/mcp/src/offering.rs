//! What an MCP server behind the gateway offers beyond tools: resources, prompts, completion, and what it says by
//! itself. The server side passes it through to clients; the upstream side has it from the connections.

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

/// What a server said of itself when it was connected to.
#[derive(Debug, Clone)]
pub struct ServerFacts {
    /// The version that it is spoken to in.
    pub protocol_version: ProtocolVersion,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// Its name and version.
    pub info: Implementation,
    /// How it wants to be used.
    pub instructions: Option<String>,
}

/// Something that a server said by itself.
#[derive(Debug, Clone)]
pub enum UpstreamEvent {
    /// A resource changed (`notifications/resources/updated`).
    ResourceUpdated {
        /// Its URI.
        uri: String,
    },
    /// The list of resources or of templates changed.
    ResourceListChanged,
    /// The list of prompts changed.
    PromptListChanged,
    /// A log message that belongs to no call. Those of a call go to its own client ([`Client::log`]).
    Log(LoggingMessageNotificationParam),
    /// It was connected to anew, or went away: all that was known of it may be another.
    Reconnected,
}

/// One server. Errors are the server's own, or say that it can't be reached.
#[async_trait]
pub trait ServerOffering: Send + Sync + 'static {
    /// What it said of itself; none while it is not connected.
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

    /// `resources/read`. What the server asks meanwhile goes to `client`; the answer is never `InputRequired`.
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

    /// `prompts/get`, as [`Offering::read_resource`].
    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        client: Arc<dyn RequestingClient>,
    ) -> Result<GetPromptResponse, ErrorData>;

    /// `completion/complete`.
    async fn complete(&self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData>;

    /// Wants to hear of changes of this resource ([`Event::ResourceUpdated`]) until the subscription is dropped.
    /// Several subscriptions to one resource are one to the server.
    async fn subscribe(&self, uri: &str) -> Result<SubscriptionGuard, ErrorData>;

    /// Wants log messages of this level and above until the subscription is dropped: the server is told the lowest
    /// level that anybody wants.
    async fn request_log_level(&self, level: LoggingLevel) -> Result<SubscriptionGuard, ErrorData>;

    /// What it says by itself, from now on. Who reads too slowly misses some.
    fn events(&self) -> broadcast::Receiver<UpstreamEvent>;
}

/// Held for as long as something is wanted; dropping it gives it up.
pub struct SubscriptionGuard(#[allow(dead_code, reason = "held for its drop")] Box<dyn Send + Sync>);

impl SubscriptionGuard {
    /// One that `guard`, when it is dropped, gives up.
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

/// All servers, by the slug of their source.
pub trait OfferingRegistry: Send + Sync + 'static {
    /// One of them.
    fn offering(&self, source: &Slug) -> Option<Arc<dyn ServerOffering>>;

    /// All of them, by slug.
    fn all(&self) -> Vec<(Slug, Arc<dyn ServerOffering>)>;
}

/// None at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOfferings;

impl OfferingRegistry for NoOfferings {
    fn offering(&self, _: &Slug) -> Option<Arc<dyn ServerOffering>> {
        None
    }

    fn all(&self) -> Vec<(Slug, Arc<dyn ServerOffering>)> {
        Vec::new()
    }
}
