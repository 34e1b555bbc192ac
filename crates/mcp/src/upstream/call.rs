//! A request that a client outside is behind: `tools/call`, `prompts/get`, `resources/read`. What the server asks
//! meanwhile is asked of that client, as often as the server needs it.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientCapabilities, InputRequest, InputRequests, InputResponses, LoggingLevel};
use serde::Deserialize;
use serde_json::Value;
use toolway_core::CallContext;
use toolway_types::{Code, RawJson, ToolError};

use super::allowed;
use super::carrier::Outgoing;
use super::connection::Connection;
use super::exchange::Exchange;
use super::fault::Fault;
use super::server::Upstream;
use super::status::Era;
use crate::link::{Client, NoAnswer};
use crate::offering::{Offering as _, Subscription};

/// Most rounds of one request (2026-07-28, "Multi round-trip requests").
const MAX_ROUNDS: u32 = 10;
/// How long to wait before asking again where a server wants nothing but that.
const PAUSE: Duration = Duration::from_millis(100);

/// What is asked of the server.
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    /// The tool, prompt or resource.
    pub(super) name: &'a str,
    /// The members of its parameters, but for `_meta`.
    pub(super) members: String,
    /// Headers of its own, in the newer era.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoResult {
    /// The request failed.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The server asked for something, and there was no answer.
    #[error("it asks for {what}, but {why}")]
    Unanswered {
        /// For what.
        what: String,
        /// Why there was no answer.
        why: NoAnswer,
    },
    /// It asked on and on.
    #[error("it asked {MAX_ROUNDS} times for something, and would again")]
    TooManyRounds,
    /// It began a task, which nobody allowed it to.
    #[error("it began a task, though nobody said that tasks can be followed here")]
    Task,
}

impl NoResult {
    /// As the outcome of a call of a tool of this server.
    pub(super) fn of_call(self, server: &str) -> ToolError {
        let message = format!("The MCP server {server} gave no result: {self}");
        match self {
            Self::Fault(fault) => fault.of_call(server),
            Self::Unanswered { .. } => ToolError::new(Code::ApprovalUnavailable, message)
                .dispatched(true)
                .with_hint("Call it from an MCP client that can be asked (one that declares elicitation)"),
            Self::TooManyRounds | Self::Task => ToolError::new(Code::ToolFailed, message).dispatched(true),
        }
    }

    /// As an answer to an MCP client.
    pub(super) fn of_request(self, server: &str) -> rmcp::ErrorData {
        match self {
            Self::Fault(fault) => fault.of_request(server),
            other => {
                let message = format!("the MCP server {server} gave no result: {other}");
                rmcp::ErrorData::internal_error(message, None)
            }
        }
    }
}

/// What a server wants before it goes on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wants {
    #[serde(default)]
    input_requests: Option<InputRequests>,
    #[serde(default)]
    request_state: Option<String>,
}

/// What a request says in its next round.
#[derive(Default)]
struct Round {
    answers: Option<InputResponses>,
    state: Option<String>,
}

/// Makes a request and gives its result.
pub(super) async fn call(
    upstream: &Arc<Upstream>,
    request: Request<'_>,
    client: Option<&Arc<dyn Client>>,
    context: Option<&CallContext>,
) -> Result<RawJson, NoResult> {
    let mut round = Round { answers: client.and_then(|client| client.early_answers()), state: None };
    let given = client.map(|client| Given::of(upstream, &**client));
    let _level = match given.as_ref().and_then(|given| given.level) {
        Some(level) => hold_level(upstream, level).await,
        None => None,
    };
    for number in 1..=MAX_ROUNDS {
        let raw = send(upstream, &request, &round, client, given.as_ref(), context).await?;
        let Some(wants) = wants(&raw)? else { return Ok(raw) };
        round.answers = match wants.input_requests.filter(|requests| !requests.is_empty()) {
            Some(requests) => Some(ask(upstream, requests, client, context).await?),
            None => {
                tokio::time::sleep(PAUSE * number).await;
                None
            }
        };
        round.state = wants.request_state;
    }
    Err(NoResult::TooManyRounds)
}

/// What the client gave along.
struct Given<'a> {
    meta: &'a serde_json::Map<String, Value>,
    can: ClientCapabilities,
    level: Option<LoggingLevel>,
}

impl<'a> Given<'a> {
    fn of(upstream: &Upstream, client: &'a dyn Client) -> Self {
        let meta = client.meta();
        let level = meta.log_level();
        let can = allowed::of_client(upstream.definition(), client.capabilities());
        Self { meta: &meta.0.0, can, level }
    }
}

/// A server of the older era is told beforehand from which level on a client wants to hear its log.
async fn hold_level(upstream: &Arc<Upstream>, level: LoggingLevel) -> Option<Subscription> {
    let is_older = upstream.connection().is_some_and(|connection| !connection.is_stateless());
    // Without its log, the request is what it was.
    if is_older { upstream.log_from(level).await.ok() } else { None }
}

