//! The server over streamable HTTP. Each request has a client scope, and each session belongs to one. Every answer
//! that is no stream is a JSON-RPC message, refusals too.

mod accept;
mod post;
mod request_headers;
mod response;
mod running_request;
mod stream_body;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use tokio_util::sync::CancellationToken;

use self::accept::AcceptedForms;
use self::request_headers::{LAST_EVENT, SESSION, single_header};
pub use self::response::{McpResponseBody, error_response};
use self::response::{Refusal, empty_response};
use self::stream_body::StreamEnd;
use super::McpServerState;
use super::client_scope::ClientScope;
use super::event_stream::EventId;
use super::json_rpc::request_id_of;
use super::scoped_server::ScopedServer;
use super::sessions::{McpSessions, SessionUseGuard};

/// The methods of the endpoint.
const METHODS: &str = "GET, POST, DELETE";
/// The error of a request in a session that does not exist, as in the official SDKs.
const SESSION_NOT_FOUND: ErrorCode = ErrorCode(-32001);
/// An error of this server (from the range that JSON-RPC reserves for servers).
const SERVER_ERROR: ErrorCode = ErrorCode(-32000);
/// Delay that a client without a session is told, in seconds.
const RETRY_AFTER_S: &str = "60";

/// The server over HTTP.
#[derive(Debug, Clone)]
pub struct McpHttpServer {
    shared: Arc<McpServerState>,
    sessions: Arc<McpSessions>,
    body_bytes: usize,
    closing: CancellationToken,
}

impl McpHttpServer {
    /// Creates the server. The caller must check host, origin and body size of each request. Streams end when
    /// `closing` is cancelled.
    #[must_use]
    pub fn new(
        shared: Arc<McpServerState>,
        sessions: Arc<McpSessions>,
        body_bytes: usize,
        closing: CancellationToken,
    ) -> Self {
        Self { shared, sessions, body_bytes, closing }
    }

    /// Its sessions.
    #[must_use]
    pub fn sessions(&self) -> &Arc<McpSessions> {
        &self.sessions
    }

    /// Handles a client's request.
    pub async fn serve(&self, scope: ClientScope, request: Request<Bytes>) -> Response<McpResponseBody> {
        let (parts, body) = request.into_parts();
        if self.closing.is_cancelled() {
            let error = ErrorData::new(SERVER_ERROR, "the gateway is shutting down", None);
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, request_id_of(&body), error);
            return with_retry_after(refusal.into_response());
        }
        let answered = match parts.method {
            Method::POST => self.post(scope, &parts, body).await,
            Method::GET => self.open_stream(&scope, &parts),
            Method::DELETE => self.end_session(&scope, &parts),
            _ => Err(method_not_allowed("this method is not supported here")),
        };
        match answered {
            Ok(response) => response,
            Err(refusal) if refusal.status == StatusCode::METHOD_NOT_ALLOWED => {
                let mut response = refusal.into_response();
                response.headers_mut().insert(ALLOW, HeaderValue::from_static(METHODS));
                response
            }
            Err(refusal) if refusal.status == StatusCode::SERVICE_UNAVAILABLE => {
                with_retry_after(refusal.into_response())
            }
            Err(refusal) => refusal.into_response(),
        }
    }

    /// Opens the stream of a session, or a stream of it again.
    fn open_stream(&self, scope: &ClientScope, parts: &Parts) -> Result<Response<McpResponseBody>, Refusal> {
        if !AcceptedForms::parse(&parts.headers).takes_stream() {
            return Err(not_acceptable("a stream needs the header Accept with text/event-stream"));
        }
        let session_use = self.session_of(scope, parts)?;
        let session = Arc::clone(&session_use.session);
        let after = parts.headers.get(LAST_EVENT).and_then(|id| id.to_str().ok());
        let (number, reader) = match after {
            None => match session.own_stream().read() {
                Some(reader) => (None, reader),
                None => {
                    let error = ErrorData::new(SERVER_ERROR, "this session has too many open streams", None);
                    return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, None, error));
                }
            },
            // An error would make a client ask for the same event for ever. An empty stream ends that.
            Some(after) => match EventId::parse(after).and_then(|after| session.resume(after)) {
                Some(found) => found,
                None => return Ok(response::empty_stream()),
            },
        };
        let end = StreamEnd { closing: self.closing.clone(), revoked: scope.revoked.clone() };
        let read = number.map(|number| (Arc::clone(&session), number));
        Ok(stream_body::response(reader, end, Some(session_use), read, None))
    }

    /// Ends a session.
    fn end_session(&self, scope: &ClientScope, parts: &Parts) -> Result<Response<McpResponseBody>, Refusal> {
        let session_use = self.session_of(scope, parts)?;
        self.sessions.end(&session_use.id);
        Ok(empty_response(StatusCode::NO_CONTENT))
    }

    /// The session of a request without a body.
    fn session_of(&self, scope: &ClientScope, parts: &Parts) -> Result<SessionUseGuard, Refusal> {
        if request_headers::is_modern_header(&parts.headers) {
            return Err(method_not_allowed("MCP 2026-07-28 has no sessions; send requests with POST"));
        }
        request_headers::check_version_header(&parts.headers)
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, None, error))?;
        self.named_session(scope, parts).map_err(|(status, error)| Refusal::new(status, None, error))
    }

    /// The session that a request names.
    fn named_session(
        &self,
        scope: &ClientScope,
        parts: &Parts,
    ) -> Result<SessionUseGuard, (StatusCode, ErrorData)> {
        let Some(id) = single_header(&parts.headers, &SESSION) else {
            let words = "Invalid request: the header Mcp-Session-Id is missing; send initialize first";
            return Err((StatusCode::BAD_REQUEST, ErrorData::invalid_request(words, None)));
        };
        self.sessions.begin_use(id, scope).ok_or_else(|| {
            // The same answer if the session belongs to another client.
            let words = "there is no such MCP session; initialize a new one";
            (StatusCode::NOT_FOUND, ErrorData::new(SESSION_NOT_FOUND, words, None))
        })
    }

    fn server(&self, scope: ClientScope) -> ScopedServer {
        ScopedServer { shared: Arc::clone(&self.shared), scope }
    }
}

fn method_not_allowed(words: &'static str) -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, None, ErrorData::invalid_request(words, None))
}

fn not_acceptable(words: &'static str) -> Refusal {
    Refusal::new(StatusCode::NOT_ACCEPTABLE, None, ErrorData::invalid_request(words, None))
}

fn with_retry_after(mut response: Response<McpResponseBody>) -> Response<McpResponseBody> {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    response
}
