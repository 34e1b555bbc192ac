//! What a server offers beyond tools, passed through as it is.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, LoggingLevel,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::broadcast;
use tokio::time::timeout;
use toolway_types::RawJson;

use super::call::{Request, call};
use super::connection::Connection;
use super::fault::Fault;
use super::follow::ACKNOWLEDGED;
use super::server::Upstream;
use super::wanted::MAX_WATCHED;
use crate::link::Client;
use crate::offering::{Event, Offering, ServerFacts, Subscription};

#[async_trait]
impl Offering for Arc<Upstream> {
    fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.connection()?.settled().map(|settled| Arc::clone(&settled.facts))
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.page("resources/list", page).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.page("resources/templates/list", page).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        client: Arc<dyn Client>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let members = member("uri", &request.uri);
        let raw = self.through("resources/read", &request.uri, members, client).await?;
        self.read::<ReadResourceResult>(&raw).map(ReadResourceResponse::Complete)
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.page("prompts/list", page).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        client: Arc<dyn Client>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut members = member("name", &request.name);
        if let Some(arguments) = &request.arguments {
            members.push(',');
            members.push_str(&member("arguments", arguments));
        }
        let raw = self.through("prompts/get", &request.name, members, client).await?;
        self.read::<GetPromptResult>(&raw).map(GetPromptResponse::Complete)
    }

    async fn complete(&self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let mut members = [member("ref", &request.r#ref), member("argument", &request.argument)].join(",");
        if let Some(context) = &request.context {
            members.push(',');
            members.push_str(&member("context", context));
        }
        let raw = self.own("completion/complete", None, &members).await?;
        self.read(&raw)
    }

    async fn subscribe(&self, uri: &str) -> Result<Subscription, ErrorData> {
        let connection = self.connected(None).await.map_err(|fault| self.refused(fault))?;
        let is_new = self.wanted().lock().watch(uri);
        let is_new = is_new.ok_or_else(|| {
            ErrorData::invalid_params(format!("no more than {MAX_WATCHED} resources can be watched"), None)
        })?;
        // From here on, whatever happens, it is given up again.
        let watch = Watch { upstream: Arc::clone(self), uri: uri.to_owned() };
        if !is_new {
            return Ok(Subscription::new(watch));
        }
        if connection.is_stateless() {
            let acknowledged = self.acknowledged().notified();
            self.rewanted().notify_one();
            // A server that says nothing listens for all that is known.
            let _ = timeout(ACKNOWLEDGED, acknowledged).await;
            return Ok(Subscription::new(watch));
        }
        let limit = self.parts().settings.request;
        let told = timeout(limit, self::watch(&connection, "resources/subscribe", uri)).await;
        told.unwrap_or(Err(Fault::Late(limit))).map_err(|fault| self.refused(fault))?;
        Ok(Subscription::new(watch))
    }

    async fn log_from(&self, level: LoggingLevel) -> Result<Subscription, ErrorData> {
        let before = {
            let mut wanted = self.wanted().lock();
            let before = wanted.level();
            wanted.log_from(level);
            before
        };
        let hold = Hold { upstream: Arc::clone(self), level };
        let lowest = self.wanted().lock().level();
        if lowest != before
            && let (Some(connection), Some(lowest)) = (self.connection(), lowest)
            && !connection.is_stateless()
        {
            let limit = self.parts().settings.request;
            let told = timeout(limit, set_level(&connection, lowest)).await;
            told.unwrap_or(Err(Fault::Late(limit))).map_err(|fault| self.refused(fault))?;
        }
        Ok(Subscription::new(hold))
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        self.subscribe_events()
    }
}

impl Upstream {
    /// One page of a list.
    async fn page<T: DeserializeOwned>(
        self: &Arc<Self>,
        method: &'static str,
        page: Option<PaginatedRequestParams>,
    ) -> Result<T, ErrorData> {
        let cursor = page.and_then(|page| page.cursor);
        let members = cursor.map(|cursor| member("cursor", &cursor)).unwrap_or_default();
        let raw = self.own(method, None, &members).await?;
        self.read(&raw)
    }

    /// A request that belongs to nobody in particular.
    async fn own(
        self: &Arc<Self>,
        method: &'static str,
        name: Option<&str>,
        members: &str,
    ) -> Result<RawJson, ErrorData> {
        let limit = self.parts().settings.request;
        let once = async {
            let connection = self.connected(None).await?;
            let sent = timeout(limit, connection.ask(method, name, members)).await;
            let fault = match sent.unwrap_or(Err(Fault::Late(limit))) {
                Err(Fault::SessionGone) => Fault::SessionGone,
                other => return other,
            };
            connection.fail(fault);
            let connection = self.connected(Some(&connection)).await?;
            let sent = timeout(limit, connection.ask(method, name, members)).await;
            sent.unwrap_or(Err(Fault::Late(limit)))
        };
        once.await.map_err(|fault| self.refused(fault))
    }

    /// A request that a client is behind.
    async fn through(
        self: &Arc<Self>,
        method: &'static str,
        name: &str,
        members: String,
        client: Arc<dyn Client>,
    ) -> Result<RawJson, ErrorData> {
        let request = Request { method, name, members, headers: Vec::new() };
        let result = call(self, request, Some(&client), None).await;
        result.map_err(|no_result| no_result.of_request(self.slug().as_str()))
    }

    fn read<T: DeserializeOwned>(&self, raw: &RawJson) -> Result<T, ErrorData> {
        let malformed = |error| Fault::Malformed(format!("its answer can't be read: {error}"));
        raw.to().map_err(|error| self.refused(malformed(error)))
    }

    fn refused(&self, fault: Fault) -> ErrorData {
        fault.of_request(self.slug().as_str())
    }
}

/// A member of an object, as JSON.
fn member<T: Serialize + ?Sized>(name: &str, value: &T) -> String {
    let value = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    format!(r#""{name}":{value}"#)
}

/// Tells a server of the older era that a resource is watched, or is not any more.
pub(super) async fn watch(
    connection: &Arc<Connection>,
    method: &'static str,
    uri: &str,
) -> Result<RawJson, Fault> {
    connection.ask(method, Some(uri), &member("uri", uri)).await
}

/// Tells a server of the older era from which level on its log is wanted, where it has one.
pub(super) async fn set_level(connection: &Arc<Connection>, level: LoggingLevel) -> Result<(), Fault> {
    let has_log = connection.settled().is_some_and(|settled| settled.facts.capabilities.logging.is_some());
    if has_log {
        connection.ask("logging/setLevel", None, &member("level", &level)).await?;
    }
    Ok(())
}

/// Watches a resource.
struct Watch {
    upstream: Arc<Upstream>,
    uri: String,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.upstream.wanted().lock().unwatch(&self.uri) {
            return;
        }
        let Some(connection) = self.upstream.connection() else { return };
        if connection.is_stateless() {
            self.upstream.rewanted().notify_one();
            return;
        }
        let (limit, uri) = (self.upstream.parts().settings.request, std::mem::take(&mut self.uri));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = timeout(limit, watch(&connection, "resources/unsubscribe", &uri)).await;
            });
        }
    }
}

/// Wants log messages.
struct Hold {
    upstream: Arc<Upstream>,
    level: LoggingLevel,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let (before, now) = {
            let mut wanted = self.upstream.wanted().lock();
            let before = wanted.level();
            wanted.unlog(self.level);
            (before, wanted.level())
        };
        let Some(connection) = self.upstream.connection().filter(|connection| !connection.is_stateless())
        else {
            return;
        };
        let limit = self.upstream.parts().settings.request;
        if let (Some(level), true) = (now, before != now)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = timeout(limit, set_level(&connection, level)).await;
            });
        }
    }
}
