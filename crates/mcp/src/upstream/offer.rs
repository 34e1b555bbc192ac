//! What a server offers beyond tools.

use super::server::Upstream;
use crate::link::Client;
use crate::offering::{Event, Offering, ServerFacts, Subscription};
use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::*;
use std::sync::Arc;
use tokio::sync::broadcast;
fn away() -> ErrorData {
    ErrorData::internal_error("not connected", None)
}
#[async_trait]
impl Offering for Upstream {
    fn facts(&self) -> Option<Arc<ServerFacts>> {
        None
    }
    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(away())
    }
    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(away())
    }
    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: Arc<dyn Client>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Err(away())
    }
    async fn list_prompts(&self, _: Option<PaginatedRequestParams>) -> Result<ListPromptsResult, ErrorData> {
        Err(away())
    }
    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: Arc<dyn Client>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(away())
    }
    async fn complete(&self, _: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        Err(away())
    }
    async fn subscribe(&self, _: &str) -> Result<Subscription, ErrorData> {
        Err(away())
    }
    async fn log_from(&self, _: LoggingLevel) -> Result<Subscription, ErrorData> {
        Err(away())
    }
    fn events(&self) -> broadcast::Receiver<Event> {
        self.subscribe_events()
    }
}
