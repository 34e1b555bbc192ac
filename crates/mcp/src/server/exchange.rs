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
use toolway_core::{Engine, ProgressReport};
use toolway_types::RawJson;

use super::client::{ClientMessage, QueuedClient, QueuedInputRequests};
use super::client_scope::ClientScope;
use super::consent::{self, ConsentRequest};
use super::pending_requests::{PendingAnswer, PendingRequests};
use super::tool_result::is_modern;
use crate::client_link::InputRequestError;

/// How long what is still to be told may take once the work is done.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// What a request ends in.
#[derive(Debug)]
pub(crate) enum ExchangeResult {
    /// A result of `tools/call`: a JSON object.
    Tool(String),
    Prompt(GetPromptResult),
    Resource(ReadResourceResult),
}

/// The work of a request.
pub(crate) type ExchangeFuture = Pin<Box<dyn Future<Output = Result<ExchangeResult, ErrorData>> + Send>>;

/// How a request is answered.
pub(crate) enum ExchangeReply {
    /// With what it ends in.
    Done(ExchangeResult),
    /// With questions.
    InputRequired(InputRequiredResult),
    /// Not in time: the work goes on.
    StillRunning(Box<ClientExchange>),
}

/// Which request it is: only the same one takes up work that waits.
#[derive(Debug, Clone)]
pub(crate) struct RequestIdentity {
    pub(crate) method: &'static str,
    /// The tool's or prompt's name, or the resource's URI.
    pub(crate) target: String,
    pub(crate) arguments: Option<RawJson>,
}

impl PartialEq for RequestIdentity {
    /// The same arguments may be written in other ways.
    fn eq(&self, other: &Self) -> bool {
        let value = |which: &Self| which.arguments.as_ref().map(RawJson::to_value);
        self.method == other.method && self.target == other.target && value(self) == value(other)
    }
}

/// How the client of a request is reached meanwhile, and what says that it waits no longer. Nothing, where it wants to
/// hear nothing before the answer and its request is dropped with it.
#[derive(Default)]
pub(crate) struct ClientHandle<'a> {
    peer: Option<&'a Peer<RoleServer>>,
    progress_token: Option<ProgressToken>,
    cancelled: Option<&'a CancellationToken>,
}

impl<'a> ClientHandle<'a> {
    pub(crate) fn from_context(context: &'a RequestContext<RoleServer>) -> Self {
        Self {
            peer: Some(&context.peer),
            progress_token: context.meta.get_progress_token(),
            cancelled: Some(&context.ct),
        }
    }

