//! The methods of MCP: each request of a client, over any transport and in either era, is answered here.

mod lists;
mod subscription;

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ClientCapabilities, CompleteRequestParams, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, RequestId,
    RequestMetaObject, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use toolway_types::text::{MAX_QUOTE, truncate};
use toolway_types::{RawJson, ToolError, ToolId};

use super::call::{ClientToolCall, ResumeParams};
use super::client::ClientProfile;
use super::client_handle::ClientHandle;
use super::client_scope::ResolvedTool;
use super::era;
use super::exchange::RequestIdentity;
use super::exchange_run::ExchangeReply;
use super::json_rpc::{IncomingRequest, RequestParams};
use super::outgoing::to_json;
use super::protocol::{self, SUPPORTED_VERSIONS};
use super::scoped_offerings::{self, ScopedOfferings};
use super::scoped_server::ScopedServer;
use super::session::ClientSession;
use crate::protocol_era::ProtocolEra;

/// Lifetime of a list in the cache of a 2026-07-28 client. Subscribed clients are also notified of changes.
const CACHE_TTL_MS: u64 = 5_000;
/// The result of a method that returns nothing.
const EMPTY_RESULT: &str = "{}";
/// The same for methods that exist since 2026-07-28.
const COMPLETE_RESULT: &str = r#"{"resultType":"complete"}"#;

/// The client and the connection of one request.
pub(crate) struct RequestContext {
    pub(crate) server: ScopedServer,
    /// The session; `None` if the request describes its client itself.
    pub(crate) session: Option<Arc<ClientSession>>,
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) client: ClientHandle,
    /// The tool of a call, if the transport has looked it up already.
    pub(crate) tool: Option<ToolId>,
}

impl RequestContext {
    /// Answers a request. The result is a JSON object.
    ///
    /// # Errors
    /// The JSON-RPC error for the client.
    pub(crate) async fn answer(mut self, request: IncomingRequest) -> Result<String, ErrorData> {
        let IncomingRequest { id, method, mut params, .. } = request;
        let meta = std::mem::take(&mut params.meta);
        self.client.progress_token = meta.get_progress_token();
        let is_modern = self.is_modern();
        // The most frequent method comes first. Others are boxed, so that the future of a call stays small.
        let answer = if method == "tools/call" {
            self.call_tool(params, meta).await
        } else {
            Box::pin(self.answer_other(id, &method, params, meta)).await
        };
        answer.map_err(|error| era::convert_error(error, is_modern))
    }

    async fn answer_other(
        self,
        id: RequestId,
        method: &str,
        params: RequestParams,
        meta: RequestMetaObject,
    ) -> Result<String, ErrorData> {
        match (method, &self.session) {
            ("server/discover", _) => {
                protocol::check_client_description(&meta)?;
                Ok(self.discover())
            }
            ("ping", Some(_)) => Ok(EMPTY_RESULT.to_owned()),
            ("tools/list", _) => self.list_tools(&params),
            ("resources/list", _) => self.list_resources(&params).await,
            ("resources/templates/list", _) => self.list_resource_templates(&params).await,
            ("resources/read", _) => self.read_resource(params, meta).await,
            ("prompts/list", _) => self.list_prompts(&params).await,
            ("prompts/get", _) => self.get_prompt(params, meta).await,
            ("completion/complete", _) => self.complete(&params).await,
            ("logging/setLevel", Some(session)) => {
                session.set_log_level(params.to::<SetLevelRequestParams>()?.level).await;
                Ok(EMPTY_RESULT.to_owned())
            }
            ("resources/subscribe", Some(session)) => {
                session.subscribe(params.to::<SubscribeRequestParams>()?.uri).await?;
                Ok(EMPTY_RESULT.to_owned())
            }
            ("resources/unsubscribe", Some(session)) => {
                session.unsubscribe(&params.to::<UnsubscribeRequestParams>()?.uri);
                Ok(EMPTY_RESULT.to_owned())
            }
            ("subscriptions/listen", None) => self.listen(id, &params).await,
            ("tasks/get" | "tasks/update" | "tasks/cancel", None) if self.is_modern() => {
                self.answer_task(method, &params)
            }
            _ => Err(method_not_found(method)),
        }
    }

    fn is_modern(&self) -> bool {
        protocol::is_modern(&self.version)
    }

