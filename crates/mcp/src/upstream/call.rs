//! Requests on behalf of a client: `tools/call`, `prompts/get`, `resources/read`. The server's questions meanwhile go
//! to that client, in as many rounds as the server needs. A call that becomes a task of the server is followed to its
//! end.

mod questions;
mod task;
mod task_state;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue, StatusCode};
use parking_lot::Mutex;
use rmcp::model::{ClientCapabilities, InputRequests, InputResponses, LoggingLevel};
use serde::Deserialize;
use serde_json::Value;
use toolway_core::CallContext;
use toolway_types::text::shorten_error;
use toolway_types::{Code, RawJson, ToolError};

use self::questions::ask_client;
use self::task::TaskFollower;
use self::task_state::TaskState;
use super::capabilities;
use super::client_connection::RequestRoute;
use super::client_group::ServedClients;
use super::connection::{TaskAttachment, UpstreamConnection};
use super::error::UpstreamError;
use super::exchange::UpstreamExchange;
use super::log_level::LogLevelRequest;
use super::server::Upstream;
use super::task_requirement::TaskRequirement;
use super::transport::OutgoingRequest;
use crate::client_link::{InputRequestError, RequestingClient};
use crate::protocol_era::ProtocolEra;

/// Maximum number of rounds of one request (2026-07-28, "Multi round-trip requests").
const MAX_ROUNDS: u32 = 10;
/// Delay before a retry, if the server asks only for a retry.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Time that a server should keep a task beyond the call's own time, because waiting for a person is not part of it.
const TASK_TTL_MARGIN: Duration = Duration::from_secs(3600);

/// A request to the server.
pub(super) struct UpstreamRequest<'a> {
    pub(super) method: &'static str,
    /// The tool, prompt or resource.
    pub(super) name: &'a str,
    /// The members of the parameters except `_meta`.
    pub(super) members: String,
    /// Additional headers, in the newer era.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The task requirement of the called tool; `None` for requests that can't become tasks.
    pub(super) task: Option<&'a TaskRequirement>,
}

/// The reason why there is no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum RoundTripError {
    /// The request failed.
    #[error(transparent)]
    Fault(#[from] UpstreamError),
    /// The server asked for input, and there was no answer.
    #[error("it asks for {what}, but {why}")]
    Unanswered {
        /// The requested input.
        what: String,
        /// The reason why there was no answer.
        why: InputRequestError,
    },
    /// The server asked too many times.
    #[error("it asked {MAX_ROUNDS} times for input without a result")]
    TooManyRounds,
    /// The task of the server asked too many questions.
    #[error("its task asked too many questions")]
    TooManyQuestions,
    /// The server started a task for a request that can't become one.
    #[error("it started a task, but only calls of tools can be tasks")]
    UnexpectedTask,
    /// The server cancelled the task of the call.
    #[error("it cancelled the task{}", .0.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    TaskCancelled(Option<String>),
    /// The server does not know the task of the call any more.
    #[error("it does not know the task of this call any more: {0}")]
    TaskLost(String),
}

impl RoundTripError {
    /// Converts the error to the outcome of a tool call.
    pub(super) fn into_tool_error(self, server: &str) -> ToolError {
        let message = format!("The MCP server {server} gave no result: {self}");
        match self {
            Self::Fault(fault) => fault.into_tool_error(server),
            Self::Unanswered { .. } => ToolError::new(Code::ApprovalUnavailable, message)
                .with_dispatched(true)
                .with_hint("Call it from an MCP client that can be asked (one that declares elicitation)"),
            Self::TooManyRounds
            | Self::TooManyQuestions
            | Self::UnexpectedTask
            | Self::TaskCancelled(_)
            | Self::TaskLost(_) => ToolError::new(Code::ToolFailed, message).with_dispatched(true),
        }
    }

