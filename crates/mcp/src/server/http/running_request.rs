//! Requests over HTTP while they run. One in a session runs in a task of its own, because it outlives the connection
//! of its client. One without a session runs in its connection's task until it has something to say before its answer.

use std::sync::Arc;

use http::{Response, StatusCode};
use rmcp::ErrorData;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::accept::AcceptedForms;
use super::response::{McpResponseBody, Refusal, empty_response, json_response, single_event, status_of};
use super::stream_body::{self, StreamEnd};
use crate::server::client_handle::ClientHandle;
use crate::server::dispatch::RequestContext;
use crate::server::event_stream::{EventIds, EventStream};
use crate::server::json_rpc::IncomingRequest;
use crate::server::message_sink::MessageSink;
use crate::server::outgoing::response_message;
use crate::server::sessions::SessionUseGuard;

/// Runs requests of a session whose responses belong to one answer. `errors` are responses already.
pub(super) async fn run_in_session(
    session_use: SessionUseGuard,
    requests: Vec<IncomingRequest>,
    errors: Vec<String>,
    is_batch: bool,
    accepted: AcceptedForms,
    end: StreamEnd,
) -> Response<McpResponseBody> {
    let session = Arc::clone(&session_use.session);
    if accepted.prefers_stream() {
        let (number, stream) = session.open_stream();
        errors.into_iter().for_each(|error| _ = stream.push(error));
        let running = session_use.again();
        let to = Arc::clone(&stream);
        let Some(reader) = stream.read() else { return empty_response(StatusCode::ACCEPTED) };
        tokio::spawn(async move {
            let sink: Arc<dyn MessageSink> = Arc::clone(&to) as _;
            run_all(&running, requests, sink, |response| _ = to.push(response)).await;
            to.close();
            running.session.settle_stream(number);
        });
        return stream_body::response(reader, end, Some(session_use), Some((session, number)), None);
    }
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let sink: Arc<dyn MessageSink> = Arc::clone(session_use.session.own_stream()) as _;
        let mut responses = errors;
        run_all(&session_use, requests, sink, |response| responses.push(response)).await;
        // The client may have disconnected.
        let _ = tell.send(responses);
    });
    let responses = told.await.unwrap_or_default();
    match responses.as_slice() {
        // Its client has cancelled the request.
        [] => empty_response(StatusCode::ACCEPTED),
        [one] if !is_batch => json_response(StatusCode::OK, one.clone()),
        several => json_response(StatusCode::OK, format!("[{}]", several.join(","))),
    }
}

/// Runs requests until they end, or until their session ends. A cancelled request has no response.
async fn run_all(
    session_use: &SessionUseGuard,
    requests: Vec<IncomingRequest>,
    sink: Arc<dyn MessageSink>,
    mut respond: impl FnMut(String),
) {
    use futures_util::StreamExt as _;
    let mut running = futures_util::stream::FuturesUnordered::new();
    for request in requests {
        running.push(run_one(session_use, request, Arc::clone(&sink)));
    }
    let over = &session_use.session.over;
    loop {
        tokio::select! {
            biased;
            () = over.cancelled() => return,
            ended = running.next() => match ended {
                Some(response) => response.into_iter().for_each(&mut respond),
                None => return,
            },
        }
    }
}

async fn run_one(
    session_use: &SessionUseGuard,
    request: IncomingRequest,
    sink: Arc<dyn MessageSink>,
) -> Option<String> {
    let session = &session_use.session;
    let client = &session.client;
    let (id, raw_id) = (request.id.clone(), request.raw_id.clone());
    let cancel = match client.admit(&id) {
        Ok(cancel) => cancel,
        Err(error) => return Some(response_message(&raw_id, &Err(error))),
    };
    let _settle = SettleGuard { session_use, id };
    let declared = client.client();
    let own_stream = session.own_stream();
    // Log messages have a stream of their own if the client reads it.
    let logs = if own_stream.has_reader() { Arc::clone(own_stream) as _ } else { Arc::clone(&sink) };
    let context = RequestContext {
        server: client.server.clone(),
        session: Some(Arc::clone(client)),
        version: declared.as_ref().map(|it| it.version.clone()).unwrap_or_default(),
        capabilities: declared.map(|it| it.capabilities).unwrap_or_default(),
        client: ClientHandle {
            messages: Some(sink),
            logs: Some(logs),
            server_requests: Some(Arc::clone(&client.server_requests)),
            progress_token: None,
            cancelled: Some(cancel.clone()),
        },
        tool: None,
    };
    let answer = context.answer(request).await;
    (!cancel.is_cancelled()).then(|| response_message(&raw_id, &answer))
}

/// Removes a request from those in flight, even if its task ends early.
struct SettleGuard<'a> {
    session_use: &'a SessionUseGuard,
    id: rmcp::model::RequestId,
}

impl Drop for SettleGuard<'_> {
    fn drop(&mut self) {
        self.session_use.session.client.settle(&self.id);
    }
}

/// Runs a request without a session.
pub(super) async fn run_stateless(
    mut context: RequestContext,
    request: IncomingRequest,
    accepted: AcceptedForms,
    end: StreamEnd,
) -> Result<Response<McpResponseBody>, Refusal> {
    let raw_id = request.raw_id.clone();
    let meta = &request.params.meta;
    let is_subscription = request.method == "subscriptions/listen";
    let wants_messages = is_subscription || meta.get_progress_token().is_some() || meta.log_level().is_some();
    if !wants_messages || !accepted.takes_stream() {
        if is_subscription {
            let words = "a subscription needs the header Accept with text/event-stream";
            let error = ErrorData::invalid_request(words, None);
            return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, Some(raw_id), error));
        }
        let answer = context.answer(request).await;
        return Ok(single_answer(&raw_id, &answer, accepted));
    }
    let stream = EventStream::new(EventIds::None, false);
    let cancel = CancellationToken::new();
    context.client.messages = Some(Arc::clone(&stream) as _);
    context.client.logs = Some(Arc::clone(&stream) as _);
    context.client.cancelled = Some(cancel.clone());
    let mut answering = Box::pin(context.answer(request));
    tokio::select! {
        biased;
        answer = &mut answering => {
            if stream.is_empty() {
                return Ok(single_answer(&raw_id, &answer, accepted));
            }
            stream.push(response_message(&raw_id, &answer));
            stream.close();
        }
        () = stream.wait_for_event() => {
            let stream = Arc::clone(&stream);
            tokio::spawn(async move {
                let answer = answering.await;
                stream.push(response_message(&raw_id, &answer));
                stream.close();
            });
        }
    }
    match stream.read() {
        Some(reader) => Ok(stream_body::response(reader, end, None, None, Some(cancel.drop_guard()))),
        None => Ok(empty_response(StatusCode::ACCEPTED)),
    }
}

/// The response to a request that had no messages before its answer.
fn single_answer(
    raw_id: &RawValue,
    answer: &Result<String, ErrorData>,
    accepted: AcceptedForms,
) -> Response<McpResponseBody> {
    let message = response_message(raw_id, answer);
    let status = status_of(answer);
    if accepted.prefers_json() || status != StatusCode::OK {
        return json_response(status, message);
    }
    single_event(&message)
}
