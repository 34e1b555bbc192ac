//! Streamable HTTP (2025-03-26 and later): each message is a POST, whose answer is one message or a stream of them.
//! What a request's stream carries belongs to that request.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use toolway_types::RawJson;

use super::address::{Address, EVENTS, JSON, is_type};
use super::body::Response;
use super::stream::Stream;
use super::{Outgoing, body};
use crate::upstream::connection::Connection;
use crate::upstream::exchange::{Exchange, Origin};
use crate::upstream::fault::Fault;
use crate::upstream::frame::{self, Incoming};
use crate::upstream::headers;
use crate::upstream::status::Era;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How often in a row a stream is taken up again that says nothing new.
const MAX_RESUMES: usize = 5;
/// How long to wait before that where the server does not say, and at most.
const RESUME_AFTER: Duration = Duration::from_secs(1);
const RESUME_AFTER_MOST: Duration = Duration::from_secs(60);

/// A server at an address.
#[derive(Debug)]
pub(in crate::upstream) struct Http {
    address: Address,
    limit: usize,
    session: Mutex<Option<HeaderValue>>,
    version: OnceLock<(HeaderValue, Era)>,
}

/// What a stream has come to.
enum Read {
    /// The answer.
    Answer(Result<RawJson, Fault>),
    /// Its end.
    End,
}

/// How far a stream was read.
#[derive(Default)]
struct Place {
    last: Option<String>,
    retry: Option<u64>,
}

impl Http {
    pub(in crate::upstream) fn new(address: Address, limit: usize) -> Self {
        Self { address, limit, session: Mutex::default(), version: OnceLock::new() }
    }

    /// Says which version is spoken from now on.
    pub(in crate::upstream) fn settle(&self, version: &str, era: Era) {
        if let Ok(value) = HeaderValue::from_str(version) {
            // It is settled once.
            let _ = self.version.set((value, era));
        }
    }

