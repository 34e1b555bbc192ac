//! Work for a request, and above all a call of a tool: through the engine, with what is asked and told on the way.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses, Task};
use tokio_util::sync::CancellationToken;
use toolway_core::consent::QuestionEvent;
use toolway_core::{Attachment, Call, Progress, RawArguments};
use toolway_types::{RawJson, ToolId};

use super::answer::{self, Form, is_modern};
use super::client::{Asking, Known, ToClient};
use super::exchange::{Answer, Done, Exchange, Reach, Which, Work};
use super::handler::{Handler, wrong_end};
use super::tasks;
use crate::link::{Client, Link};
use crate::refused;

/// A call of a tool as a client asks for it.
pub(super) struct ToolCall {
    /// As the client says it.
    pub(super) name: String,
    pub(super) tool: ToolId,
    /// A JSON object, where there is one.
    pub(super) arguments: Option<RawJson>,
    pub(super) again: Again,
}

/// What a request has that was sent before (2026-07-28, "Multi round-trip requests").
#[derive(Default)]
pub(super) struct Again {
    pub(super) state: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

/// How a call of a tool is answered.
pub(super) enum Called {
    /// With its result: a JSON object.
    Result(String),
    /// With questions.
    Input(InputRequiredResult),
    /// With a task, for it takes long.
    Task(Task),
}

impl Handler {
    /// Calls a tool.
    ///
    /// # Errors
    /// What the client is to be told in the place of a result.
    pub(super) async fn called(
        &self,
        asked: ToolCall,
        known: Known,
        reach: &Reach<'_>,
    ) -> Result<Called, ErrorData> {
        let ToolCall { name, tool, arguments, again } = asked;
        let raw = arguments.clone().map_or(RawArguments::None, RawArguments::Json);
        let which = Which { method: "tools/call", of: name, arguments };
        let has_tasks = known.capabilities.supports_tasks();
        let mut exchange = self.exchange(which, again, known, |asking, cancel| {
            Ok(self.call(&tool, raw, reach.wants_reports(), asking, cancel))
        })?;
        let mut patience = has_tasks.then_some(tasks::AFTER);
        loop {
            match exchange.run(reach, &self.shared.parking, patience).await? {
                Answer::Done(Done::Tool(result)) => return Ok(Called::Result(result)),
                Answer::Input(questions) => return Ok(Called::Input(questions)),
                Answer::Late(late) => match self.shared.tasks.begin(*late, self.limit(&tool)) {
                    Ok(task) => return Ok(Called::Task(task)),
                    // Too many: the request waits as it would without tasks.
                    Err(back) => {
                        exchange = *back;
                        patience = None;
                    }
                },
                Answer::Done(_) => return Err(wrong_end()),
            }
        }
    }

    /// Work for a request: taken up again where the client holds a word for it, else begun.
    ///
    /// # Errors
    /// Where the client's word is for nothing that waits.
    pub(super) fn exchange(
        &self,
        which: Which,
        again: Again,
        known: Known,
        begin: impl FnOnce(Arc<Asking>, &CancellationToken) -> Result<Work, ErrorData>,
    ) -> Result<Exchange, ErrorData> {
        let Again { state, answers } = again;
        if let Some(state) = state {
            let (exchange, pending) =
                self.shared.parking.take(&state, &which, &self.visitor).ok_or_else(unknown_state)?;
            pending.answered(&self.visitor, Ok(answers.unwrap_or_default()));
            return Ok(exchange);
        }
        let (asking, waiting) = Asking::new(known, answers);
        let cancel = CancellationToken::new();
        let work = begin(Arc::clone(&asking), &cancel)?;
        Ok(Exchange {
            which,
            visitor: self.visitor.clone(),
            engine: Arc::clone(&self.shared.engine),
            asking,
            waiting,
            work,
            cancel,
            reported: f64::NEG_INFINITY,
            unsaid: None,
        })
    }

    /// A call as work: through the engine, with reports and questions on the way.
    fn call(
        &self,
        tool: &ToolId,
        arguments: RawArguments,
        wants_reports: bool,
        asking: Arc<Asking>,
        cancel: &CancellationToken,
    ) -> Work {
        let mut call = Call::new(tool.exposed().to_string(), arguments, self.visitor.caller.clone());
        call.cancel = Some(cancel.clone());
        if wants_reports {
            let queue = asking.queue().clone();
            call.progress = Some(Arc::new(move |progress: Progress| {
                // A client that does not read misses some.
                let _ = queue.try_send(ToClient::Progress(Box::new(progress)));
            }));
        }
        if asking.known().has_forms() {
            let queue = asking.queue().clone();
            call.questions = Some(Arc::new(move |event: &QuestionEvent| {
                if let QuestionEvent::Asked(question) = event {
                    // Where there is no room the question waits for the owner.
                    let _ = queue.try_send(ToClient::Consent(Arc::clone(question)));
                }
            }));
        }
        let is_modern = is_modern(&asking.known().version);
        let link: Attachment = Arc::new(Link(asking as Arc<dyn Client>));
        call.attachment = Some(link);
        let shared = Arc::clone(&self.shared);
        // One upstream alone gives its results under the name under which it introduces itself.
        let upstream = if is_modern { self.through().introduced() } else { None };
        Box::pin(async move {
            let finished = shared.engine.call(call).await;
            if let Some(refused) = finished.original.as_ref().and_then(refused::read) {
                return Err(refused);
            }
            let form = Form { is_modern, server: upstream.as_deref().unwrap_or(&shared.server_json) };
            Ok(Done::Tool(answer::of(&finished, form)))
        })
    }

    /// How long a run of a tool may take.
    fn limit(&self, tool: &ToolId) -> Duration {
        let registry = self.shared.engine.registry().snapshot();
        let found = registry.source(&tool.source).and_then(|source| {
            source.tools().iter().find(|it| it.spec().name() == &tool.tool).map(|it| Arc::clone(it.spec()))
        });
        found.map_or(Duration::from_secs(3600), |spec| self.shared.engine.tool_timeout(tool, &spec))
    }
}

fn unknown_state() -> ErrorData {
    let words = "requestState is not one that can be used: it has been used, its time is over, or it belongs to another \
                 request; send the request again without it";
    ErrorData::invalid_params(words, None)
}
