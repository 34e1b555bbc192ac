//! Streamable HTTP (2025-03-26 and later): each message is a POST, and the response is one message or a stream of
//! messages. The messages of a request's stream belong to that request.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_types::RawJson;
use toolway_types::text::truncate;

use super::OutgoingRequest;
use super::endpoint::{EVENT_STREAM, HttpEndpoint, JSON, has_media_type};
use super::message_handler::{MessageHandler, dispatch_messages};
use super::sse_stream::SseStream;
use crate::param_headers;
use crate::protocol_era::ProtocolEra;
use crate::upstream::error::UpstreamError;
use crate::upstream::exchange::{MessageOrigin, UpstreamExchange};
use crate::upstream::frame::{self, IncomingMessage};
use crate::upstream::response_body::{StreamedResponse, read_all, read_excerpt};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Maximum length of a response in an error, in bytes.
const MAX_SHOWN_BYTES: usize = 512;
/// Maximum number of consecutive resumes of a stream without a new event.
const MAX_RESUMES: usize = 5;
/// Default delay before a resume, and its maximum.
const RESUME_DELAY: Duration = Duration::from_secs(1);
const MAX_RESUME_DELAY: Duration = Duration::from_secs(60);

/// A server at an address.
#[derive(Debug)]
pub(in crate::upstream) struct StreamableHttpTransport {
    address: HttpEndpoint,
    max_bytes: usize,
    session: Mutex<Option<HeaderValue>>,
    version: OnceLock<(HeaderValue, ProtocolEra)>,
    /// Cancelled once the server has answered the request for its stream of messages.
    stream_answered: CancellationToken,
    /// True while the stream of messages is open.
    has_stream: Arc<AtomicBool>,
}

/// The result of reading a stream.
enum StreamReadEnd {
    /// The response.
    Answer(Result<RawJson, UpstreamError>),
    /// The end of the stream.
    End,
}

/// The position in a stream.
#[derive(Default)]
struct StreamPosition {
    last_event_id: Option<String>,
    retry_ms: Option<u64>,
}

impl StreamableHttpTransport {
    pub(in crate::upstream) fn new(address: HttpEndpoint, limit: usize) -> Self {
        Self {
            address,
            max_bytes: limit,
            session: Mutex::default(),
            version: OnceLock::new(),
            stream_answered: CancellationToken::new(),
            has_stream: Arc::default(),
        }
    }

    /// Sets the protocol version of all further requests.
    pub(in crate::upstream) fn set_version(&self, version: &str, era: ProtocolEra) {
        if let Ok(value) = HeaderValue::from_str(version) {
            // There is only one handshake.
            let _ = self.version.set((value, era));
        }
    }

