//! The entry points `/ws/device` and `/ws/chat`: check the token, negotiate version and subprotocol, and
//! serve the connection.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::routing::get;
use futures_util::StreamExt as _;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use toolway_types::Principal;
use toolway_wire::{SUBPROTOCOL_V1, SUBPROTOCOL_V2};

use super::close::{CloseReason, GOING_AWAY, TAKEN_OVER, TOKEN_ENDED};
use super::connection::{self, SocketOptions};
use super::context::{SocketKind, SocketParams};
use super::peer::SocketPeer;
use crate::access::{AuthRejection, TokenEndReason, TokenState, check_agent};
use crate::http::token_extractors::refuse;
use crate::http::{ApiError, QueryParams};
use crate::listener::BytesWritten;
use crate::outbox::Outbox;
use crate::peer_connection::PeerConnection;
use crate::state::{AppState, RouterState};

/// Maximum number of bytes of one read. It is small, because the library fills as many with zeros before each read, and
/// each connection has its own buffer. There may be ten thousand devices with little traffic. Below 2 KiB, the C library
/// uses its fast way to do so.
const READ_BUFFER: usize = 2000;
/// Number of bytes that are buffered before they are written.
const WRITE_BUFFER: usize = 4 << 10;
/// Maximum length of `session_id`, `name` and `persona`, in bytes.
const MAX_FIELD: usize = 256;

/// Returns the routes of `/ws/device` and `/ws/chat`.
pub(super) fn routes() -> Router<RouterState> {
    Router::new()
        .route("/ws/device", get(|app, request| upgrade(app, request, SocketKind::Device)))
        .route("/ws/chat", get(|app, request| upgrade(app, request, SocketKind::Chat)))
}

/// Query parameters. The token is read elsewhere.
#[derive(Debug, Deserialize)]
struct SocketQuery {
    session_id: Option<String>,
    name: Option<String>,
    persona: Option<String>,
}

async fn upgrade(
    State(app): State<Arc<AppState>>,
    request: Request,
    kind: SocketKind,
) -> Result<Response, ApiError> {
    let (mut parts, _) = request.into_parts();
    let token = app.access.authenticate(&parts).map_err(|rejection| refuse(&app.metrics, rejection))?;
    if let Some(what) = forbidden_reason(kind, &token) {
        return Err(refuse(&app.metrics, AuthRejection::Forbidden { role: token.role(), what }));
    }
    let introduction = read_params(&mut parts, &app).await?;
    if let (SocketKind::Chat, Some(persona)) = (kind, &introduction.persona) {
        check_agent(&token.principal, persona)?;
    }
    let (subprotocol, version) = negotiate_subprotocol(&parts);
    let (mut upgrade, terms) = prepare_upgrade(&mut parts, &app, &token.principal).await?;
    if let Some(subprotocol) = subprotocol {
        upgrade.set_selected_protocol(HeaderValue::from_static(subprotocol));
    }
    let frame = app.settings.limits.frame_bytes;
    Ok(upgrade.read_buffer_size(READ_BUFFER).max_message_size(frame).max_frame_size(frame).on_upgrade(
        move |socket| {
            // The task that waits for the upgrade keeps its size until it ends, and has to be larger.
            tokio::spawn(serve(app, token, kind, version, introduction, terms, socket));
            ready(())
        },
    ))
}

fn forbidden_reason(kind: SocketKind, token: &TokenState) -> Option<&'static str> {
    match kind {
        SocketKind::Device if !token.role().may_offer_tools() => Some("offer tools"),
        SocketKind::Chat if !token.role().may_call() => Some("use /ws/chat; use /ws/device"),
        _ => None,
    }
}

async fn read_params(parts: &mut Parts, app: &Arc<AppState>) -> Result<SocketParams, ApiError> {
    let QueryParams(query) = QueryParams::<SocketQuery>::from_request_parts(parts, app).await?;
    let SocketQuery { session_id, name, persona } = query;
    for (field, value) in [("session_id", &session_id), ("name", &name), ("persona", &persona)] {
        if value.as_ref().is_some_and(|value| value.len() > MAX_FIELD) {
            return Err(ApiError::malformed(format!("{field} is longer than {MAX_FIELD} bytes")));
        }
    }
    let said = |value: Option<String>| value.filter(|value| !value.is_empty());
    Ok(SocketParams { session_id: said(session_id).map(Arc::from), name: said(name), persona: said(persona) })
}