    /// Sends what nobody waits for an answer to.
    pub(in crate::upstream) async fn send(&self, frame: Bytes) -> Result<(), Fault> {
        let (headers, session) = self.headers(None);
        let response = self.address.send(Method::POST, self.address.url(), &headers, Some(frame)).await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND if session => Err(Fault::SessionGone),
            status => Err(Fault::Status(status, body::excerpt(response).await)),
        }
    }

    pub(in crate::upstream) async fn request(
        &self,
        connection: &Arc<Connection>,
        request: Outgoing<'_>,
    ) -> Result<RawJson, Fault> {
        let frame = frame::request(request.id, request.method, &request.params);
        let (headers, session) = self.headers(Some(&request));
        let response = self.address.send(Method::POST, self.address.url(), &headers, Some(frame)).await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && session {
            return Err(Fault::SessionGone);
        }
        if !status.is_success() {
            return Err(self.refusal(response).await);
        }
        if request.method == "initialize" {
            *self.session.lock() = response.headers().get(SESSION).cloned();
        }
        if is_type(&response, EVENTS) {
            return self.streamed(connection, response, &request).await;
        }
        if status != StatusCode::OK || !is_type(&response, JSON) {
            let said = body::excerpt(response).await;
            return Err(Fault::Malformed(format!(
                "it answered with HTTP status {} and no MCP message: {said}",
                status.as_u16()
            )));
        }
        let bytes = body::whole(response, self.limit).await?;
        let origin = request.exchange.as_ref().map_or(Origin::Own, Origin::Exchange);
        answer_in(connection, &bytes, request.id, origin)?
            .unwrap_or_else(|| Err(Fault::Malformed("its answer is that of another request".to_owned())))
    }

    /// An answer that says no. JSON-RPC errors may come with any status.
    async fn refusal(&self, response: Response) -> Fault {
        let status = response.status();
        if !is_type(&response, JSON) || matches!(status.as_u16(), 401 | 403 | 429) {
            return Fault::Status(status, body::excerpt(response).await);
        }
        let bytes = match body::whole(response, self.limit).await {
            Ok(bytes) => bytes,
            Err(fault) => return fault,
        };
        match frame::read(&bytes) {
            Ok(Incoming::Error(_, error)) => Fault::Refused(error),
            _ => {
                let said = String::from_utf8_lossy(bytes.get(..bytes.len().min(512)).unwrap_or_default());
                Fault::Status(status, said.into_owned())
            }
        }
    }

    /// An answer that comes in a stream. One that breaks off is taken up again where it was, in the era that has that.
    async fn streamed(
        &self,
        connection: &Arc<Connection>,
        response: Response,
        request: &Outgoing<'_>,
    ) -> Result<RawJson, Fault> {
        let mut place = Place::default();
        let mut resumes = 0;
        let mut stream = Stream::new(response, self.limit);
        let exchange = request.exchange.as_ref();
        loop {
            let before = place.last.clone();
            let read = self.read(connection, &mut stream, request.id, exchange, &mut place).await;
            let lost = match read {
                Ok(Read::Answer(answer)) => {
                    stream.finish();
                    return answer;
                }
                Ok(Read::End) => Fault::Lost("it ended its answer before the result".to_owned()),
                Err(fault @ Fault::Lost(_)) => fault,
                Err(fault) => return Err(fault),
            };
            let is_stateless = self.version.get().is_some_and(|(_, era)| *era == Era::Stateless);
            let Some(last) = place.last.clone().filter(|_| !is_stateless) else { return Err(lost) };
            resumes = if place.last == before { resumes + 1 } else { 0 };
            stream = loop {
                if resumes == MAX_RESUMES {
                    return Err(lost);
                }
                tokio::time::sleep(place.wait()).await;
                match self.open(Some(&last)).await {
                    Ok(stream) => break stream,
                    Err(Fault::Lost(_) | Fault::Unreachable(_)) => resumes += 1,
                    Err(_) => return Err(lost),
                }
            };
        }
    }

    /// Reads a stream until it has the answer to this request.
    async fn read(
        &self,
        connection: &Arc<Connection>,
        stream: &mut Stream,
        id: u64,
        exchange: Option<&Arc<Exchange>>,
        place: &mut Place,
    ) -> Result<Read, Fault> {
        let origin = exchange.map_or(Origin::Own, Origin::Exchange);
        while let Some(event) = stream.next().await? {
            place.note(event.id, event.retry);
            if event.data.is_empty() || event.kind.as_deref().is_some_and(|kind| kind != "message") {
                continue;
            }
            if let Some(answer) = answer_in(connection, &event.data, id, origin)? {
                return Ok(Read::Answer(answer));
            }
        }
        Ok(Read::End)
    }

    /// Opens a stream that no request belongs to, or takes one up again.
    async fn open(&self, last: Option<&str>) -> Result<Stream, Fault> {
        let (mut headers, session) = self.headers(None);
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        let response = self.address.send(Method::GET, self.address.url(), &headers, None).await?;
        match response.status() {
            StatusCode::NOT_FOUND if session => Err(Fault::SessionGone),
            status if status.is_success() && is_type(&response, EVENTS) => {
                Ok(Stream::new(response, self.limit))
            }
            status => Err(Fault::Status(status, String::new())),
        }
    }

    /// Listens to what the server says by itself, for as long as it lets us. Gives the reason where the connection is
    /// of no use any more; otherwise never ends.
    pub(in crate::upstream) async fn listen(&self, connection: &Arc<Connection>) -> Fault {
        let mut place = Place::default();
        let mut failures = 0_u32;
        loop {
            match self.open(place.last.as_deref()).await {
                Ok(mut stream) => {
                    failures = 0;
                    loop {
                        match stream.next().await {
                            Ok(Some(event)) => {
                                place.note(event.id, event.retry);
                                if !event.data.is_empty() {
                                    heard(connection, &event.data);
                                }
                            }
                            Ok(None) | Err(Fault::Lost(_)) => break,
                            Err(fault) => {
                                connection.odd(&format!("its stream of messages can't be read: {fault}"));
                                break;
                            }
                        }
                    }
                }
                Err(Fault::SessionGone) => return Fault::SessionGone,
                Err(Fault::Lost(_) | Fault::Unreachable(_)) => failures += 1,
                // It has no such stream.
                Err(_) => std::future::pending().await,
            }
            let wait = place.wait().saturating_mul(1 << failures.min(6)).min(RESUME_AFTER_MOST);
            tokio::time::sleep(wait).await;
        }
    }

    /// Says that the MCP session is over.
    pub(in crate::upstream) async fn end(&self) {
        let (headers, session) = self.headers(None);
        if session {
            // A server need not know this request.
            let _ = self.address.send(Method::DELETE, self.address.url(), &headers, None).await;
        }
    }

    /// The headers of a request, or of another message, and whether it is part of an MCP session.
    fn headers(&self, request: Option<&Outgoing<'_>>) -> (HeaderMap, bool) {
        let mut all = HeaderMap::with_capacity(8);
        let settled = self.version.get();
        let method = request.map(|request| request.method);
        let era = match method {
            Some("server/discover") => {
                all.insert(VERSION, HeaderValue::from_static("2026-07-28"));
                Some(Era::Stateless)
            }
            Some("initialize") => None,
            _ => {
                all.extend(settled.map(|(version, _)| (VERSION, version.clone())));
                settled.map(|(_, era)| *era)
            }
        };
        if let (Some(request), Some(Era::Stateless)) = (request, era) {
            all.insert(METHOD, HeaderValue::from_static(request.method));
            all.extend(request.name.and_then(headers::value).map(|name| (NAME, name)));
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

impl Place {
    fn note(&mut self, id: Option<String>, retry: Option<u64>) {
        if id.is_some() {
            self.last = id;
        }
        if retry.is_some() {
            self.retry = retry;
        }
    }

    /// How long to wait before the stream is taken up again.
    fn wait(&self) -> Duration {
        self.retry.map_or(RESUME_AFTER, Duration::from_millis).min(RESUME_AFTER_MOST)
    }
}

/// The answer to this request, where it is in here; all else is passed on.
fn answer_in(
    connection: &Arc<Connection>,
    text: &[u8],
    id: u64,
    origin: Origin<'_>,
) -> Result<Option<Result<RawJson, Fault>>, Fault> {
    let mut answer = None;
    let read = frame::read_all(text, |message| match message {
        Incoming::Result(of, result) if of == id && answer.is_none() => {
            answer = Some(Ok(result.to_owned().into()));
        }
        // A server that could not read the request does not know its id.
        Incoming::Error(of, error) if of.is_none_or(|of| of == id) && answer.is_none() => {
            answer = Some(Err(Fault::Refused(error)));
        }
        other => connection.incoming(other, origin),
    });
    match read {
        Ok(()) => Ok(answer),
        Err(error) => Err(Fault::Malformed(format!("its answer is no MCP message: {error}"))),
    }
}

fn heard(connection: &Arc<Connection>, text: &[u8]) {
    if let Err(error) = frame::read_all(text, |message| connection.incoming(message, Origin::Shared)) {
        connection.odd(&format!("its stream has an event that is no MCP message: {error}"));
    }
}
