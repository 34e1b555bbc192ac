//! The handler that `rmcp` drives for one client: for one request of 2026-07-28, or for one MCP session of an older
//! version.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CreateTaskResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, TASKS_EXTENSION_ID, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_types::{RawJson, ToolError, ToolId};

use super::McpServerState;
use super::call::{ClientToolCall, ResumeParams, ToolCallReply};
use super::client::ClientProfile;
use super::client_handle::ClientHandle;
use super::client_scope::{ClientScope, RESOURCES_FEATURE, ResolvedTool};
use super::era;
use super::exchange::{ExchangeResult, RequestIdentity, unexpected_result};
use super::exchange_run::ExchangeReply;
use super::notifications::{NotificationSink, SessionSubscriptions, forward_notifications};
use super::raw_message::RawMessage;
use super::scoped_offerings::{self, resource_not_found};
use super::scoped_server::ScopedServer;
use super::tool_result::{self, is_modern};
use crate::offering::SubscriptionGuard;

/// Lifetime of a list in the cache of a 2026-07-28 client. Subscribed clients are also notified of changes.
const CACHE_TTL_MS: u64 = 5_000;
/// The log level of a session before the client sets one.
const DEFAULT_LOG_LEVEL: LoggingLevel = LoggingLevel::Info;
/// Maximum number of resources that one client may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 256;

/// Handles the requests of one client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct McpHandler {
    server: ScopedServer,
    subscriptions: Arc<Mutex<SessionSubscriptions>>,
    /// Ends the notifications of a session when the last handler of the session is dropped.
    notification_guard: Arc<OnceLock<DropGuard>>,
}

impl McpHandler {
    pub(crate) fn new(shared: Arc<McpServerState>, scope: ClientScope) -> Self {
        let server = ScopedServer { shared, scope };
        Self { server, subscriptions: Arc::default(), notification_guard: Arc::default() }
    }

    fn client_profile(&self, context: &RequestContext<RoleServer>) -> ClientProfile {
        let version = version(context);
        let (level, later) = match is_modern(&version) {
            true => (context.meta.log_level(), None),
            false => (
                Some(self.subscriptions.lock().log_level.unwrap_or(DEFAULT_LOG_LEVEL)),
                Some(context.peer.clone()),
            ),
        };
        ClientProfile {
            principal: self.server.scope.caller.principal.id.clone(),
            capabilities: context.client_capabilities().unwrap_or_default(),
            version,
            meta: context.meta.clone(),
            log_level: level,
            answer_timeout: self.server.shared.answer_timeout,
            session_peer: later,
        }
    }

    async fn subscribe_resource(&self, uri: &str) -> Result<SubscriptionGuard, ErrorData> {
        let (named, own) = match self.server.offerings().resolve_resource(uri) {
            Some((named, own)) => (named, own.to_owned()),
            None => return Err(resource_not_found(uri)),
        };
        named.offering.subscribe(&own).await
    }
}