    /// Converts the error to a response to an MCP client.
    pub(super) fn into_error_data(self, server: &str) -> rmcp::ErrorData {
        match self {
            Self::Fault(fault) => fault.into_error_data(server),
            other => {
                let message = format!("the MCP server {server} gave no result: {other}");
                rmcp::ErrorData::internal_error(message, None)
            }
        }
    }
}

/// The input that a server requires before it continues.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequirement {
    #[serde(default)]
    input_requests: Option<InputRequests>,
    #[serde(default)]
    request_state: Option<String>,
}

/// The parameters of the next round.
#[derive(Default)]
struct RoundTripParams {
    answers: Option<InputResponses>,
    state: Option<String>,
    /// True if the call must become a task.
    is_task: bool,
    /// The exchange of a call that was sent as a task of 2025-11-25.
    attachment: Mutex<Option<TaskAttachment>>,
}

/// The kind of a round's result.
enum RoundOutcome {
    /// The result of the request.
    Done,
    InputRequired(InputRequirement),
    Task(TaskState),
}

/// Sends a request for a client of this era, and returns its result.
pub(super) async fn call_upstream(
    upstream: &Arc<Upstream>,
    era: ProtocolEra,
    request: UpstreamRequest<'_>,
    client: Option<&Arc<dyn RequestingClient>>,
    context: Option<&CallContext>,
) -> Result<RawJson, RoundTripError> {
    let mut round = RoundTripParams {
        answers: client.and_then(|client| client.initial_responses()),
        is_task: request.task.is_some_and(TaskRequirement::is_required),
        ..RoundTripParams::default()
    };
    let given = client.map(|client| ClientRequestMeta::new(upstream, &**client));
    let _level = match given.as_ref().and_then(|given| given.log_level) {
        Some(level) => request_log_level(upstream, level).await,
        None => None,
    };
    let needs_newer = request.task.is_some_and(TaskRequirement::needs_extension);
    let mut route = RequestRoute::new(if needs_newer { ProtocolEra::Stateless } else { era });
    for number in 1..=MAX_ROUNDS {
        let mut sent =
            send_round(upstream, &mut route, &request, &round, client, given.as_ref(), context).await;
        if let (Err(refusal), Some(task)) = (&sent, request.task)
            && route.retry_as_task(task, refusal, round.is_task)
        {
            // Nothing has run.
            round.is_task = true;
            let before = round.attachment.lock().take();
            drop(before);
            let again =
                send_round(upstream, &mut route, &request, &round, client, given.as_ref(), context).await;
            // A call that is refused in both forms has the reason of the first refusal.
            if !again.as_ref().is_err_and(TaskRequirement::is_older_refusal) {
                sent = again;
            }
        }
        let raw = sent?;
        let attachment = round.attachment.lock().take();
        let wants = match round_outcome(&raw, attachment.is_some())? {
            RoundOutcome::Done => return Ok(raw),
            RoundOutcome::InputRequired(wants) => wants,
            RoundOutcome::Task(_) if request.task.is_none() => return Err(RoundTripError::UnexpectedTask),
            RoundOutcome::Task(created) => {
                let exchange = match &attachment {
                    Some(attachment) => Arc::clone(attachment.exchange()),
                    None => UpstreamExchange::new(client.cloned(), context.cloned()),
                };
                let capabilities = given.map(|given| given.capabilities).unwrap_or_default();
                let usage = route.into_usage();
                let follower =
                    TaskFollower::new(upstream, usage, exchange, capabilities, attachment, &created)?;
                // Rare, so it should not enlarge the future of every call.
                return Box::pin(follower.follow(created)).await;
            }
        };
        round.answers = match wants.input_requests.filter(|requests| !requests.is_empty()) {
            Some(requests) => {
                let exchange = UpstreamExchange::new(client.cloned(), context.cloned());
                Some(ask_client(upstream, &exchange, requests).await?)
            }
            None => {
                tokio::time::sleep(RETRY_DELAY * number).await;
                None
            }
        };
        round.state = wants.request_state;
    }
    Err(RoundTripError::TooManyRounds)
}

