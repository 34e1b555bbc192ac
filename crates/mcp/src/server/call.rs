//! Work for a request, and above all a call of a tool: through the engine, with what is asked and told on the way.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses, Task};
use tokio_util::sync::CancellationToken;
use toolway_core::consent::QuestionEvent;
use toolway_core::{CallExtension, CallRequest, ProgressReport, RawArguments};
use toolway_types::{RawJson, ToolId};

use super::client::{ClientMessage, ClientProfile, QueuedClient};
use super::client_handle::ClientHandle;
use super::exchange::{ClientExchange, ExchangeFuture, ExchangeResult, RequestIdentity, unexpected_result};
use super::exchange_run::ExchangeReply;
use super::scoped_server::ScopedServer;
use super::tasks;
use super::tool_result::{self, ToolResultFormat, is_modern};
use crate::client_link::{ClientLink, RequestingClient};

/// A call of a tool as a client asks for it.
pub(super) struct ClientToolCall {
    /// As the client says it.
    pub(super) name: String,
    pub(super) tool: ToolId,
    /// A JSON object, where there is one.
    pub(super) arguments: Option<RawJson>,
    pub(super) resume: ResumeParams,
}

/// What a request has that was sent before (2026-07-28, "Multi round-trip requests").
#[derive(Default)]
pub(super) struct ResumeParams {
    pub(super) resume_token: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

/// How a call of a tool is answered.
pub(super) enum ToolCallReply {
    /// With its result: a JSON object.
    Result(String),
    /// With questions.
    InputRequired(InputRequiredResult),
    /// With a task, for it takes long.
    Task(Task),
}

impl ScopedServer {
    /// Calls a tool.
    ///
    /// # Errors
    /// What the client is to be told in the place of a result.
    pub(super) async fn answer_tool_call(
        &self,
        asked: ClientToolCall,
        known: ClientProfile,
        reach: &ClientHandle<'_>,
    ) -> Result<ToolCallReply, ErrorData> {
        let ClientToolCall { name, tool, arguments, resume: again } = asked;
        let raw = arguments.clone().map_or(RawArguments::None, RawArguments::Json);
        let which = RequestIdentity { method: "tools/call", target: name, arguments };
        let has_tasks = known.capabilities.supports_tasks();
        let mut exchange = self.begin_or_resume(which, again, known, |asking, cancel| {
            Ok(self.start_call(&tool, raw, reach.wants_progress(), asking, cancel))
        })?;
        let mut timeout = has_tasks.then_some(tasks::TASK_AFTER);
        loop {
            match exchange.run(reach, &self.shared.pending_requests, timeout).await? {
                ExchangeReply::Done(ExchangeResult::Tool(result)) => {
                    return Ok(ToolCallReply::Result(result));
                }
                ExchangeReply::InputRequired(questions) => {
                    return Ok(ToolCallReply::InputRequired(questions));
                }
                ExchangeReply::StillRunning(late) => {
                    match self.shared.tasks.begin(*late, self.call_timeout(&tool)) {
                        Ok(task) => return Ok(ToolCallReply::Task(task)),
                        // Too many: the request waits as it would without tasks.
                        Err(back) => {
                            exchange = *back;
                            timeout = None;
                        }
                    }
                }
                ExchangeReply::Done(_) => return Err(unexpected_result()),
            }
        }
    }

    /// Work for a request: taken up again where the client holds a word for it, else begun.
    ///
    /// # Errors
    /// Where the client's word is for nothing that waits.
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
            next_message: None,
        })
    }

    /// A call as work: through the engine, with reports and questions on the way.
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
                // A client that does not read misses some.
                let _ = queue.try_send(ClientMessage::Progress(Box::new(progress)));
            }));
        }
        if asking.profile().supports_form_elicitation() {
            let queue = asking.queue().clone();
            call.questions = Some(Arc::new(move |event: &QuestionEvent| {
                if let QuestionEvent::Asked(question) = event {
                    // Where there is no room the question waits for the owner.
                    let _ = queue.try_send(ClientMessage::Consent(Arc::clone(question)));
                }
            }));
        }
        let is_modern = is_modern(&asking.profile().version);
        let link: CallExtension = Arc::new(ClientLink(asking as Arc<dyn RequestingClient>));
        call.extension = Some(link);
        let shared = Arc::clone(&self.shared);
        // One upstream alone gives its results under the name under which it introduces itself.
        let upstream = if is_modern { self.offerings().server_info_json() } else { None };
        Box::pin(async move {
            let finished = shared.engine.call(call).await;
            // A client must not be able to tell that a gateway stands between it and the server.
            if let Some(error) = tool_result::rpc_error(&finished.outcome) {
                return Err(error);
            }
            let form = ToolResultFormat {
                is_modern,
                server_info_json: upstream.as_deref().unwrap_or(&shared.server_info_json),
            };
            Ok(ExchangeResult::Tool(tool_result::render_outcome(&finished.outcome, form)))
        })
    }

    /// How long a run of a tool may take.
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
