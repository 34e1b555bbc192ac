//! Tool calls of MCP clients: each runs through the engine, with questions and notifications to the client meanwhile.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, InputResponses};
use tokio_util::sync::CancellationToken;
use toolway_core::consent::QuestionEvent;
use toolway_core::{CallExtension, CallRequest, ProgressReport, RawArguments};
use toolway_types::{RawJson, ToolId};

use super::client::{ClientMessage, ClientProfile, QueuedClient};
use super::client_handle::ClientHandle;
use super::exchange::{ClientExchange, ExchangeFuture, RequestIdentity};
use super::exchange_run::ExchangeReply;
use super::outgoing;
use super::scoped_server::ScopedServer;
use super::tasks;
use super::tool_result::{self, ToolResultFormat};
use crate::client_link::{ClientLink, RequestingClient};
use crate::protocol_era::ProtocolEra;

/// A client's request to call a tool.
pub(super) struct ClientToolCall {
    /// The name as the client wrote it.
    pub(super) name: String,
    pub(super) tool: ToolId,
    /// The arguments as a JSON object, if there are any.
    pub(super) arguments: Option<RawJson>,
    pub(super) resume: ResumeParams,
}

/// The parameters of a repeated request (2026-07-28, "Multi round-trip requests").
#[derive(Default)]
pub(super) struct ResumeParams {
    pub(super) resume_token: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

impl ScopedServer {
    /// Calls a tool, and returns the result as a JSON object: the tool's, questions to the client, or a task.
    ///
    /// # Errors
    /// The JSON-RPC error for the client.
    pub(super) async fn answer_tool_call(
        &self,
        asked: ClientToolCall,
        known: ClientProfile,
        reach: &ClientHandle,
    ) -> Result<String, ErrorData> {
        let ClientToolCall { name, tool, arguments, resume: again } = asked;
        let raw = arguments.clone().map_or(RawArguments::None, RawArguments::Json);
        let which = RequestIdentity { method: "tools/call", target: name, arguments };
        let has_tasks = known.supports_tasks();
        let mut exchange = self.begin_or_resume(which, again, known, |asking, cancel| {
            // A task shows messages of progress as its status.
            Ok(self.start_call(&tool, raw, has_tasks || reach.wants_progress(), asking, cancel))
        })?;
        let mut timeout = has_tasks.then_some(tasks::TASK_AFTER);
        loop {
            match exchange.run(reach, &self.shared.pending_requests, timeout).await? {
                ExchangeReply::Done(result) => return Ok(result),
                ExchangeReply::StillRunning(late) => {
                    match self.shared.tasks.begin(*late, self.call_timeout(&tool)) {
                        Ok(task) => return Ok(outgoing::to_json(&CreateTaskResult::new(task))),
                        // Too many tasks: the request waits as it would without tasks.
                        Err(back) => {
                            exchange = *back;
                            timeout = None;
                        }
                    }
                }
            }
        }
    }

    /// Starts the work of a request, or resumes it if the request has a resume token.
    ///
    /// # Errors
    /// An error if no pending request has this token.
    pub(super) fn begin_or_resume(
        &self,
        which: RequestIdentity,
        again: ResumeParams,
        known: ClientProfile,
        begin: impl FnOnce(Arc<QueuedClient>, &CancellationToken) -> Result<ExchangeFuture, ErrorData>,
    ) -> Result<ClientExchange, ErrorData> {
        let ResumeParams { resume_token: state, answers } = again;
        if let Some(state) = state {
            let (exchange, pending) = self
                .shared
                .pending_requests
                .resume(&state, &which, &self.scope)
                .ok_or_else(unknown_resume_token)?;
            pending.submit(&self.scope, Ok(answers.unwrap_or_default()));
            return Ok(exchange);
        }
        let (asking, waiting) = QueuedClient::new(known, answers);
        let cancel = CancellationToken::new();
        let work = begin(Arc::clone(&asking), &cancel)?;
        Ok(ClientExchange {
            identity: which,
            scope: self.scope.clone(),
            engine: Arc::clone(&self.shared.engine),
            client: asking,
            messages: waiting,
            work,
            cancel,
            last_progress: f64::NEG_INFINITY,
            last_message: None,
            next_message: None,
        })
    }

    /// Starts a call in the engine, with progress reports and questions to the client.
    fn start_call(
        &self,
        tool: &ToolId,
        arguments: RawArguments,
        wants_reports: bool,
        asking: Arc<QueuedClient>,
        cancel: &CancellationToken,
    ) -> ExchangeFuture {
        let mut call = CallRequest::new(tool.full_name().to_string(), arguments, self.scope.caller.clone());
        call.cancel = Some(cancel.clone());
        if wants_reports {
            let queue = asking.queue().clone();
            call.progress = Some(Arc::new(move |progress: ProgressReport| {
                // A client that does not read loses reports.
                let _ = queue.try_send(ClientMessage::Progress(Box::new(progress)));
            }));
        }
        if asking.profile().supports_form_elicitation() {
            let queue = asking.queue().clone();
            call.questions = Some(Arc::new(move |event: &QuestionEvent| {
                if let QuestionEvent::Asked(question) = event {
                    // If the queue is full, the question waits for the owner.
                    let _ = queue.try_send(ClientMessage::Consent(Arc::clone(question)));
                }
            }));
        }
        let is_modern = asking.profile().is_modern();
        let link: CallExtension = Arc::new(ClientLink(asking as Arc<dyn RequestingClient>));
        call.extension = Some(link);
        let shared = Arc::clone(&self.shared);
        // If the client sees a single upstream, results carry that upstream's server info.
        let upstream =
            if is_modern { self.offerings(ProtocolEra::Stateless).server_info_json() } else { None };
        Box::pin(async move {
            let finished = shared.engine.call(call).await;
            // The client must not notice the gateway between it and the server.
            if let Some(error) = tool_result::rpc_error(&finished.outcome) {
                return Err(error);
            }
            let form = ToolResultFormat {
                is_modern,
                server_info_json: upstream.as_deref().unwrap_or(&shared.server_info_json),
            };
            Ok(tool_result::render_outcome(&finished.outcome, form))
        })
    }

    /// The timeout of a tool.
    fn call_timeout(&self, tool: &ToolId) -> Duration {
        let registry = self.shared.engine.registry().snapshot();
        let found = registry.source(&tool.source).and_then(|source| {
            source.tools().iter().find(|it| it.spec().name() == &tool.tool).map(|it| Arc::clone(it.spec()))
        });
        found.map_or(Duration::from_secs(3600), |spec| self.shared.engine.tool_timeout(tool, &spec))
    }
}

fn unknown_resume_token() -> ErrorData {
    let words = "requestState is not one that can be used: it has been used, its time is over, or it belongs to another \
                 request; send the request again without it";
    ErrorData::invalid_params(words, None)
}
