//! The server over streamable HTTP: each request has a client scope, and each session belongs to one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Full};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::client_scope::ClientScope;
use super::fast_path::FastPathCall;
use super::http_response::{McpResponseBody, json_response};
use super::raw_message::RawMessage;
use super::sessions::{McpSessions, SESSION_HEADER, ScopedSessionManager, SessionUseGuard};
use super::{McpHandler, McpServerState};
use crate::verbatim::VerbatimBody;

/// The server over HTTP.
#[derive(Debug, Clone)]
pub struct McpHttpServer {
    shared: Arc<McpServerState>,
    sessions: Arc<McpSessions>,
    config: StreamableHttpServerConfig,
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
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_max_request_body_bytes(body_bytes)
            .with_cancellation_token(closing);
        Self { shared, sessions, config }
    }

    /// Its sessions.
    #[must_use]
    pub fn sessions(&self) -> &Arc<McpSessions> {
        &self.sessions
    }

    /// Handles a client's request.
    pub async fn serve(&self, scope: ClientScope, request: Request<Bytes>) -> Response<McpResponseBody> {
        let (mut parts, body) = request.into_parts();
        if let Some(call) = FastPathCall::parse(&self.shared, &scope, &parts, &body) {
            return call.execute(&self.shared, scope).await;
        }
        let named = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let session_use = named.as_deref().and_then(|id| self.sessions.begin_use(id, &scope));
        let is_modern = parts.headers.get("mcp-protocol-version").is_some_and(|version| {
            version
                .to_str()
                .is_ok_and(|version| version >= rmcp::model::ProtocolVersion::V_2026_07_28.as_str())
        });
        if named.is_some() && session_use.is_none() && !is_modern {
            // The same response if the session belongs to another client.
            return text_response(
                StatusCode::NOT_FOUND,
                "there is no such MCP session; initialize a new one",
            );
        }
        let session_manager = Arc::new(ScopedSessionManager {
            sessions: Arc::clone(&self.sessions),
            scope: scope.clone(),
            refusal: Mutex::default(),
        });
        let (revoked, verbatim) = (scope.revoked.clone(), self.shared.verbatim.clone());
        let shared = Arc::clone(&self.shared);
        let factory = move || Ok(McpHandler::new(Arc::clone(&shared), scope.clone()));
        let service = StreamableHttpService::new(factory, Arc::clone(&session_manager), self.config.clone());
        if parts.method == Method::POST {
            parts.extensions.insert(RawMessage(body.clone()));
        }
        // Boxed, so that the future of a fast-path call stays small.
        let response = Box::pin(service.handle(Request::from_parts(parts, Full::new(body)))).await;
        if let Some(refusal) = session_manager.refusal.lock().take() {
            let mut response = text_response(StatusCode::SERVICE_UNAVAILABLE, &refusal.to_string());
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
            return response;
        }
        response.map(|body| {
            let revoked = Box::pin(revoked.cancelled_owned());
            CancellableBody {
                body: verbatim.wrap_body(body),
                revoked,
                is_finished: false,
                _session_use: session_use,
            }
            .boxed()
        })
    }
}

fn text_response(status: StatusCode, words: &str) -> Response<McpResponseBody> {
    let error =
        serde_json::json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": words}});
    json_response(status, error.to_string().into())
}

/// A response body that ends when the client loses access.
struct CancellableBody<B> {
    body: VerbatimBody<B>,
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
    is_finished: bool,
    _session_use: Option<SessionUseGuard>,
}

impl<B> Body for CancellableBody<B>
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.is_finished {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => {
                std::task::ready!(self.revoked.as_mut().poll(cx));
                self.is_finished = true;
                Poll::Ready(None)
            }
            ready => ready,
        }
    }
}