/// The metadata of the client's request.
struct ClientRequestMeta<'a> {
    meta: &'a serde_json::Map<String, Value>,
    capabilities: ClientCapabilities,
    log_level: Option<LoggingLevel>,
}

impl<'a> ClientRequestMeta<'a> {
    fn new(upstream: &Upstream, client: &'a dyn RequestingClient) -> Self {
        let meta = client.meta();
        let level = meta.log_level();
        let can = capabilities::client_capabilities(upstream.definition(), client.capabilities());
        Self { meta: &meta.0.0, capabilities: can, log_level: level }
    }
}

/// Tells a server of the older era the log level that the client wants.
async fn request_log_level(upstream: &Arc<Upstream>, level: LoggingLevel) -> Option<LogLevelRequest> {
    let is_older = upstream.connection().is_some_and(|connection| !connection.is_stateless());
    // The request works without the server's log.
    if is_older { upstream.request_log_level(ServedClients::All, level).await.ok() } else { None }
}

/// Sends one round. If the request can't have run because the MCP session expired, it is sent once more in a new
/// session.
async fn send_round(
    upstream: &Arc<Upstream>,
    route: &mut RequestRoute,
    request: &UpstreamRequest<'_>,
    round: &RoundTripParams,
    client: Option<&Arc<dyn RequestingClient>>,
    given: Option<&ClientRequestMeta<'_>>,
    context: Option<&CallContext>,
) -> Result<RawJson, UpstreamError> {
    let connection = &route.connect(upstream, None).await?;
    let sent = send_on_connection(connection, request, round, client, given, context).await;
    let is_gone = match &sent {
        Err(UpstreamError::SessionExpired(_)) => true,
        // The connection closed before the request was sent.
        Err(UpstreamError::NotConnected(_)) => connection.is_closed(),
        _ => false,
    };
    let is_plain_refusal = is_plain_refusal(connection, &sent);
    if is_plain_refusal && let Err(fault) = &sent {
        connection.fail(UpstreamError::SessionExpired(fault.to_string()));
    }
    if !is_gone && !is_plain_refusal {
        return sent;
    }
    let connection = &route.connect(upstream, Some(connection)).await?;
    let sent = send_on_connection(connection, request, round, client, given, context).await;
    if is_plain_refusal && matches!(sent, Err(UpstreamError::Status(StatusCode::BAD_REQUEST, _))) {
        // The server means the request, not the session.
        connection.server().mark_plain_refusals_ordinary();
    }
    sent
}

/// Returns true for HTTP status 400 without a reason that tells whether the server means the session. A new session
/// shows it, once for each server.
fn is_plain_refusal(connection: &UpstreamConnection, sent: &Result<RawJson, UpstreamError>) -> bool {
    matches!(sent, Err(UpstreamError::Status(StatusCode::BAD_REQUEST, _)))
        && connection.transport().has_session()
        && !connection.server().are_plain_refusals_ordinary()
}