    /// Sends a message that needs no response.
    pub(in crate::upstream) async fn send(&self, frame: Bytes) -> Result<(), UpstreamError> {
        let (headers, session) = self.headers(None);
        let lost = |fault: UpstreamError| if session { fault.or_lost_session(true) } else { fault };
        let response = self.address.send(Method::POST, self.address.url(), &headers, Some(frame)).await;
        let response = response.map_err(lost)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(lost(UpstreamError::Status(status, read_excerpt(response).await))),
        }
    }

    pub(in crate::upstream) async fn request(
        &self,
        handler: &impl MessageHandler,
        request: OutgoingRequest<'_>,
    ) -> Result<RawJson, UpstreamError> {
        let frame = frame::request(request.id, request.method, &request.params);
        let (headers, session) = self.headers(Some(&request));
        let lost = |is_http_error: bool| {
            move |fault: UpstreamError| if session { fault.or_lost_session(is_http_error) } else { fault }
        };
        let response = self.address.send(Method::POST, self.address.url(), &headers, Some(frame)).await;
        let response = response.map_err(lost(true))?;
        let status = response.status();
        if !status.is_success() {
            return Err(lost(true)(self.read_error(response).await));
        }
        if request.method == "initialize" {
            *self.session.lock() = response.headers().get(SESSION).cloned();
        }
        if has_media_type(&response, EVENT_STREAM) {
            return self.follow_stream(handler, response, &request).await.map_err(lost(false));
        }
        if status != StatusCode::OK || !has_media_type(&response, JSON) {
            let said = read_excerpt(response).await;
            return Err(UpstreamError::Malformed(format!(
                "it answered with HTTP status {} and no MCP message: {said}",
                status.as_u16()
            )));
        }
        let bytes = read_all(response, self.max_bytes).await?;
        let origin = request.exchange.as_ref().map_or(MessageOrigin::Gateway, MessageOrigin::Exchange);
        let answer = find_answer(handler, &bytes, request.id, origin)?.unwrap_or_else(|| {
            Err(UpstreamError::Malformed("its response belongs to another request".to_owned()))
        });
        answer.map_err(lost(false))
    }

    /// Returns true if requests belong to an MCP session.
    pub(in crate::upstream) fn has_session(&self) -> bool {
        self.session.lock().is_some()
    }

    /// Reads an error response. JSON-RPC errors may have any status.
    async fn read_error(&self, response: StreamedResponse) -> UpstreamError {
        let status = response.status();
        if !has_media_type(&response, JSON) || matches!(status.as_u16(), 401 | 403 | 429) {
            return UpstreamError::Status(status, read_excerpt(response).await);
        }
        let bytes = match read_all(response, self.max_bytes).await {
            Ok(bytes) => bytes,
            Err(fault) => return fault,
        };
        let text = String::from_utf8_lossy(&bytes);
        match frame::parse(&text) {
            Ok(IncomingMessage::Error(_, error)) => UpstreamError::RpcError(error),
            _ => UpstreamError::Status(status, truncate(&text, MAX_SHOWN_BYTES)),
        }
    }

    /// Reads a response that arrives in a stream. An interrupted stream is resumed at its position, in the era that
    /// supports that.
    async fn follow_stream(
        &self,
        handler: &impl MessageHandler,
        response: StreamedResponse,
        request: &OutgoingRequest<'_>,
    ) -> Result<RawJson, UpstreamError> {
        let mut place = StreamPosition::default();
        let mut resumes = 0;
        let mut stream = SseStream::new(response, self.max_bytes);
        let exchange = request.exchange.as_ref();
        loop {
            let before = place.last_event_id.clone();
            let read = self.read_stream(handler, &mut stream, request.id, exchange, &mut place).await;
            let lost = match read {
                Ok(StreamReadEnd::Answer(answer)) => {
                    stream.drain();
                    return answer;
                }
                Ok(StreamReadEnd::End) => {
                    UpstreamError::ConnectionLost("it ended its answer before the result".to_owned())
                }
                Err(fault @ UpstreamError::ConnectionLost(_)) => fault,
                Err(fault) => return Err(fault),
            };
            let is_stateless = self.version.get().is_some_and(|(_, era)| *era == ProtocolEra::Stateless);
            let Some(last) = place.last_event_id.clone().filter(|_| !is_stateless) else { return Err(lost) };
            resumes = if place.last_event_id == before { resumes + 1 } else { 0 };
            stream = loop {
                if resumes == MAX_RESUMES {
                    return Err(lost);
                }
                tokio::time::sleep(place.resume_delay()).await;
                match self.open(Some(&last)).await {
                    Ok(stream) => break stream,
                    Err(UpstreamError::ConnectionLost(_) | UpstreamError::Unreachable(_)) => resumes += 1,
                    Err(_) => return Err(lost),
                }
            };
        }
    }

    /// Reads a stream until the response to this request.
    async fn read_stream(
        &self,
        handler: &impl MessageHandler,
        stream: &mut SseStream,
        id: u64,
        exchange: Option<&Arc<UpstreamExchange>>,
        place: &mut StreamPosition,
    ) -> Result<StreamReadEnd, UpstreamError> {
        let origin = exchange.map_or(MessageOrigin::Gateway, MessageOrigin::Exchange);
        while let Some(event) = stream.next().await? {
            place.record(event.id, event.retry);
            if event.data.is_empty() || event.kind.is_some() {
                continue;
            }
            if let Some(answer) = find_answer(handler, &event.data, id, origin)? {
                return Ok(StreamReadEnd::Answer(answer));
            }
        }
        Ok(StreamReadEnd::End)
    }

    /// Opens a stream that belongs to no request, or resumes one.
    async fn open(&self, last: Option<&str>) -> Result<SseStream, UpstreamError> {
        let (mut headers, session) = self.headers(None);
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        let response = self.address.send(Method::GET, self.address.url(), &headers, None).await?;
        match response.status() {
            status if status.is_success() && has_media_type(&response, EVENT_STREAM) => {
                Ok(SseStream::new(response, self.max_bytes))
            }
            status => {
                let fault = UpstreamError::Status(status, read_excerpt(response).await);
                Err(if session { fault.or_lost_session(true) } else { fault })
            }
        }
    }

    /// Listens to notifications of the server. Returns only if the server refuses the session for that.
    pub(in crate::upstream) async fn listen(&self, handler: &impl MessageHandler) -> UpstreamError {
        let mut place = StreamPosition::default();
        let mut failures = 0_u32;
        loop {
            let opened = self.open(place.last_event_id.as_deref()).await;
            self.has_stream.store(opened.is_ok(), Ordering::Relaxed);
            self.stream_answered.cancel();
            match opened {
                Ok(mut stream) => {
                    failures = 0;
                    loop {
                        match stream.next().await {
                            Ok(Some(event)) => {
                                place.record(event.id, event.retry);
                                if !event.data.is_empty() {
                                    dispatch_messages(handler, &event.data);
                                }
                            }
                            Ok(None) | Err(UpstreamError::ConnectionLost(_)) => break,
                            Err(fault) => {
                                handler
                                    .log_anomaly(&format!("its stream of messages can't be read: {fault}"));
                                break;
                            }
                        }
                    }
                    self.has_stream.store(false, Ordering::Relaxed);
                }
                Err(fault @ UpstreamError::SessionExpired(_)) => return fault,
                Err(UpstreamError::ConnectionLost(_) | UpstreamError::Unreachable(_)) => failures += 1,
                // The server offers no such stream.
                Err(_) => std::future::pending().await,
            }
            let wait = place.resume_delay().saturating_mul(1 << failures.min(6)).min(MAX_RESUME_DELAY);
            tokio::time::sleep(wait).await;
        }
    }

    /// Waits until the server has answered the first request of [`Self::listen`], so that no message is missed.
    pub(in crate::upstream) async fn wait_for_stream(&self) {
        self.stream_answered.cancelled().await;
    }

    /// True while the stream of [`Self::listen`] is open. A server need not offer it.
    pub(in crate::upstream) fn has_stream(&self) -> &Arc<AtomicBool> {
        &self.has_stream
    }

    /// Ends the MCP session.
    pub(in crate::upstream) async fn end_session(&self) {
        let (headers, session) = self.headers(None);
        if session {
            // A server need not support this request.
            let _ = self.address.send(Method::DELETE, self.address.url(), &headers, None).await;
        }
    }

    /// The headers of a request or other message. The flag is true if it belongs to an MCP session.
    fn headers(&self, request: Option<&OutgoingRequest<'_>>) -> (HeaderMap, bool) {
        let mut all = HeaderMap::with_capacity(8);
        let settled = self.version.get();
        let method = request.map(|request| request.method);
        let era = match method {
            Some("server/discover") => {
                all.insert(VERSION, HeaderValue::from_static("2026-07-28"));
                Some(ProtocolEra::Stateless)
            }
            Some("initialize") => None,
            _ => {
                all.extend(settled.map(|(version, _)| (VERSION, version.clone())));
                settled.map(|(_, era)| *era)
            }
        };
        if let (Some(request), Some(ProtocolEra::Stateless)) = (request, era) {
            all.insert(METHOD, HeaderValue::from_static(request.method));
            all.extend(request.name.and_then(param_headers::value).map(|name| (NAME, name)));
            all.extend(request.headers.iter().cloned());
        }
        let session = self.session.lock().clone();
        let is_session = session.is_some() && method != Some("initialize");
        if is_session {
            all.extend(session.map(|session| (SESSION, session)));
        }
        (all, is_session)
    }
}

