//! One request while it runs: the work itself, and what is said to its client meanwhile. A client of 2026-07-28 that is
//! asked something gets the questions as the answer to its request, and the work waits ([`super::parking`]) until the
//! client sends the request again with its answers. An older one is asked by a request of ours.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientResult, GetPromptResult, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, JsonObject, ProgressNotificationParam, ProgressToken, ReadResourceResult, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolway_core::consent::{Choice, Question, Scope};
use toolway_core::{Engine, Progress};

use super::answer::is_modern;
use super::client::{Asked, Asking, ToClient};
use super::consent;
use super::parking::{Parking, Pending};
use super::visitor::Visitor;
use crate::link::NoAnswer;

/// How long what is still to be told may take once the work is done.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a request ends in.
#[derive(Debug)]
pub(crate) enum Done {
    Tool(CallToolResult),
    Prompt(GetPromptResult),
    Resource(ReadResourceResult),
}

/// The work of a request.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Done, ErrorData>> + Send>>;

/// How a request is answered.
pub(crate) enum Answer {
    /// With what it ends in.
    Done(Done),
    /// With questions.
    Input(InputRequiredResult),
}

/// Which request it is: only the same one takes up work that waits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Which {
    pub(crate) method: &'static str,
    /// The tool's or prompt's name, or the resource's URI.
    pub(crate) of: String,
    pub(crate) arguments: Option<JsonObject>,
}

/// A request under way.
pub(crate) struct Exchange {
    pub(crate) which: Which,
    pub(crate) visitor: Visitor,
    pub(crate) engine: Arc<Engine>,
    pub(crate) asking: Arc<Asking>,
    pub(crate) waiting: mpsc::Receiver<ToClient>,
    pub(crate) work: Work,
    /// Cancels the work.
    pub(crate) cancel: CancellationToken,
    /// What was last reported.
    pub(crate) reported: f64,
}

