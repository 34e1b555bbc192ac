//! The entry point `/ws/mcp`: one MCP client over one WebSocket, with one JSON-RPC message in each text
//! frame. `toolway mcp` connects here for the client on its standard input and output. The MCP server handles
//! the messages, as over HTTP; this module checks the token and parses the tool filters.

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::{Utf8Bytes, WebSocket};
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::routing::get;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolway_core::MemoryPermit;
use toolway_mcp::server::{
    ClientScope, EndpointScope, MessageSink, SessionLimitReached, SinkClosed, ToolRestrictions,
};
use toolway_mcp::socket::{McpConnection, SocketConfig, SocketMessage};
use toolway_wire::MAX_MESSAGE_BYTES_HEADER;

use super::close::{CloseReason, GOING_AWAY, INVALID_PAYLOAD, TOKEN_ENDED, TOO_SLOW};
use super::connection::{self, FrameReceiver, SocketOptions};
use super::upgrade::{end_code, prepare_upgrade};
use crate::access::TokenState;
use crate::fair_task::FairTask;
use crate::http::AuthenticatedCaller;
use crate::http::{ApiError, QueryParams, client_time_zone, mcp_agent, mcp_client_scope};
use crate::memory_budget::{MemoryAccount, cost};
use crate::outbox::{Outbox, PeerGone};
use crate::state::{AppState, RouterState};

/// Name of the entry point in logs and metrics.
const ENTRY_POINT: &str = "mcp";
/// Maximum frame size as a multiple of the maximum message size. A message that is too long gets an MCP
/// error; only a frame that exceeds this limit ends the connection.
const FRAME_SIZE_FACTOR: usize = 2;
/// Number of frames that wait for the server. Nearly all pending data of a client stays in its socket.
const QUEUE: usize = 1;
/// A small buffer, as in [`super::upgrade`].
const READ_BUFFER: usize = 4 << 10;
/// Subprotocol that a browser offers in addition to its token: one of its offers must be accepted.
const SUBPROTOCOL: &str = "mcp";

/// Query parameters that select some of the tools that the token may call.
#[derive(Debug, Default, PartialEq, Eq)]
struct McpViewQuery {
    agent: Option<String>,
    read_only: bool,
    tool_patterns: Vec<String>,
}

impl McpViewQuery {
    fn of(pairs: Vec<(String, String)>) -> Result<Self, ApiError> {
        let mut view = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "agent" => view.agent = Some(value).filter(|agent| !agent.is_empty()),
                "only" => view.tool_patterns.push(value),
                "read_only" => {
                    view.read_only = match value.as_str() {
                        "" | "true" | "1" => true,
                        "false" | "0" => false,
                        _ => return Err(ApiError::malformed("read_only must be true or false")),
                    }
                }
                // The token is also a parameter, and is read elsewhere.
                _ => {}
            }
        }
        Ok(view)
    }
}

/// Returns the route of `/ws/mcp`.
pub(super) fn routes() -> Router<RouterState> {
    Router::new().route("/ws/mcp", get(upgrade))
}

/// Accepts a client.
async fn upgrade(
    State(app): State<Arc<AppState>>,
    AuthenticatedCaller(token): AuthenticatedCaller,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, _) = request.into_parts();
    let QueryParams(pairs) =
        QueryParams::<Vec<(String, String)>>::from_request_parts(&mut parts, &app).await?;
    let view = McpViewQuery::of(pairs)?;
    let bounds = ToolRestrictions::parse(view.read_only, &view.tool_patterns);
    let bounds = bounds.map_err(|bad| ApiError::malformed(format!("only: {bad}")))?;
    let agent = view.agent.map(|agent| mcp_agent(&app, &token, &agent)).transpose()?;
    let time_zone = client_time_zone(&app, &parts.headers).await?;
    let mut scope = mcp_client_scope(&token, agent, EndpointScope::Everything, Arc::new(bounds));
    scope.caller.time_zone = time_zone;
    let counted = app.mcp.http.sessions().acquire(&scope).map_err(|full| no_room(&full))?;
    let message_bytes = app.settings.limits.frame_bytes;
    let (upgrade, terms) = prepare_upgrade(&mut parts, &app, &token.principal).await?;
    let mut response = upgrade
        .protocols([SUBPROTOCOL])
        .read_buffer_size(READ_BUFFER)
        .max_message_size(message_bytes.saturating_mul(FRAME_SIZE_FACTOR))
        .max_frame_size(message_bytes.saturating_mul(FRAME_SIZE_FACTOR))
        .on_upgrade(move |socket| async move {
            serve(app, token, scope, terms, socket).await;
            drop(counted);
        });
    response.headers_mut().insert(MAX_MESSAGE_BYTES_HEADER, HeaderValue::from(message_bytes));
    Ok(response)
}