impl StreamPosition {
    fn record(&mut self, id: Option<String>, retry: Option<u64>) {
        if id.is_some() {
            self.last_event_id = id;
        }
        if retry.is_some() {
            self.retry_ms = retry;
        }
    }

    /// The delay before the stream is resumed.
    fn resume_delay(&self) -> Duration {
        self.retry_ms.map_or(RESUME_DELAY, Duration::from_millis).min(MAX_RESUME_DELAY)
    }
}

/// Finds the response to this request. Other messages go to the handler.
fn find_answer(
    handler: &impl MessageHandler,
    text: &[u8],
    id: u64,
    origin: MessageOrigin<'_>,
) -> Result<Option<Result<RawJson, UpstreamError>>, UpstreamError> {
    let (mut answer, mut problem) = (None, None);
    frame::parse_all(text, |message| match message {
        Ok(IncomingMessage::Result(of, result)) if of == id && answer.is_none() => {
            answer = Some(Ok(result.to_owned().into()));
        }
        // A server that could not parse the request does not know its id.
        Ok(IncomingMessage::Error(of, error)) if of.is_none_or(|of| of == id) && answer.is_none() => {
            answer = Some(Err(UpstreamError::RpcError(error)));
        }
        Ok(other) => handler.handle_message(other, origin),
        Err(unreadable) if unreadable.answered_request == Some(id) => {
            answer.get_or_insert(Err(UpstreamError::unreadable_answer(&unreadable.reason)));
        }
        // A request of the server, so the answer may still arrive.
        Err(unreadable) if unreadable.own_request.is_some() => {
            handler.handle_unreadable(&unreadable, "its response has a message", text);
        }
        Err(unreadable) => problem = Some(unreadable.reason),
    });
    match (answer, problem) {
        (None, Some(reason)) => {
            Err(UpstreamError::Malformed(format!("its response is not an MCP message: {reason}")))
        }
        (answer, _) => Ok(answer),
    }
}