async fn send_on_connection(
    connection: &Arc<UpstreamConnection>,
    request: &UpstreamRequest<'_>,
    round: &RoundTripParams,
    client: Option<&Arc<dyn RequestingClient>>,
    given: Option<&ClientRequestMeta<'_>>,
    context: Option<&CallContext>,
) -> Result<RawJson, UpstreamError> {
    let id = connection.next_id();
    let is_stateless = connection.is_stateless();
    let era = if is_stateless { ProtocolEra::Stateless } else { ProtocolEra::Handshake };
    let mut params = String::with_capacity(request.members.len() + 400);
    params.push('{');
    params.push_str(&request.members);
    params.push(',');
    if is_stateless {
        if let Some(answers) = round.answers.as_ref().and_then(|answers| serde_json::to_string(answers).ok())
        {
            params.push_str(r#""inputResponses":"#);
            params.push_str(&answers);
            params.push(',');
        }
        if let Some(state) = round.state.as_ref().and_then(|state| serde_json::to_string(state).ok()) {
            params.push_str(r#""requestState":"#);
            params.push_str(&state);
            params.push(',');
        }
    }
    let is_older_task = round.is_task && !is_stateless && connection.takes_tool_tasks();
    if is_older_task {
        let ttl = context.map(CallContext::remaining).unwrap_or_default().saturating_add(TASK_TTL_MARGIN);
        let _ = write!(params, r#""task":{{"ttl":{}}},"#, ttl.as_millis());
    }
    let level = given
        .and_then(|given| given.log_level)
        .or_else(|| connection.clients().interest().lock().lowest_level());
    let no_meta = serde_json::Map::new();
    let mut said = given.map(|given| (given.meta, &given.capabilities));
    let capabilities;
    if round.is_task {
        let meta = said.map_or(&no_meta, |(meta, _)| meta);
        capabilities = capabilities::with_tasks(said.map(|(_, known)| known.clone()).unwrap_or_default());
        said = Some((meta, &capabilities));
    }
    connection.meta().write(&mut params, context.map(|_| id), Some(era), said, level);
    params.push('}');
    let exchange = UpstreamExchange::new(client.cloned(), context.cloned());
    if is_older_task {
        // Before the request, so that no message of the task comes too early.
        let attachment = TaskAttachment::new(connection, id, &exchange, &Arc::default());
        let before = round.attachment.lock().replace(attachment);
        drop(before);
    }
    if let Some(context) = context {
        context.mark_dispatched();
    }
    let outgoing = OutgoingRequest {
        id,
        method: request.method,
        name: Some(request.name),
        params,
        headers: if is_stateless { request.headers.clone() } else { Vec::new() },
        exchange: Some(Arc::clone(&exchange)),
    };
    let sent = match context {
        // The engine has the deadline.
        Some(_) => connection.request(outgoing).await,
        None => {
            with_timeout(
                connection.server().deps().settings.request_timeout,
                &exchange,
                connection.request(outgoing),
            )
            .await
        }
    };
    if let Err(fault @ UpstreamError::Unreachable(_)) = &sent {
        connection.fail(fault.clone());
    }
    sent
}

/// Limits the duration of a request, except for the time in which a client answers.
async fn with_timeout(
    limit: Duration,
    exchange: &UpstreamExchange,
    request: impl Future<Output = Result<RawJson, UpstreamError>>,
) -> Result<RawJson, UpstreamError> {
    tokio::pin!(request);
    loop {
        match tokio::time::timeout(limit, &mut request).await {
            Ok(result) => return result,
            Err(_) if exchange.is_asking() => {}
            Err(_) => return Err(UpstreamError::TimedOut(limit)),
        }
    }
}

/// The kind of a result. `is_older_task` is true if the request was sent as a task of 2025-11-25.
fn round_outcome(raw: &RawJson, is_older_task: bool) -> Result<RoundOutcome, RoundTripError> {
    if is_older_task {
        return Ok(TaskState::parse_created(raw)?.map_or(RoundOutcome::Done, RoundOutcome::Task));
    }
    let has = |word: &str| memchr::memmem::find(raw.get().as_bytes(), word.as_bytes()).is_some();
    if !has(r#""input_required""#) && !has(r#""task""#) {
        return Ok(RoundOutcome::Done);
    }
    let malformed = |error: serde_json::Error| {
        UpstreamError::Malformed(format!("its answer can't be read: {}", shorten_error(&error)))
    };
    #[derive(Deserialize)]
    struct ResultTypeField {
        #[serde(rename = "resultType", default)]
        kind: Option<String>,
    }
    let ResultTypeField { kind } = raw.to().map_err(malformed)?;
    match kind.as_deref() {
        Some("input_required") => {
            Ok(RoundOutcome::InputRequired(raw.to::<InputRequirement>().map_err(malformed)?))
        }
        Some("task") => Ok(RoundOutcome::Task(TaskState::parse(raw)?)),
        _ => Ok(RoundOutcome::Done),
    }
}