fn no_room(full: &SessionLimitReached) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_mcp_sessions", full.to_string())
        .with_hint("close unused sessions, or retry later")
}

async fn serve(
    app: Arc<AppState>,
    token: Arc<TokenState>,
    scope: ClientScope,
    terms: SocketOptions,
    socket: WebSocket,
) {
    let limits = &app.settings.limits;
    let (outbox, queue) = Outbox::new(limits.send_queue, terms.account.clone());
    let _open = app.metrics.track_socket(ENTRY_POINT);
    let (to_server, messages) = mpsc::channel(QUEUE);
    let served = McpConnection::new(
        Arc::clone(&app.mcp.shared),
        scope,
        messages,
        Arc::new(outbox.clone()),
        SocketConfig {
            max_message_bytes: limits.frame_bytes,
            max_requests_in_flight: limits.calls_in_flight_per_connection,
        },
    );
    let (cancel, over) = (CancellationToken::new(), CancellationToken::new());
    let serving = tokio::spawn({
        let (cancel, over) = (cancel.clone(), over.clone().drop_guard());
        let connection = terms.connection.clone();
        async move {
            FairTask::new(Box::pin(served.serve(cancel)), connection).await;
            drop(over);
        }
    });
    let (closing, held) = (app.closing.clone(), Arc::clone(&token));
    let ending = move || async move {
        tokio::select! {
            why = held.wait_until_ended() => CloseReason::with_code(TOKEN_ENDED, format!("{}: {}", end_code(why), why.reason())),
            () = closing.cancelled() => CloseReason::with_code(GOING_AWAY, "the gateway is shutting down"),
            () = over.cancelled() => CloseReason::PeerGone,
        }
    };
    let mut client = McpFrameReceiver { to_server, account: terms.account.clone() };
    let leave = |_: &mut McpFrameReceiver, _: &CloseReason| cancel.cancel();
    let close = connection::serve(socket.split(), &mut client, &outbox, queue, terms, ending, leave).await;
    // The remaining work has been cancelled and ends soon.
    if let Err(error) = serving.await {
        tracing::error!(%error, "an MCP connection broke off");
    }
    tracing::debug!(token = %token.id(), entry_point = ENTRY_POINT, ?close, "a connection ended");
}

/// Passes frames from the WebSocket to the server.
struct McpFrameReceiver {
    to_server: mpsc::Sender<SocketMessage>,
    account: MemoryAccount,
}

impl FrameReceiver for McpFrameReceiver {
    async fn on_text(&mut self, frame: Utf8Bytes) -> Result<(), CloseReason> {
        let memory = self.account.reserve(cost::kept_json(frame.as_bytes()));
        let memory = memory.map_err(|refusal| CloseReason::with_code(TOO_SLOW, refusal.to_string()))?;
        let message = SocketMessage { text: frame.into(), memory: Some(MemoryPermit::new(memory)) };
        self.to_server.send(message).await.map_err(|_| CloseReason::PeerGone)
    }

    async fn on_binary(&mut self) -> Result<(), CloseReason> {
        Err(CloseReason::with_code(INVALID_PAYLOAD, "binary frames are not used; send JSON in text frames"))
    }

    fn on_activity(&mut self) {}
}

impl MessageSink for Outbox {
    fn send(&self, message: String) -> BoxFuture<'static, Result<(), SinkClosed>> {
        let outbox = self.clone();
        Box::pin(async move { Self::send(&outbox, message).await.map_err(|PeerGone| SinkClosed) })
    }
}

#[cfg(test)]
mod tests;
