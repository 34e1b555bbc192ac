//! The server for `rmcp`: one for each connection or MCP session, and one for each request of version
//! 2026-07-28 over HTTP. It passes each request to the responsible module.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::broadcast;

use crate::changes::{self, ServerChange};
use crate::client_session::FakeMcpSession;
use crate::protocol_version::is_modern;
use crate::state::FakeMcpState;
use crate::{calls, completion, prompts, resources, tools};

pub(crate) struct FakeMcpHandler {
    pub(crate) shared: Arc<FakeMcpState>,
    session: Arc<FakeMcpSession>,
    /// Created before a subscription is acknowledged, so that it misses no later change.
    listening: Mutex<VecDeque<broadcast::Receiver<ServerChange>>>,
}

impl FakeMcpHandler {
    pub(crate) fn new(shared: Arc<FakeMcpState>) -> Self {
        Self { shared, session: Arc::default(), listening: Mutex::default() }
    }

    /// Returns the minimum level of log messages for this request's client; `None` for no messages.
    pub(crate) fn log_level(&self, cx: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        if is_modern(cx) {
            cx.meta.log_level()
        } else {
            Some(self.session.log_level.lock().unwrap_or(LoggingLevel::Info))
        }
    }
}

fn cursor(page: Option<&PaginatedRequestParams>) -> Option<&str> {
    page?.cursor.as_deref()
}

impl ServerHandler for FakeMcpHandler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        capabilities.extensions =
            Some([(rmcp::model::TASKS_EXTENSION_ID.to_owned(), serde_json::Map::new())].into());
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("fake-mcp", env!("CARGO_PKG_VERSION")).with_title("Fake MCP server"),
            )
            .with_instructions("Call whatever a test wants called.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Owned(self.shared.options.versions())
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        let changes = self.shared.changes.listen();
        tokio::spawn(changes::notify_session(changes, cx.peer, Arc::clone(&self.session)));
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.session.log_level.lock() = Some(request.level);
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        completion::complete(&request)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = tools::list_tools(self.shared.changes.has_tool());
        let (items, next) = self.shared.page(all, cursor(page.as_ref()))?;
        let mut result = ListToolsResult::with_all_items(items);
        result.next_cursor = next;
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find_tool(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let log_level = self.log_level(&cx);
        calls::call(&self.shared, log_level, request, cx).await
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let all = prompts::list_prompts(self.shared.changes.has_prompt());
        let (items, next) = self.shared.page(all, cursor(page.as_ref()))?;
        let mut result = ListPromptsResult::with_all_items(items);
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&self.shared, request, &cx).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = resources::list_resources(self.shared.changes.has_resource());
        let (items, next) = self.shared.page(all, cursor(page.as_ref()))?;
        let mut result = ListResourcesResult::with_all_items(items);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (items, next) = self.shared.page(resources::templates(), cursor(page.as_ref()))?;
        let mut result = ListResourceTemplatesResult::with_all_items(items);
        result.next_cursor = next;
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.shared, request, &cx).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.subscribed.lock().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.subscribed.lock().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.listening.lock().push_back(self.shared.changes.listen());
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let begun = self.listening.lock().pop_front();
        let changes = begun.unwrap_or_else(|| self.shared.changes.listen());
        changes::notify_subscription(changes, subscription).await;
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.shared.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.cancel_task(&request.task_id)
    }
}