/// Saying something to a client; takes as long as the client takes.
type Talk = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Exchange {
    /// Until it is done, or its client has to be asked. Once the client cancels the request or may not come in any
    /// more, the work is cancelled, and what that ends in is the answer.
    pub(crate) async fn run(
        mut self,
        context: &RequestContext<RoleServer>,
        parking: &Arc<Parking>,
    ) -> Result<Answer, ErrorData> {
        let token = context.meta.get_progress_token();
        let mut talk: Option<Talk> = None;
        loop {
            let is_cancelled = self.cancel.is_cancelled();
            tokio::select! {
                biased;
                done = &mut self.work => {
                    self.say_the_rest(talk, &context.peer, token.as_ref()).await;
                    return Ok(Answer::Done(done?));
                }
                () = async { if let Some(talk) = &mut talk { talk.await } }, if talk.is_some() => talk = None,
                () = context.ct.cancelled(), if !is_cancelled => self.cancel.cancel(),
                () = self.visitor.gone.cancelled(), if !is_cancelled => self.cancel.cancel(),
                said = self.waiting.recv(), if talk.is_none() => match said {
                    None => {}
                    Some(ToClient::Progress(progress)) => {
                        talk = self.report(progress, &context.peer, token.as_ref());
                    }
                    Some(ToClient::Log(message)) => {
                        let peer = context.peer.clone();
                        talk = Some(Box::pin(async move {
                            let _ = peer.notify_logging_message(message).await;
                        }));
                    }
                    Some(ToClient::Ask(asked)) if is_modern(&self.asking.known().version) => {
                        let Asked { requests, answers } = asked;
                        match parking.park(self, Pending::Answers(answers)) {
                            Ok(state) => return Ok(Answer::Input(InputRequiredResult::new(Some(requests), Some(state)))),
                            Err((back, Pending::Answers(answers))) => {
                                self = back;
                                let _ = answers.send(Err(NoAnswer::TooMany));
                            }
                            Err((back, _)) => self = back,
                        }
                    }
                    Some(ToClient::Ask(asked)) => talk = Some(Box::pin(ask(context.peer.clone(), asked))),
                    Some(ToClient::Consent(question)) => {
                        let Some(requests) = consent::form(&question) else { continue };
                        if is_modern(&self.asking.known().version) {
                            match parking.park(self, Pending::Consent(question)) {
                                Ok(state) => {
                                    return Ok(Answer::Input(InputRequiredResult::new(Some(requests), Some(state))));
                                }
                                Err((back, pending)) => {
                                    self = back;
                                    if let Pending::Consent(question) = pending {
                                        self.answer(&question, Choice::Denied, Scope::Once);
                                    }
                                }
                            }
                        } else {
                            talk = Some(self.ask_for_consent(question, requests, context.peer.clone()));
                        }
                    }
                },
            }
        }
    }

    /// The answers that came with the request when it was sent again.
    pub(crate) fn answered(&self, pending: Pending, answers: InputResponses) {
        match pending {
            Pending::Answers(to) => {
                // The work has given up waiting otherwise, and its end is the answer.
                let _ = to.send(Ok(answers));
            }
            Pending::Consent(question) => {
                let (choice, scope) = consent::choice(&answers);
                self.answer(&question, choice, scope);
            }
        }
    }

    fn answer(&self, question: &Question, choice: Choice, scope: Scope) {
        let principal = &self.visitor.caller.principal;
        if let Err(refused) = self.engine.questions().answer(question.id, principal, choice, scope) {
            tracing::debug!(%refused, tool = %question.tool, "an MCP client's answer to a question was not taken");
        }
    }

    fn ask_for_consent(
        &self,
        question: Arc<Question>,
        requests: InputRequests,
        peer: Peer<RoleServer>,
    ) -> Talk {
        let (engine, principal) = (Arc::clone(&self.engine), Arc::clone(&self.visitor.caller.principal));
        Box::pin(async move {
            let (answers, answered) = tokio::sync::oneshot::channel();
            ask(peer, Asked { requests, answers }).await;
            let answers = answered.await.unwrap_or(Err(NoAnswer::Gone)).unwrap_or_default();
            let (choice, scope) = consent::choice(&answers);
            // Somebody else may have answered meanwhile.
            let _ = engine.questions().answer(question.id, &principal, choice, scope);
        })
    }

    fn report(
        &mut self,
        progress: Progress,
        peer: &Peer<RoleServer>,
        token: Option<&ProgressToken>,
    ) -> Option<Talk> {
        let said = self.progress_param(progress, token?.clone());
        let peer = peer.clone();
        Some(Box::pin(async move {
            // A client that has gone has its call cancelled.
            let _ = peer.notify_progress(said).await;
        }))
    }

    fn progress_param(&mut self, progress: Progress, token: ProgressToken) -> ProgressNotificationParam {
        // The specification has it rise with each report; what a device says of a person that is asked does not.
        let far = progress.progress;
        self.reported = if far > self.reported { far } else { self.reported.next_up() };
        let mut said = ProgressNotificationParam::new(token, self.reported);
        said.total = progress.total;
        said.message = progress.message;
        said
    }

    /// What was reported before the end reaches the client before the answer, as far as it reads.
    async fn say_the_rest(
        &mut self,
        talk: Option<Talk>,
        peer: &Peer<RoleServer>,
        token: Option<&ProgressToken>,
    ) {
        let rest = async {
            if let Some(talk) = talk {
                talk.await;
            }
            while let Ok(said) = self.waiting.try_recv() {
                match said {
                    ToClient::Progress(progress) => {
                        if let Some(talk) = self.report(progress, peer, token) {
                            talk.await;
                        }
                    }
                    ToClient::Log(message) => {
                        let _ = peer.notify_logging_message(message).await;
                    }
                    // Their work has ended.
                    ToClient::Ask(_) | ToClient::Consent(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, rest).await;
    }
}

/// Asks an older client, one question after the other.
async fn ask(peer: Peer<RoleServer>, asked: Asked) {
    let Asked { requests, mut answers } = asked;
    let asking = async {
        let mut given = InputResponses::new();
        for (key, request) in requests {
            match peer.send_request(as_request(request)).await {
                Ok(result) => {
                    given.insert(key, as_value(&result));
                }
                Err(rmcp::ServiceError::McpError(_)) => return Err(NoAnswer::CannotBeAsked),
                Err(_) => return Err(NoAnswer::Gone),
            }
        }
        Ok(given)
    };
    tokio::select! {
        given = asking => {
            let _ = answers.send(given);
        }
        // Nobody waits any more.
        () = answers.closed() => {}
    }
}

fn as_request(request: InputRequest) -> ServerRequest {
    match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        // There is no fourth kind; a client says that it does not know this one.
        _ => ServerRequest::PingRequest(Default::default()),
    }
}

fn as_value(result: &ClientResult) -> serde_json::Value {
    serde_json::to_value(result).unwrap_or_default()
}
