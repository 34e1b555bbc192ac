//! The server that `rmcp` drives, for one visitor: one request of 2026-07-28, or one MCP session of an older version.

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

use super::Shared;
use super::answer::{self, is_modern};
use super::call::{Again, Called, ToolCall};
use super::client::Known;
use super::era;
use super::exchange::{Answer, Done, Reach, Which};
use super::following::{Reader, Wishes, follow};
use super::said::Said;
use super::through::{self, Through, no_such_resource};
use super::visitor::{Meant, RESOURCES, Visitor};
use crate::offering::Subscription;

/// How long a client of 2026-07-28 may take a list for what it was. Changes are told as well, to who listens.
const FRESH_MS: u64 = 5_000;
/// What a session's client is told of until it says otherwise.
const FIRST_LEVEL: LoggingLevel = LoggingLevel::Info;
/// Most resources that one client may subscribe to.
const SUBSCRIPTIONS: usize = 256;

/// Shows tools to one visitor, and calls them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handler {
    pub(super) shared: Arc<Shared>,
    pub(super) visitor: Visitor,
    wishes: Arc<Mutex<Wishes>>,
    /// Ends what follows changes for a session's client, when the session and with it the last handler is dropped.
    following: Arc<OnceLock<DropGuard>>,
}

impl Handler {
    pub(crate) fn new(shared: Arc<Shared>, visitor: Visitor) -> Self {
        Self { shared, visitor, wishes: Arc::default(), following: Arc::default() }
    }

    pub(super) fn through(&self) -> Through<'_> {
        Through {
            engine: &self.shared.engine,
            offerings: self.shared.offerings.as_ref(),
            visitor: &self.visitor,
        }
    }

    fn known(&self, context: &RequestContext<RoleServer>) -> Known {
        let version = version(context);
        let (level, later) = match is_modern(&version) {
            true => (context.meta.log_level(), None),
            false => (Some(self.wishes.lock().level.unwrap_or(FIRST_LEVEL)), Some(context.peer.clone())),
        };
        Known {
            principal: self.visitor.caller.principal.id.clone(),
            capabilities: context.client_capabilities().unwrap_or_default(),
            version,
            meta: context.meta.clone(),
            level,
            patience: self.shared.patience,
            later,
        }
    }

    async fn subscribed(&self, uri: &str) -> Result<Subscription, ErrorData> {
        let (named, own) = match self.through().resource(uri) {
            Some((named, own)) => (named, own.to_owned()),
            None => return Err(no_such_resource(uri)),
        };
        named.offering.subscribe(&own).await
    }
}