fn version(context: &RequestContext<RoleServer>) -> ProtocolVersion {
    context.protocol_version().unwrap_or(ProtocolVersion::V_2025_03_26)
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let through = self.server.offerings();
        let mut capabilities: ServerCapabilities = through.capabilities();
        capabilities.tools.get_or_insert_with(Default::default).list_changed = Some(true);
        let extensions = capabilities.extensions.get_or_insert_with(Default::default);
        extensions.insert(TASKS_EXTENSION_ID.to_owned(), Default::default());
        let mut config = ServerConfig::new(capabilities);
        match through.server_identity() {
            Some((info, instructions)) => {
                config.server_info = info;
                config.instructions = instructions;
            }
            None => config.server_info = self.server.shared.server_info.clone(),
        }
        config
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.ttl_ms = CACHE_TTL_MS;
        result.cache_scope = CacheScope::Private;
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        if let Some(cursor) = &cursor
            && cursor.parse::<ToolId>().is_err()
        {
            return Err(ErrorData::invalid_params("the cursor is invalid; start without one", None));
        }
        let is_modern = is_modern(&version(&context));
        let McpServerState { engine, verbatim, page_cache: pages, .. } = self.server.shared.as_ref();
        let page = pages.page(engine, &self.server.scope, cursor.as_deref(), is_modern, verbatim);
        let list_marker = page.tools.clone().map(|tools| Tool::new_with_raw(tools, None, Arc::default()));
        let mut result = ListToolsResult::with_all_items(list_marker.into_iter().collect());
        result.next_cursor.clone_from(&page.next);
        if is_modern {
            result.ttl_ms = Some(CACHE_TTL_MS);
            result.cache_scope = Some(CacheScope::Private);
        }
        Ok(result)
    }

    /// `rmcp` compares the `mcp-param-` headers of a call with this schema.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let Some(ResolvedTool::Connected(seen)) =
            self.server.scope.resolve_tool(&self.server.shared.engine, name)
        else {
            return None;
        };
        let document = seen.tool.spec().document();
        let schema = document.parameters.as_ref().filter(|schema| schema.get().contains("x-mcp-header"))?;
        let serde_json::Value::Object(schema) = schema.to_value() else { return None };
        Some(Tool::new_with_raw(name.to_owned(), None, Arc::new(schema)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
        let Some(tool) =
            self.server.scope.resolve_tool(&self.server.shared.engine, &name).map(ResolvedTool::into_id)
        else {
            return Err(ErrorData::invalid_params(ToolError::tool_not_available(&name).message, None));
        };
        let arguments = arguments.map(|parsed| {
            RawMessage::arguments(&context.extensions).unwrap_or_else(|| RawJson::from(&parsed.into()))
        });
        let again = ResumeParams { resume_token: request_state, answers: input_responses };
        let asked = ClientToolCall { name: name.into_owned(), tool, arguments, resume: again };
        let called = self
            .server
            .answer_tool_call(asked, self.client_profile(&context), &ClientHandle::from_context(&context))
            .await?;
        Ok(match called {
            ToolCallReply::Result(json) => {
                tool_result::to_call_tool_result(&json, &self.server.shared.verbatim).into()
            }
            ToolCallReply::InputRequired(questions) => questions.into(),
            ToolCallReply::Task(task) => CreateTaskResult::new(task).into(),
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.server.shared.tasks.get(&request.task_id, &self.server.scope).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.shared.tasks.update(&request.task_id, &self.server.scope, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.shared.tasks.cancel(&request.task_id, &self.server.scope)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let is_modern = is_modern(&version(&context));
        let mut result = self.server.offerings().list_resources(request).await?;
        era::set_result_type(&mut result.result_type, is_modern);
        era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let is_modern = is_modern(&version(&context));
        let mut result = self.server.offerings().list_resource_templates(request).await?;
        era::set_result_type(&mut result.result_type, is_modern);
        era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
        Ok(result)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let is_modern = is_modern(&version(&context));
        let mut result = self.server.offerings().list_prompts(request).await?;
        era::set_result_type(&mut result.result_type, is_modern);
        era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
        Ok(result)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut result = self.server.offerings().complete(request).await?;
        era::set_result_type(&mut result.result_type, is_modern(&version(&context)));
        Ok(result)
    }

    async fn read_resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let which =
            RequestIdentity { method: "resources/read", target: request.uri.clone(), arguments: None };
        let again = ResumeParams {
            resume_token: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let is_modern = is_modern(&version(&context));
        let exchange =
            self.server.begin_or_resume(which, again, self.client_profile(&context), |asking, _| {
                let (named, request) = self.server.offerings().route_resource(request)?;
                Ok(Box::pin(async move {
                    let uri = request.uri.clone();
                    let read = scoped_offerings::read_resource(named, request, asking).await;
                    match read.map_err(|error| era::convert_resource_error(error, &uri, is_modern))? {
                        ReadResourceResponse::Complete(mut result) => {
                            era::set_result_type(&mut result.result_type, is_modern);
                            era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
                            Ok(ExchangeResult::Resource(result))
                        }
                        _ => Err(unexpected_result()),
                    }
                }))
            })?;
        match exchange
            .run(&ClientHandle::from_context(&context), &self.server.shared.pending_requests, None)
            .await?
        {
            ExchangeReply::Done(ExchangeResult::Resource(result)) => Ok(result.into()),
            ExchangeReply::InputRequired(questions) => Ok(questions.into()),
            ExchangeReply::Done(_) | ExchangeReply::StillRunning(_) => Err(unexpected_result()),
        }
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.clone().map(|arguments| RawJson::from(&arguments.into()));
        let which = RequestIdentity { method: "prompts/get", target: request.name.clone(), arguments };
        let again = ResumeParams {
            resume_token: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let is_modern = is_modern(&version(&context));
        let exchange =
            self.server.begin_or_resume(which, again, self.client_profile(&context), |asking, _| {
                let (named, request) = self.server.offerings().route_prompt(request)?;
                Ok(Box::pin(async move {
                    match scoped_offerings::get_prompt(named, request, asking).await? {
                        GetPromptResponse::Complete(mut result) => {
                            era::set_result_type(&mut result.result_type, is_modern);
                            Ok(ExchangeResult::Prompt(result))
                        }
                        _ => Err(unexpected_result()),
                    }
                }))
            })?;
        match exchange
            .run(&ClientHandle::from_context(&context), &self.server.shared.pending_requests, None)
            .await?
        {
            ExchangeReply::Done(ExchangeResult::Prompt(result)) => Ok(result.into()),
            ExchangeReply::InputRequired(questions) => Ok(questions.into()),
            ExchangeReply::Done(_) | ExchangeReply::StillRunning(_) => Err(unexpected_result()),
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut levels = Vec::new();
        for named in self.server.offerings().permitted(RESOURCES_FEATURE) {
            let logs = named.offering.facts().is_some_and(|facts| facts.capabilities.logging.is_some());
            // A disconnected upstream gets the level when it reconnects.
            if logs && let Ok(level) = named.offering.request_log_level(request.level).await {
                levels.push(level);
            }
        }
        let before = {
            let mut wishes = self.subscriptions.lock();
            wishes.log_level = Some(request.level);
            std::mem::replace(&mut wishes.log_subscriptions, levels)
        };
        drop(before);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.subscriptions.lock().resources.len() >= MAX_SUBSCRIPTIONS {
            return Err(ErrorData::invalid_params(
                "too many resource subscriptions; unsubscribe from some",
                None,
            ));
        }
        let subscription = self.subscribe_resource(&request.uri).await?;
        let before = self.subscriptions.lock().resources.insert(request.uri, subscription);
        drop(before);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let before = self.subscriptions.lock().resources.remove(&request.uri);
        drop(before);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let over = CancellationToken::new();
        // The client may repeat this notification, but one forwarding task is enough.
        if self.notification_guard.set(over.clone().drop_guard()).is_err() {
            return;
        }
        let reader = NotificationSink::Session(context.peer, Arc::clone(&self.subscriptions));
        let (engine, offerings) =
            (Arc::clone(&self.server.shared.engine), Arc::clone(&self.server.shared.offerings));
        let following = forward_notifications(engine, offerings, self.server.scope.clone(), reader);
        tokio::spawn(async move {
            tokio::select! {
                () = following => {}
                () = over.cancelled() => {}
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut held = Vec::new();
        for uri in context.accepted().resource_subscriptions.iter().flatten().take(MAX_SUBSCRIPTIONS) {
            // An unknown resource can't change.
            if let Ok(subscription) = self.subscribe_resource(uri).await {
                held.push(subscription);
            }
        }
        let (engine, offerings) =
            (Arc::clone(&self.server.shared.engine), Arc::clone(&self.server.shared.offerings));
        let reader = NotificationSink::Subscription(context.sink().clone());
        tokio::select! {
            () = forward_notifications(engine, offerings, self.server.scope.clone(), reader) => {}
            () = context.cancelled() => {}
        }
        Ok(())
    }
}
