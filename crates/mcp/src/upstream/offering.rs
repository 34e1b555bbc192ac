//! The features of a server beyond tools, passed through unchanged.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, LoggingLevel,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
};
use serde::de::DeserializeOwned;
use tokio::sync::broadcast;
use tokio::time::timeout;
use toolway_types::RawJson;
use toolway_types::text::shorten_error;

use super::call::{UpstreamRequest, call_upstream};
use super::client_connection::HeldConnection;
use super::client_group::ServedClients;
use super::error::UpstreamError;
use super::frame::json_member;
use super::interest::MAX_WATCHED;
use super::server::Upstream;
use super::subscription_requests::{ACKNOWLEDGE_TIMEOUT, send_watch};
use crate::client_link::RequestingClient;
use crate::offering::{ServerFacts, ServerOffering, SubscriptionGuard, UpstreamEvent};
use crate::protocol_era::ProtocolEra;

/// One server's features for clients of one era.
pub(super) struct UpstreamOffering {
    upstream: Arc<Upstream>,
    era: ProtocolEra,
}

#[async_trait]
impl ServerOffering for UpstreamOffering {
    fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.upstream.connection()?.negotiated().map(|settled| Arc::clone(&settled.facts))
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.list_page("resources/list", page).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.list_page("resources/templates/list", page).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        client: Arc<dyn RequestingClient>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let members = json_member("uri", &request.uri);
        let raw = self.request_for_client("resources/read", &request.uri, members, client).await?;
        self.upstream.parse_result::<ReadResourceResult>(&raw).map(ReadResourceResponse::Complete)
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.list_page("prompts/list", page).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        client: Arc<dyn RequestingClient>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut members = json_member("name", &request.name);
        if let Some(arguments) = &request.arguments {
            members.push(',');
            members.push_str(&json_member("arguments", arguments));
        }
        let raw = self.request_for_client("prompts/get", &request.name, members, client).await?;
        self.upstream.parse_result::<GetPromptResult>(&raw).map(GetPromptResponse::Complete)
    }

    async fn complete(&self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let mut members =
            [json_member("ref", &request.r#ref), json_member("argument", &request.argument)].join(",");
        if let Some(context) = &request.context {
            members.push(',');
            members.push_str(&json_member("context", context));
        }
        let raw = self.request_own("completion/complete", None, &members).await?;
        self.upstream.parse_result(&raw)
    }

    async fn subscribe(&self, uri: &str) -> Result<SubscriptionGuard, ErrorData> {
        let upstream = &self.upstream;
        let held = upstream.connect_client(self.era, None).await;
        let held = held.map_err(|fault| upstream.to_error_data(fault))?;
        let connection = Arc::clone(held.connection());
        let clients = connection.clients();
        let is_new = clients.interest().lock().watch(uri);
        let is_new = is_new.ok_or_else(|| {
            ErrorData::invalid_params(format!("no more than {MAX_WATCHED} resources can be watched"), None)
        })?;
        // From here on, every return path gives the watch up again.
        let watch = ResourceWatch { upstream: Arc::clone(upstream), uri: uri.to_owned(), held };
        if !is_new {
            return Ok(SubscriptionGuard::new(watch));
        }
        if connection.is_stateless() {
            let acknowledged = clients.acknowledged().notified();
            clients.interest_changed().notify_one();
            // A server that does not acknowledge may still send changes.
            let _ = timeout(ACKNOWLEDGE_TIMEOUT, acknowledged).await;
            return Ok(SubscriptionGuard::new(watch));
        }
        let limit = upstream.server().deps().settings.request_timeout;
        let told = timeout(limit, send_watch(&connection, "resources/subscribe", uri)).await;
        told.unwrap_or(Err(UpstreamError::TimedOut(limit))).map_err(|fault| upstream.to_error_data(fault))?;
        Ok(SubscriptionGuard::new(watch))
    }

    async fn request_log_level(&self, level: LoggingLevel) -> Result<SubscriptionGuard, ErrorData> {
        let first = self.upstream.request_log_level(ServedClients::All, level).await;
        let first = first.map_err(|fault| self.upstream.to_error_data(fault))?;
        if self.era == ProtocolEra::Stateless {
            return Ok(SubscriptionGuard::new(first));
        }
        // The second connection gets the level when it is opened.
        let older = self.upstream.request_log_level(ServedClients::Older, level).await;
        let older = older.map_err(|fault| self.upstream.to_error_data(fault))?;
        Ok(SubscriptionGuard::new((first, older)))
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        let served = match self.era {
            ProtocolEra::Stateless => ServedClients::All,
            ProtocolEra::Handshake => ServedClients::Older,
        };
        self.upstream.server().clients(served).subscribe_events()
    }
}

impl UpstreamOffering {
    pub(super) fn for_era(upstream: Arc<Upstream>, era: ProtocolEra) -> Arc<dyn ServerOffering> {
        Arc::new(Self { upstream, era })
    }

    /// Requests one page of a list.
    async fn list_page<T: DeserializeOwned>(
        &self,
        method: &'static str,
        page: Option<PaginatedRequestParams>,
    ) -> Result<T, ErrorData> {
        let cursor = page.and_then(|page| page.cursor);
        let members = cursor.map(|cursor| json_member("cursor", &cursor)).unwrap_or_default();
        let raw = self.request_own(method, None, &members).await?;
        self.upstream.parse_result(&raw)
    }

    /// Sends a request that belongs to no client.
    async fn request_own(
        &self,
        method: &'static str,
        name: Option<&str>,
        members: &str,
    ) -> Result<RawJson, ErrorData> {
        let limit = self.upstream.server().deps().settings.request_timeout;
        let once = async {
            let held = self.upstream.connect_for_list(self.era, None).await?;
            let connection = held.connection();
            let sent = timeout(limit, connection.request_own(method, name, members)).await;
            match sent.unwrap_or(Err(UpstreamError::TimedOut(limit))) {
                Err(UpstreamError::SessionExpired(_)) => {}
                other => return other,
            }
            let held = self.upstream.connect_for_list(self.era, Some(connection)).await?;
            let sent = timeout(limit, held.connection().request_own(method, name, members)).await;
            sent.unwrap_or(Err(UpstreamError::TimedOut(limit)))
        };
        once.await.map_err(|fault| self.upstream.to_error_data(fault))
    }

    /// Sends a request on behalf of a client.
    async fn request_for_client(
        &self,
        method: &'static str,
        name: &str,
        members: String,
        client: Arc<dyn RequestingClient>,
    ) -> Result<RawJson, ErrorData> {
        let request = UpstreamRequest { method, name, members, headers: Vec::new(), task: None };
        let result = call_upstream(&self.upstream, self.era, request, Some(&client), None).await;
        result.map_err(|no_result| no_result.into_error_data(self.upstream.slug().as_str()))
    }
}

impl Upstream {
    fn parse_result<T: DeserializeOwned>(&self, raw: &RawJson) -> Result<T, ErrorData> {
        raw.to().map_err(|error: serde_json::Error| {
            let error = shorten_error(&error);
            self.to_error_data(UpstreamError::Malformed(format!("its answer can't be read: {error}")))
        })
    }

    fn to_error_data(&self, fault: UpstreamError) -> ErrorData {
        fault.into_error_data(self.slug().as_str())
    }
}

/// A watch of a resource.
struct ResourceWatch {
    upstream: Arc<Upstream>,
    uri: String,
    /// The connection at the time of the subscription. The watch keeps the second connection open.
    held: HeldConnection,
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        let served = self.held.connection().served();
        let clients = self.upstream.server().clients(served);
        if !clients.interest().lock().unwatch(&self.uri) {
            return;
        }
        let Some(connection) = self.upstream.connection_of(served) else { return };
        if connection.is_stateless() {
            clients.interest_changed().notify_one();
            return;
        }
        let (limit, uri) =
            (self.upstream.server().deps().settings.request_timeout, std::mem::take(&mut self.uri));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = timeout(limit, send_watch(&connection, "resources/unsubscribe", &uri)).await;
            });
        }
    }
}