    /// Whether it wants to hear how far its request is.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
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
pub(crate) struct ClientExchange {
    pub(crate) identity: RequestIdentity,
    pub(crate) scope: ClientScope,
    pub(crate) engine: Arc<Engine>,
    pub(crate) client: Arc<QueuedClient>,
    pub(crate) messages: mpsc::Receiver<ClientMessage>,
    pub(crate) work: ExchangeFuture,
    /// Cancels the work.
    pub(crate) cancel: CancellationToken,
    /// What was last reported.
    pub(crate) last_progress: f64,
    /// What is to be said to the client next: a question that made a task of the request.
    pub(crate) next_message: Option<ClientMessage>,
}

/// Saying something to a client; takes as long as the client takes.
type ClientSendFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl ClientExchange {
    /// Until it is done, or its client has to be asked. Once the client cancels the request or may not come in any
    /// more, the work is cancelled, and what that ends in is the answer. After `timeout`, where there is one, and where
    /// its client has to be asked before that, the work is given back.
    pub(crate) async fn run(
        mut self,
        reach: &ClientHandle<'_>,
        parking: &Arc<PendingRequests>,
        timeout: Option<Duration>,
    ) -> Result<ExchangeReply, ErrorData> {
        let late = timeout.map(|timeout| Instant::now() + timeout);
        let mut talk: Option<ClientSendFuture> = None;
        loop {
            let is_cancelled = self.cancel.is_cancelled();
            let unsaid = if late.is_none() && talk.is_none() { self.next_message.take() } else { None };
            let said = tokio::select! {
                biased;
                done = &mut self.work => {
                    self.flush_messages(talk, reach).await;
                    return Ok(ExchangeReply::Done(done?));
                }
                () = async { if let Some(talk) = &mut talk { talk.await } }, if talk.is_some() => {
                    talk = None;
                    continue;
                }
                () = reach.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = self.scope.revoked.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() && !is_cancelled => {
                    return Ok(ExchangeReply::StillRunning(Box::new(self)));
                }
                Some(said) = async {
                    match unsaid {
                        Some(said) => Some(said),
                        None => self.messages.recv().await,
                    }
                }, if talk.is_none() => said,
            };
            if late.is_some() && matches!(said, ClientMessage::InputRequests(_) | ClientMessage::Consent(_)) {
                self.next_message = Some(said);
                return Ok(ExchangeReply::StillRunning(Box::new(self)));
            }
            let (requests, pending) = match said {
                ClientMessage::Progress(progress) => {
                    talk = self.send_progress(*progress, reach);
                    continue;
                }
                ClientMessage::Log(message) => {
                    talk = reach.peer.map(|peer| forward_log(peer.clone(), *message));
                    continue;
                }
                ClientMessage::InputRequests(asked) => {
                    let QueuedInputRequests { requests, answers } = *asked;
                    (requests, PendingAnswer::Answers(answers))
                }
                ClientMessage::Consent(question) => match consent::elicitation_form(&question) {
                    Some(requests) => (requests, PendingAnswer::Consent(self.consent_request(question))),
                    None => continue,
                },
            };
            if !is_modern(&self.client.profile().version) {
                talk = reach.peer.map(|peer| ask_client(peer.clone(), requests, pending, self.scope.clone()));
                continue;
            }
            match parking.suspend(self, pending) {
                Ok(state) => {
                    return Ok(ExchangeReply::InputRequired(InputRequiredResult::new(
                        Some(requests),
                        Some(state),
                    )));
                }
                Err(back) => {
                    let (exchange, pending) = *back;
                    pending.submit(&exchange.scope, Err(InputRequestError::TooMany));
                    self = exchange;
                }
            }
        }
    }

    /// A question of the gateway to this request's client.
    pub(crate) fn consent_request(&self, question: Arc<Question>) -> ConsentRequest {
        ConsentRequest { engine: Arc::clone(&self.engine), question }
    }

    fn send_progress(
        &mut self,
        progress: ProgressReport,
        reach: &ClientHandle<'_>,
    ) -> Option<ClientSendFuture> {
        let said = self.progress_param(progress, reach.progress_token.clone()?);
        let peer = reach.peer?.clone();
        Some(Box::pin(async move {
            // A client that has gone has its call cancelled.
            let _ = peer.notify_progress(said).await;
        }))
    }

    fn progress_param(
        &mut self,
        progress: ProgressReport,
        token: ProgressToken,
    ) -> ProgressNotificationParam {
        // MCP requires a rising value in each report (Utilities, "Progress"); what a device says of a person that is asked does not.
        let far = progress.progress;
        self.last_progress = if far > self.last_progress { far } else { self.last_progress.next_up() };
        let mut said = ProgressNotificationParam::new(token, self.last_progress);
        said.total = progress.total;
        said.message = progress.message;
        said
    }

    /// What was reported before the end reaches the client before the answer, as far as it reads.
    async fn flush_messages(&mut self, talk: Option<ClientSendFuture>, reach: &ClientHandle<'_>) {
        let Some(peer) = reach.peer else { return };
        let rest = async {
            if let Some(talk) = talk {
                talk.await;
            }
            loop {
                let said = match self.messages.try_recv() {
                    Ok(said) => said,
                    Err(_) if self.messages.is_closed() => return,
                    Err(_) => {
                        // What comes from here on is not lost: it comes after the answer.
                        self.messages.close();
                        continue;
                    }
                };
                match said {
                    ClientMessage::Progress(progress) => {
                        if let Some(talk) = self.send_progress(*progress, reach) {
                            talk.await;
                        }
                    }
                    ClientMessage::Log(message) => {
                        let _ = peer.notify_logging_message(*message).await;
                    }
                    // Their work has ended.
                    ClientMessage::InputRequests(_) | ClientMessage::Consent(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, rest).await;
    }
}

/// Passes a log message on.
fn forward_log(peer: Peer<RoleServer>, message: LoggingMessageNotificationParam) -> ClientSendFuture {
    Box::pin(async move {
        // A client that has gone has its call cancelled.
        let _ = peer.notify_logging_message(message).await;
    })
}

/// Asks an older client, one question after the other.
fn ask_client(
    peer: Peer<RoleServer>,
    requests: InputRequests,
    mut pending: PendingAnswer,
    visitor: ClientScope,
) -> ClientSendFuture {
    Box::pin(async move {
        let asking = async {
            let mut given = InputResponses::new();
            for (key, request) in requests {
                match peer.send_request(as_request(request)).await {
                    Ok(result) => {
                        given.insert(key, as_value(&result));
                    }
                    Err(rmcp::ServiceError::McpError(_)) => return Err(InputRequestError::NotSupported),
                    Err(_) => return Err(InputRequestError::Disconnected),
                }
            }
            Ok(given)
        };
        let given = tokio::select! {
            given = asking => given,
            // Nobody waits any more.
            () = pending.closed() => return,
        };
        pending.submit(&visitor, given);
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