    /// The features beyond tools for this client.
    fn offerings(&self) -> ScopedOfferings<'_> {
        self.server.offerings(ProtocolEra::for_client(&self.version, &self.capabilities))
    }

    fn profile(&self, meta: RequestMetaObject) -> ClientProfile {
        let (log_level, session_sink) = match &self.session {
            Some(session) => (Some(session.log_level()), Some(Arc::clone(&session.sink))),
            None => (meta.log_level(), None),
        };
        ClientProfile {
            principal: self.server.scope.caller.principal.id.clone(),
            capabilities: self.capabilities.clone(),
            version: self.version.clone(),
            meta,
            log_level,
            answer_timeout: self.server.shared.answer_timeout,
            session_sink,
        }
    }

    fn discover(&self) -> String {
        let mut result = DiscoverResult::from_server_info(SUPPORTED_VERSIONS.to_vec(), self.server.config());
        result.ttl_ms = CACHE_TTL_MS;
        result.cache_scope = CacheScope::Private;
        to_json(&result)
    }

    async fn call_tool(self, params: RequestParams, meta: RequestMetaObject) -> Result<String, ErrorData> {
        let answers = params.input_responses()?;
        let RequestParams { name, arguments, request_state, .. } = params;
        let name =
            name.ok_or_else(|| ErrorData::invalid_params("Invalid params: name must be a string", None))?;
        if arguments.as_ref().is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err(ErrorData::invalid_params("Invalid params: arguments must be an object", None));
        }
        let scope = &self.server.scope;
        let resolve = || scope.resolve_tool(&self.server.shared.engine, &name).map(ResolvedTool::into_id);
        let Some(tool) = self.tool.clone().or_else(resolve) else {
            let words = ToolError::tool_not_available(&truncate(&name, MAX_QUOTE)).message;
            return Err(ErrorData::invalid_params(words, None));
        };
        let profile = self.profile(meta);
        let resume = ResumeParams { resume_token: request_state, answers };
        let call = ClientToolCall { name, tool, arguments, resume };
        self.server.answer_tool_call(call, profile, &self.client).await
    }

    async fn read_resource(
        self,
        params: RequestParams,
        meta: RequestMetaObject,
    ) -> Result<String, ErrorData> {
        let mut request: ReadResourceRequestParams = params.to()?;
        let identity =
            RequestIdentity { method: "resources/read", target: request.uri.clone(), arguments: None };
        let again = ResumeParams {
            resume_token: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let is_modern = self.is_modern();
        let exchange = self.server.begin_or_resume(identity, again, self.profile(meta), |asking, _| {
            let (named, request) = self.offerings().route_resource(request)?;
            Ok(Box::pin(async move {
                let uri = request.uri.clone();
                let read = scoped_offerings::read_resource(named, request, asking).await;
                match read.map_err(|error| era::convert_resource_error(error, &uri, is_modern))? {
                    ReadResourceResponse::Complete(mut result) => {
                        era::set_result_type(&mut result.result_type, is_modern);
                        era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, is_modern);
                        Ok(to_json(&result))
                    }
                    _ => Err(unexpected_result()),
                }
            }))
        })?;
        finish(exchange.run(&self.client, &self.server.shared.pending_requests, None).await?)
    }

    async fn get_prompt(self, params: RequestParams, meta: RequestMetaObject) -> Result<String, ErrorData> {
        let mut request: GetPromptRequestParams = params.to()?;
        let arguments = request.arguments.clone().map(|arguments| RawJson::from(&arguments.into()));
        let identity = RequestIdentity { method: "prompts/get", target: request.name.clone(), arguments };
        let again = ResumeParams {
            resume_token: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let is_modern = self.is_modern();
        let exchange = self.server.begin_or_resume(identity, again, self.profile(meta), |asking, _| {
            let (named, request) = self.offerings().route_prompt(request)?;
            Ok(Box::pin(async move {
                match scoped_offerings::get_prompt(named, request, asking).await? {
                    GetPromptResponse::Complete(mut result) => {
                        era::set_result_type(&mut result.result_type, is_modern);
                        Ok(to_json(&result))
                    }
                    _ => Err(unexpected_result()),
                }
            }))
        })?;
        finish(exchange.run(&self.client, &self.server.shared.pending_requests, None).await?)
    }

    async fn complete(&self, params: &RequestParams) -> Result<String, ErrorData> {
        let mut result = self.offerings().complete(params.to::<CompleteRequestParams>()?).await?;
        era::set_result_type(&mut result.result_type, self.is_modern());
        Ok(to_json(&result))
    }

    fn answer_task(&self, method: &str, params: &RequestParams) -> Result<String, ErrorData> {
        if !self.capabilities.supports_tasks() {
            let required = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
        let no_id = || ErrorData::invalid_params("Invalid params: taskId must be a string", None);
        let id = params.task_id.as_deref().ok_or_else(no_id)?;
        let (tasks, scope) = (&self.server.shared.tasks, &self.server.scope);
        match method {
            "tasks/get" => return tasks.get(id, scope),
            "tasks/cancel" => tasks.cancel(id, scope)?,
            _ => tasks.update(id, scope, params.to::<UpdateTaskParams>()?.input_responses)?,
        }
        Ok(COMPLETE_RESULT.to_owned())
    }
}

/// The result of a request that is never turned into a task.
fn finish(reply: ExchangeReply) -> Result<String, ErrorData> {
    match reply {
        ExchangeReply::Done(result) => Ok(result),
        ExchangeReply::StillRunning(_) => Err(unexpected_result()),
    }
}

fn method_not_found(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, truncate(method, MAX_QUOTE), None)
}

/// The error of an upstream's result that has another form than its method allows.
fn unexpected_result() -> ErrorData {
    ErrorData::internal_error("the request ended in the answer to another kind of request", None)
}