fn version(context: &RequestContext<RoleServer>) -> ProtocolVersion {
    context.protocol_version().unwrap_or(ProtocolVersion::V_2025_03_26)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let through = self.through();
        let mut capabilities: ServerCapabilities = through.capabilities();
        capabilities.tools.get_or_insert_with(Default::default).list_changed = Some(true);
        let extensions = capabilities.extensions.get_or_insert_with(Default::default);
        extensions.insert(TASKS_EXTENSION_ID.to_owned(), Default::default());
        let mut config = ServerConfig::new(capabilities);
        match through.itself() {
            Some((info, instructions)) => {
                config.server_info = info;
                config.instructions = instructions;
            }
            None => config.server_info = self.shared.server.clone(),
        }
        config
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.ttl_ms = FRESH_MS;
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
            return Err(ErrorData::invalid_params("the cursor is not one that this server gave", None));
        }
        let is_modern = is_modern(&version(&context));
        let Shared { engine, verbatim, pages, .. } = self.shared.as_ref();
        let page = pages.page(engine, &self.visitor, cursor.as_deref(), is_modern, verbatim);
        let carrier = page.tools.clone().map(|tools| Tool::new_with_raw(tools, None, Arc::default()));
        let mut result = ListToolsResult::with_all_items(carrier.into_iter().collect());
        result.next_cursor.clone_from(&page.next);
        if is_modern {
            result.ttl_ms = Some(FRESH_MS);
            result.cache_scope = Some(CacheScope::Private);
        }
        Ok(result)
    }

    /// For the headers that a tool's arguments have to agree with.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let Some(Meant::Here(seen)) = self.visitor.tool(&self.shared.engine, name) else { return None };
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
        let Some(tool) = self.visitor.tool(&self.shared.engine, &name).map(Meant::id) else {
            return Err(ErrorData::invalid_params(ToolError::not_available(&name).message, None));
        };
        let arguments = arguments.map(|parsed| {
            Said::arguments(&context.extensions).unwrap_or_else(|| RawJson::from(&parsed.into()))
        });
        let again = Again { state: request_state, answers: input_responses };
        let asked = ToolCall { name: name.into_owned(), tool, arguments, again };
        let called = self.called(asked, self.known(&context), &Reach::of(&context)).await?;
        Ok(match called {
            Called::Result(json) => answer::carry(&json, &self.shared.verbatim).into(),
            Called::Input(questions) => questions.into(),
            Called::Task(task) => CreateTaskResult::new(task).into(),
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.shared.tasks.get(&request.task_id, &self.visitor).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.update(&request.task_id, &self.visitor, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.cancel(&request.task_id, &self.visitor)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let is_modern = is_modern(&version(&context));
        let mut result = self.through().list_resources(request).await?;
        era::say_kind(&mut result.result_type, is_modern);
        era::say_freshness(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let is_modern = is_modern(&version(&context));
        let mut result = self.through().list_resource_templates(request).await?;
        era::say_kind(&mut result.result_type, is_modern);
        era::say_freshness(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
        Ok(result)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let is_modern = is_modern(&version(&context));
        let mut result = self.through().list_prompts(request).await?;
        era::say_kind(&mut result.result_type, is_modern);
        era::say_freshness(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
        Ok(result)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut result = self.through().complete(request).await?;
        era::say_kind(&mut result.result_type, is_modern(&version(&context)));
        Ok(result)
    }

    async fn read_resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let which = Which { method: "resources/read", of: request.uri.clone(), arguments: None };
        let again = Again { state: request.request_state.take(), answers: request.input_responses.take() };
        let is_modern = is_modern(&version(&context));
        let exchange = self.exchange(which, again, self.known(&context), |asking, _| {
            let (named, request) = self.through().asked_resource(request)?;
            Ok(Box::pin(async move {
                let uri = request.uri.clone();
                let read = through::read(named, request, asking).await;
                match read.map_err(|error| era::of_resource(error, &uri, is_modern))? {
                    ReadResourceResponse::Complete(mut result) => {
                        era::say_kind(&mut result.result_type, is_modern);
                        era::say_freshness(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
                        Ok(Done::Resource(result))
                    }
                    _ => Err(wrong_end()),
                }
            }))
        })?;
        match exchange.run(&Reach::of(&context), &self.shared.parking, None).await? {
            Answer::Done(Done::Resource(result)) => Ok(result.into()),
            Answer::Input(questions) => Ok(questions.into()),
            Answer::Done(_) | Answer::Late(_) => Err(wrong_end()),
        }
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.clone().map(|arguments| RawJson::from(&arguments.into()));
        let which = Which { method: "prompts/get", of: request.name.clone(), arguments };
        let again = Again { state: request.request_state.take(), answers: request.input_responses.take() };
        let is_modern = is_modern(&version(&context));
        let exchange = self.exchange(which, again, self.known(&context), |asking, _| {
            let (named, request) = self.through().asked_prompt(request)?;
            Ok(Box::pin(async move {
                match through::get(named, request, asking).await? {
                    GetPromptResponse::Complete(mut result) => {
                        era::say_kind(&mut result.result_type, is_modern);
                        Ok(Done::Prompt(result))
                    }
                    _ => Err(wrong_end()),
                }
            }))
        })?;
        match exchange.run(&Reach::of(&context), &self.shared.parking, None).await? {
            Answer::Done(Done::Prompt(result)) => Ok(result.into()),
            Answer::Input(questions) => Ok(questions.into()),
            Answer::Done(_) | Answer::Late(_) => Err(wrong_end()),
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut levels = Vec::new();
        for named in self.through().all(RESOURCES) {
            let logs = named.offering.facts().is_some_and(|facts| facts.capabilities.logging.is_some());
            // One that is not there just now is told when it comes back.
            if logs && let Ok(level) = named.offering.log_from(request.level).await {
                levels.push(level);
            }
        }
        let before = {
            let mut wishes = self.wishes.lock();
            wishes.level = Some(request.level);
            std::mem::replace(&mut wishes.levels, levels)
        };
        drop(before);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.wishes.lock().resources.len() >= SUBSCRIPTIONS {
            return Err(ErrorData::invalid_params("too many resources are subscribed to", None));
        }
        let subscription = self.subscribed(&request.uri).await?;
        let before = self.wishes.lock().resources.insert(request.uri, subscription);
        drop(before);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let before = self.wishes.lock().resources.remove(&request.uri);
        drop(before);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let over = CancellationToken::new();
        // A client may say it again, and is followed once.
        if self.following.set(over.clone().drop_guard()).is_err() {
            return;
        }
        let reader = Reader::Session(context.peer, Arc::clone(&self.wishes));
        let (engine, offerings) = (Arc::clone(&self.shared.engine), Arc::clone(&self.shared.offerings));
        let following = follow(engine, offerings, self.visitor.clone(), reader);
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
        for uri in context.accepted().resource_subscriptions.iter().flatten().take(SUBSCRIPTIONS) {
            // One that there is none of can't change.
            if let Ok(subscription) = self.subscribed(uri).await {
                held.push(subscription);
            }
        }
        let (engine, offerings) = (Arc::clone(&self.shared.engine), Arc::clone(&self.shared.offerings));
        let reader = Reader::Subscription(context.sink().clone());
        tokio::select! {
            () = follow(engine, offerings, self.visitor.clone(), reader) => {}
            () = context.cancelled() => {}
        }
        Ok(())
    }
}

pub(super) fn wrong_end() -> ErrorData {
    ErrorData::internal_error("the request ended in the answer to another kind of request", None)
}