/// One round. A request that can't have run because the MCP session has ended is sent again once in a new one.
async fn send(
    upstream: &Arc<Upstream>,
    request: &Request<'_>,
    round: &Round,
    client: Option<&Arc<dyn Client>>,
    given: Option<&Given<'_>>,
    context: Option<&CallContext>,
) -> Result<RawJson, Fault> {
    let connection = upstream.connected(None).await?;
    let sent = over(&connection, request, round, client, given, context).await;
    let is_gone = match &sent {
        Err(Fault::SessionGone) => true,
        // It was closed before the request was on its way.
        Err(Fault::Away(_)) => connection.is_closed(),
        _ => false,
    };
    if !is_gone {
        return sent;
    }
    if matches!(sent, Err(Fault::SessionGone)) {
        connection.fail(Fault::SessionGone);
    }
    let connection = upstream.connected(Some(&connection)).await?;
    over(&connection, request, round, client, given, context).await
}

async fn over(
    connection: &Arc<Connection>,
    request: &Request<'_>,
    round: &Round,
    client: Option<&Arc<dyn Client>>,
    given: Option<&Given<'_>>,
    context: Option<&CallContext>,
) -> Result<RawJson, Fault> {
    let id = connection.next_id();
    let is_stateless = connection.is_stateless();
    let era = if is_stateless { Era::Stateless } else { Era::Handshake };
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
    let level = given.and_then(|given| given.level).or_else(|| connection.upstream().wanted().lock().level());
    let said = given.map(|given| (given.meta, &given.can));
    connection.meta().write(&mut params, context.map(|_| id), Some(era), said, level);
    params.push('}');
    let exchange = Exchange::new(client.cloned(), context.cloned());
    if let Some(context) = context {
        context.mark_dispatched();
    }
    let outgoing = Outgoing {
        id,
        method: request.method,
        name: Some(request.name),
        params,
        headers: if is_stateless { request.headers.clone() } else { Vec::new() },
        exchange: Some(Arc::clone(&exchange)),
    };
    let sent = match context {
        // The engine has the clock.
        Some(_) => connection.request(outgoing).await,
        None => {
            within(connection.upstream().parts().settings.request, &exchange, connection.request(outgoing))
                .await
        }
    };
    if let Err(fault @ Fault::Unreachable(_)) = &sent {
        connection.fail(fault.clone());
    }
    sent
}

/// Bounds a request, but for the time in which a client's answer is waited for.
async fn within(
    limit: Duration,
    exchange: &Exchange,
    request: impl Future<Output = Result<RawJson, Fault>>,
) -> Result<RawJson, Fault> {
    tokio::pin!(request);
    loop {
        match tokio::time::timeout(limit, &mut request).await {
            Ok(result) => return result,
            Err(_) if exchange.is_asking() => {}
            Err(_) => return Err(Fault::Late(limit)),
        }
    }
}

/// What the server wants before it goes on; none where this is its result.
fn wants(raw: &RawJson) -> Result<Option<Wants>, NoResult> {
    let has = |word: &str| memchr::memmem::find(raw.get().as_bytes(), word.as_bytes()).is_some();
    if !has(r#""input_required""#) && !has(r#""task""#) {
        return Ok(None);
    }
    let malformed = |error: serde_json::Error| Fault::Malformed(format!("its answer can't be read: {error}"));
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "resultType", borrow, default)]
        kind: Option<std::borrow::Cow<'a, str>>,
    }
    let Kind { kind } = raw.to().map_err(malformed)?;
    match kind.as_deref() {
        Some("input_required") => Ok(Some(raw.to::<Wants>().map_err(malformed)?)),
        Some("task") => Err(NoResult::Task),
        _ => Ok(None),
    }
}

/// Asks the client for all of it.
async fn ask(
    upstream: &Upstream,
    requests: InputRequests,
    client: Option<&Arc<dyn Client>>,
    context: Option<&CallContext>,
) -> Result<InputResponses, NoResult> {
    let unanswered = |why| {
        let what = requests.values().map(what).collect::<std::collections::BTreeSet<_>>();
        let what = what.into_iter().collect::<Vec<_>>().join(" and ");
        NoResult::Unanswered { what, why }
    };
    let exchange = Exchange::new(client.cloned(), None);
    let may = |request| allowed::may_ask(upstream.definition(), &exchange, request);
    let Some(client) = client.filter(|_| requests.values().all(may)) else {
        return Err(unanswered(NoAnswer::CannotBeAsked));
    };
    if let Some(context) = context {
        context.wait_for_person();
    }
    let answers = client.ask(requests.clone()).await;
    if let Some(context) = context {
        context.resume();
    }
    answers.map_err(unanswered)
}

fn what(request: &InputRequest) -> &'static str {
    match request {
        InputRequest::Elicitation(_) => "a person's answer",
        InputRequest::CreateMessage(_) => "a model's answer",
        InputRequest::ListRoots(_) => "the client's folders",
        _ => "something",
    }
}
