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
use super::error::UpstreamError;
use super::frame::json_member;
use super::interest::MAX_WATCHED;
use super::server::Upstream;
use super::subscription_requests::{ACKNOWLEDGE_TIMEOUT, send_watch, set_level};
use crate::client_link::RequestingClient;
use crate::offering::{ServerFacts, ServerOffering, SubscriptionGuard, UpstreamEvent};

#[async_trait]
impl ServerOffering for Arc<Upstream> {
    fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.connection()?.negotiated().map(|settled| Arc::clone(&settled.facts))
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
        self.parse_result::<ReadResourceResult>(&raw).map(ReadResourceResponse::Complete)
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
        self.parse_result::<GetPromptResult>(&raw).map(GetPromptResponse::Complete)
    }

    async fn complete(&self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let mut members =
            [json_member("ref", &request.r#ref), json_member("argument", &request.argument)].join(",");
        if let Some(context) = &request.context {
            members.push(',');
            members.push_str(&json_member("context", context));
        }
        let raw = self.request_own("completion/complete", None, &members).await?;
        self.parse_result(&raw)
    }

    async fn subscribe(&self, uri: &str) -> Result<SubscriptionGuard, ErrorData> {
        let connection = self.wait_connected(None).await.map_err(|fault| self.to_error_data(fault))?;
        let is_new = self.server().interest().lock().watch(uri);
        let is_new = is_new.ok_or_else(|| {
            ErrorData::invalid_params(format!("no more than {MAX_WATCHED} resources can be watched"), None)
        })?;
        // From here on, every return path gives the watch up again.
        let watch = ResourceWatch { upstream: Arc::clone(self), uri: uri.to_owned() };
        if !is_new {
            return Ok(SubscriptionGuard::new(watch));
        }
        if connection.is_stateless() {
            let acknowledged = self.server().acknowledged().notified();
            self.server().interest_changed().notify_one();
            // A server that does not acknowledge may still send changes.
            let _ = timeout(ACKNOWLEDGE_TIMEOUT, acknowledged).await;
            return Ok(SubscriptionGuard::new(watch));
        }
        let limit = self.server().deps().settings.request_timeout;
        let told = timeout(limit, send_watch(&connection, "resources/subscribe", uri)).await;
        told.unwrap_or(Err(UpstreamError::TimedOut(limit))).map_err(|fault| self.to_error_data(fault))?;
        Ok(SubscriptionGuard::new(watch))
    }

    async fn request_log_level(&self, level: LoggingLevel) -> Result<SubscriptionGuard, ErrorData> {
        let before = {
            let mut wanted = self.server().interest().lock();
            let before = wanted.lowest_level();
            wanted.add_level(level);
            before
        };
        let hold = LogLevelRequest { upstream: Arc::clone(self), level };
        let lowest = self.server().interest().lock().lowest_level();
        if lowest != before
            && let (Some(connection), Some(lowest)) = (self.connection(), lowest)
            && !connection.is_stateless()
        {
            let limit = self.server().deps().settings.request_timeout;
            let told = timeout(limit, set_level(&connection, lowest)).await;
            told.unwrap_or(Err(UpstreamError::TimedOut(limit))).map_err(|fault| self.to_error_data(fault))?;
        }
        Ok(SubscriptionGuard::new(hold))
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.server().subscribe_events()
    }
}

impl Upstream {
    /// Requests one page of a list.
    async fn list_page<T: DeserializeOwned>(
        self: &Arc<Self>,
        method: &'static str,
        page: Option<PaginatedRequestParams>,
    ) -> Result<T, ErrorData> {
        let cursor = page.and_then(|page| page.cursor);
        let members = cursor.map(|cursor| json_member("cursor", &cursor)).unwrap_or_default();
        let raw = self.request_own(method, None, &members).await?;
        self.parse_result(&raw)
    }

    /// Sends a request that belongs to no client.
    async fn request_own(
        self: &Arc<Self>,
        method: &'static str,
        name: Option<&str>,
        members: &str,
    ) -> Result<RawJson, ErrorData> {
        let limit = self.server().deps().settings.request_timeout;
        let once = async {
            let connection = self.wait_connected(None).await?;
            let sent = timeout(limit, connection.request_own(method, name, members)).await;
            match sent.unwrap_or(Err(UpstreamError::TimedOut(limit))) {
                Err(UpstreamError::SessionExpired(_)) => {}
                other => return other,
            }
            let connection = self.wait_connected(Some(&connection)).await?;
            let sent = timeout(limit, connection.request_own(method, name, members)).await;
            sent.unwrap_or(Err(UpstreamError::TimedOut(limit)))
        };
        once.await.map_err(|fault| self.to_error_data(fault))
    }

    /// Sends a request on behalf of a client.
    async fn request_for_client(
        self: &Arc<Self>,
        method: &'static str,
        name: &str,
        members: String,
        client: Arc<dyn RequestingClient>,
    ) -> Result<RawJson, ErrorData> {
        let request = UpstreamRequest { method, name, members, headers: Vec::new(), task: None };
        let result = call_upstream(self, request, Some(&client), None).await;
        result.map_err(|no_result| no_result.into_error_data(self.slug().as_str()))
    }

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
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        if !self.upstream.server().interest().lock().unwatch(&self.uri) {
            return;
        }
        let Some(connection) = self.upstream.connection() else { return };
        if connection.is_stateless() {
            self.upstream.server().interest_changed().notify_one();
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

/// A request for log messages.
struct LogLevelRequest {
    upstream: Arc<Upstream>,
    level: LoggingLevel,
}

impl Drop for LogLevelRequest {
    fn drop(&mut self) {
        let (before, now) = {
            let mut wanted = self.upstream.server().interest().lock();
            let before = wanted.lowest_level();
            wanted.remove_level(self.level);
            (before, wanted.lowest_level())
        };
        let Some(connection) = self.upstream.connection().filter(|connection| !connection.is_stateless())
        else {
            return;
        };
        let limit = self.upstream.server().deps().settings.request_timeout;
        if let (Some(level), true) = (now, before != now)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = timeout(limit, set_level(&connection, level)).await;
            });
        }
    }
}
