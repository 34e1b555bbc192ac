//! The server over HTTP, on a loopback port.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use bytes::Bytes;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_LENGTH};
use http_body_util::BodyExt;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::exact_json;
use crate::handler::FakeMcpHandler;
use crate::options::FakeMcpOptions;
use crate::state::FakeMcpState;

/// Path of the endpoint.
const PATH: &str = "/mcp";

/// A server on a free port. It ends when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct FakeMcp {
    address: SocketAddr,
    _server: Arc<ServerTask>,
}

#[derive(Debug)]
struct ServerTask(AbortHandle);

impl Drop for ServerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FakeMcp {
    /// Starts a server on a free port. Must be called within a tokio runtime.
    ///
    /// # Panics
    /// If there is no free loopback port.
    #[allow(clippy::expect_used, reason = "a test without it can do nothing")]
    pub async fn start(options: FakeMcpOptions) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), options).await.expect("a loopback port")
    }

    /// Starts a server at this address.
    ///
    /// # Errors
    /// If the address can't be bound.
    pub async fn start_at(address: SocketAddr, options: FakeMcpOptions) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let routes = routes(options);
        let listener = listener.tap_io(|socket| {
            // A socket without this option still works.
            let _ = socket.set_nodelay(true);
        });
        let serving = tokio::spawn(async move {
            // Ends only with the process or the last handle.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { address, _server: Arc::new(ServerTask(serving.abort_handle())) })
    }

    /// Returns the URL: `http://127.0.0.1:PORT/mcp`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

fn routes(options: FakeMcpOptions) -> Router {
    let token = options.token.clone();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(options.sessions)
        .with_json_response(options.json)
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]);
    let shared = Arc::new(FakeMcpState::new(options));
    let sessions = Arc::clone(&shared.sessions);
    let rmcp =
        StreamableHttpService::new(move || Ok(FakeMcpHandler::new(Arc::clone(&shared))), sessions, config);
    Router::new()
        .route_service(PATH, rmcp)
        .layer(middleware::map_response(splice_response))
        .layer(middleware::from_fn_with_state(token, require_token))
}

async fn require_token(State(token): State<Option<String>>, request: Request, next: Next) -> Response {
    let wanted = token.map(|token| format!("Bearer {token}"));
    let carried = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if wanted.is_none() || wanted.as_deref() == carried {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

/// `rmcp` writes a message in one piece, so placeholders are never split.
async fn splice_response(response: Response) -> Result<Response, Infallible> {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let body = body.map_frame(|frame| frame.map_data(|data: Bytes| Bytes::from(exact_json::splice(&data))));
    Ok(Response::from_parts(parts, Body::new(body)))
}
