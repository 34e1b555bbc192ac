//! One request while it runs: the work itself, and what is said to its client meanwhile. A client of 2026-07-28 that is
//! asked something gets the questions as the answer to its request, and the work waits ([`super::parking`]) until the
//! client sends the request again with its answers. An older one is asked by a request of ours.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientResult, GetPromptResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, ReadResourceResult,
    ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use toolway_core::consent::Question;
use toolway_core::{Engine, Progress};
use toolway_types::RawJson;

use super::answer::is_modern;
use super::client::{Asked, Asking, ToClient};
use super::consent::{self, Consenting};
use super::parking::{Parking, Pending};
use super::visitor::Visitor;
use crate::link::NoAnswer;

/// How long what is still to be told may take once the work is done.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a request ends in.
#[derive(Debug)]
pub(crate) enum Done {
    /// A result of `tools/call`: a JSON object.
    Tool(String),
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
    /// Not in time: the work goes on.
    Late(Box<Exchange>),
}

/// Which request it is: only the same one takes up work that waits.
#[derive(Debug, Clone)]
pub(crate) struct Which {
    pub(crate) method: &'static str,
    /// The tool's or prompt's name, or the resource's URI.
    pub(crate) of: String,
    pub(crate) arguments: Option<RawJson>,
}

impl PartialEq for Which {
    /// The same arguments may be written in other ways.
    fn eq(&self, other: &Self) -> bool {
        let value = |which: &Self| which.arguments.as_ref().map(RawJson::to_value);
        self.method == other.method && self.of == other.of && value(self) == value(other)
    }
}

/// How the client of a request is reached meanwhile, and what says that it waits no longer. Nothing, where it wants to
/// hear nothing before the answer and its request is dropped with it.
#[derive(Default)]
pub(crate) struct Reach<'a> {
    peer: Option<&'a Peer<RoleServer>>,
    token: Option<ProgressToken>,
    cancelled: Option<&'a CancellationToken>,
}

impl<'a> Reach<'a> {
    pub(crate) fn of(context: &'a RequestContext<RoleServer>) -> Self {
        Self {
            peer: Some(&context.peer),
            token: context.meta.get_progress_token(),
            cancelled: Some(&context.ct),
        }
    }

    /// Whether it wants to hear how far its request is.
    pub(crate) fn wants_reports(&self) -> bool {
        self.token.is_some()
    }

    /// Resolves once its client does not wait any more, where that is said.
    async fn cancelled(&self) {
        match self.cancelled {
            Some(cancelled) => cancelled.cancelled().await,
            None => std::future::pending().await,
        }
    }
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
    /// What is to be said to the client next: a question that made a task of the request.
    pub(crate) unsaid: Option<ToClient>,
}

/// Saying something to a client; takes as long as the client takes.
type Talk = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Exchange {
    /// Until it is done, or its client has to be asked. Once the client cancels the request or may not come in any
    /// more, the work is cancelled, and what that ends in is the answer. After `patience`, where there is one, and where
    /// its client has to be asked before that, the work is given back.
    pub(crate) async fn run(
        mut self,
        reach: &Reach<'_>,
        parking: &Arc<Parking>,
        patience: Option<Duration>,
    ) -> Result<Answer, ErrorData> {
        let late = patience.map(|patience| Instant::now() + patience);
        let mut talk: Option<Talk> = None;
        loop {
            let is_cancelled = self.cancel.is_cancelled();
            let unsaid = if late.is_none() && talk.is_none() { self.unsaid.take() } else { None };
            let said = tokio::select! {
                biased;
                done = &mut self.work => {
                    self.say_the_rest(talk, reach).await;
                    return Ok(Answer::Done(done?));
                }
                () = async { if let Some(talk) = &mut talk { talk.await } }, if talk.is_some() => {
                    talk = None;
                    continue;
                }
                () = reach.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = self.visitor.gone.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() && !is_cancelled => {
                    return Ok(Answer::Late(Box::new(self)));
                }
                Some(said) = async {
                    match unsaid {
                        Some(said) => Some(said),
                        None => self.waiting.recv().await,
                    }
                }, if talk.is_none() => said,
            };
            if late.is_some() && matches!(said, ToClient::Ask(_) | ToClient::Consent(_)) {
                self.unsaid = Some(said);
                return Ok(Answer::Late(Box::new(self)));
            }
            let (requests, pending) = match said {
                ToClient::Progress(progress) => {
                    talk = self.report(*progress, reach);
                    continue;
                }
                ToClient::Log(message) => {
                    talk = reach.peer.map(|peer| pass_on(peer.clone(), *message));
                    continue;
                }
                ToClient::Ask(asked) => {
                    let Asked { requests, answers } = *asked;
                    (requests, Pending::Answers(answers))
                }
                ToClient::Consent(question) => match consent::form(&question) {
                    Some(requests) => (requests, Pending::Consent(self.consenting(question))),
                    None => continue,
                },
            };
            if !is_modern(&self.asking.known().version) {
                talk = reach.peer.map(|peer| ask(peer.clone(), requests, pending, self.visitor.clone()));
                continue;
            }
            match parking.park(self, pending) {
                Ok(state) => {
                    return Ok(Answer::Input(InputRequiredResult::new(Some(requests), Some(state))));
                }
                Err(back) => {
                    let (exchange, pending) = *back;
                    pending.answered(&exchange.visitor, Err(NoAnswer::TooMany));
                    self = exchange;
                }
            }
        }
    }

    /// A question of the gateway to this request's client.
    pub(crate) fn consenting(&self, question: Arc<Question>) -> Consenting {
        Consenting { engine: Arc::clone(&self.engine), question }
    }

    fn report(&mut self, progress: Progress, reach: &Reach<'_>) -> Option<Talk> {
        let said = self.progress_param(progress, reach.token.clone()?);
        let peer = reach.peer?.clone();
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
    async fn say_the_rest(&mut self, talk: Option<Talk>, reach: &Reach<'_>) {
        let Some(peer) = reach.peer else { return };
        let rest = async {
            if let Some(talk) = talk {
                talk.await;
            }
            loop {
                let said = match self.waiting.try_recv() {
                    Ok(said) => said,
                    Err(_) if self.waiting.is_closed() => return,
                    Err(_) => {
                        // What comes from here on is not lost: it comes after the answer.
                        self.waiting.close();
                        continue;
                    }
                };
                match said {
                    ToClient::Progress(progress) => {
                        if let Some(talk) = self.report(*progress, reach) {
                            talk.await;
                        }
                    }
                    ToClient::Log(message) => {
                        let _ = peer.notify_logging_message(*message).await;
                    }
                    // Their work has ended.
                    ToClient::Ask(_) | ToClient::Consent(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, rest).await;
    }
}

/// Passes a log message on.
fn pass_on(peer: Peer<RoleServer>, message: LoggingMessageNotificationParam) -> Talk {
    Box::pin(async move {
        // A client that has gone has its call cancelled.
        let _ = peer.notify_logging_message(message).await;
    })
}

/// Asks an older client, one question after the other.
fn ask(peer: Peer<RoleServer>, requests: InputRequests, mut pending: Pending, visitor: Visitor) -> Talk {
    Box::pin(async move {
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
        let given = tokio::select! {
            given = asking => given,
            // Nobody waits any more.
            () = pending.closed() => return,
        };
        pending.answered(&visitor, given);
    })
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