/// Returns the subprotocol for the response, and the protocol version that it implies.
fn negotiate_subprotocol(parts: &Parts) -> (Option<&'static str>, u32) {
    let offered = parts.headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    let offered: Vec<&str> = offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .collect();
    if offered.contains(&SUBPROTOCOL_V2) {
        (Some(SUBPROTOCOL_V2), 2)
    } else if offered.contains(&SUBPROTOCOL_V1) {
        (Some(SUBPROTOCOL_V1), 1)
    } else {
        (None, 1)
    }
}

/// Checks that a request is a WebSocket handshake, and returns the upgrade.
pub(super) async fn prepare_upgrade(
    parts: &mut Parts,
    app: &Arc<AppState>,
    principal: &Principal,
) -> Result<(WebSocketUpgrade, SocketOptions), ApiError> {
    let upgrade = WebSocketUpgrade::from_request_parts(parts, app).await.map_err(not_a_websocket)?;
    let written = parts.extensions.remove::<BytesWritten>().unwrap_or_default();
    let account = app.memory.open(principal);
    let connection = parts.extensions.remove::<PeerConnection>();
    if let Some(connection) = &connection {
        connection.count_frames(&account);
    }
    let terms = SocketOptions {
        heartbeat: app.heartbeat(),
        write_timeout: app.write_timeout(),
        written,
        account,
        connection,
    };
    Ok((upgrade.write_buffer_size(WRITE_BUFFER), terms))
}

fn not_a_websocket(rejection: WebSocketUpgradeRejection) -> ApiError {
    ApiError::new(StatusCode::UPGRADE_REQUIRED, "not_a_websocket", rejection.to_string())
        .with_hint("open this address with a WebSocket client (version 13)")
}

/// Serves a connection until it ends. Each value is stored once: see [`connection::serve`].
fn serve(
    app: Arc<AppState>,
    token: Arc<TokenState>,
    kind: SocketKind,
    version: u32,
    introduction: SocketParams,
    terms: SocketOptions,
    socket: WebSocket,
) -> impl Future<Output = ()> + Send {
    let (outbox, queue) = Outbox::new(app.settings.limits.send_queue, terms.account.clone());
    let open = app.metrics.track_socket(kind.entry_point());
    let sending = (outbox.clone(), terms.account.clone());
    let (closing, held, logged) = (app.closing.clone(), Arc::clone(&token), Arc::clone(&token));
    let mut peer = SocketPeer::new(app, token, kind, version, sending, introduction);
    let displaced = peer.displaced();
    let halves = socket.split();
    async move {
        let refused = match kind {
            SocketKind::Chat => Box::pin(peer.open_session()).await.err().map(Box::new),
            SocketKind::Device => None,
        };
        let ending = move || async move {
            if let Some(close) = refused {
                return *close;
            }
            tokio::select! {
                why = held.wait_until_ended() => CloseReason::with_code(TOKEN_ENDED, format!("{}: {}", end_code(why), why.reason())),
                () = displaced.cancelled() => CloseReason::with_code(TAKEN_OVER, "taken_over: a newer connection took over"),
                () = closing.cancelled() => CloseReason::with_code(GOING_AWAY, "the gateway is shutting down"),
            }
        };
        let close =
            connection::serve(halves, &mut peer, &outbox, queue, terms, ending, SocketPeer::disconnect).await;
        drop(open);
        tracing::debug!(token = %logged.id(), ?kind, ?close, "a connection ended");
    }
}

/// Returns the code for a closed connection, which equals that of a refused upgrade.
pub(super) fn end_code(why: TokenEndReason) -> &'static str {
    match why {
        TokenEndReason::Revoked => AuthRejection::Revoked.code(),
        TokenEndReason::Expired => AuthRejection::Expired.code(),
    }
}
