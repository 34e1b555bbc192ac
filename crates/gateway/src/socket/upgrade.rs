//! The doors `/ws/device` and `/ws/chat`: who may come in, which version and subprotocol are agreed. All sockets are
//! opened here; what `/ws/mcp` lets in is in [`super::mcp`].

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::routing::get;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use toolway_wire::{SUBPROTOCOL_V1, SUBPROTOCOL_V2};

use super::close::{Close, GOING_AWAY, TAKEN_OVER, TOKEN_ENDED};
use super::connection::{self, Terms};
use super::mcp;
use super::outbox::Outbox;
use super::peer::{Introduction, Kind, Peer};
use super::talk;
use crate::access::authenticate::refuse;
use crate::access::{Ended, Refusal, TokenState};
use crate::http::{ApiError, QueryOf, agent_forbidden};
use crate::listen::Written;
use crate::state::App;

/// A small buffer: the library fills all of it with zeros at every read, and each connection has its own.
/// There may be ten thousand devices, each with little to say at a time.
fn read_buffer(kind: Kind) -> usize {
    match kind {
        Kind::Device => 2 << 10,
        Kind::Chat => 4 << 10,
    }
}
/// Frames are gathered up to this many bytes before they are written.
const WRITE_BUFFER: usize = 4 << 10;
/// Longest `session_id`, `name` or `persona`, in bytes.
const MAX_FIELD: usize = 256;

/// All doors.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/ws/device", get(|app, request| upgrade(app, request, Kind::Device)))
        .route("/ws/chat", get(|app, request| upgrade(app, request, Kind::Chat)))
        .route("/ws/mcp", get(mcp::upgrade))
}

/// What an address may say. The token is read elsewhere.
#[derive(Debug, Deserialize)]
struct Query {
    session_id: Option<String>,
    name: Option<String>,
    persona: Option<String>,
}

async fn upgrade(State(app): State<Arc<App>>, request: Request, kind: Kind) -> Result<Response, ApiError> {
    let (mut parts, _) = request.into_parts();
    let token = app.access.authenticate(&parts).map_err(|refusal| refuse(&app, refusal))?;
    if let Some(what) = forbidden(kind, &token) {
        return Err(refuse(&app, Refusal::Forbidden { role: token.role(), what }));
    }
    let introduction = introduction(&mut parts, &app).await?;
    if let Some((bound, asked)) = of_another_agent(kind, &token, &introduction) {
        return Err(agent_forbidden(bound, asked));
    }
    let (subprotocol, version) = agree(&parts);
    let (mut upgrade, terms) = websocket(&mut parts, &app).await?;
    if let Some(subprotocol) = subprotocol {
        upgrade.set_selected_protocol(HeaderValue::from_static(subprotocol));
    }
    let frame = app.settings.limits.frame_bytes;
    Ok(upgrade
        .read_buffer_size(read_buffer(kind))
        .max_message_size(frame)
        .max_frame_size(frame)
        .on_upgrade(move |socket| serve(app, token, kind, version, introduction, terms, socket)))
}

fn forbidden(kind: Kind, token: &TokenState) -> Option<&'static str> {
    match kind {
        Kind::Device if !token.role().may_offer_tools() => Some("offer tools"),
        Kind::Chat if !token.role().may_call() => Some("chat; its door is /ws/device"),
        _ => None,
    }
}

/// The agent that a token is bound to, where it asks for another.
fn of_another_agent<'t>(
    kind: Kind,
    token: &'t TokenState,
    introduction: &'t Introduction,
) -> Option<(&'t str, &'t str)> {
    let (bound, asked) = (token.principal.agent.as_deref()?, introduction.persona.as_deref()?);
    (kind == Kind::Chat && bound != asked).then_some((bound, asked))
}

async fn introduction(parts: &mut Parts, app: &Arc<App>) -> Result<Introduction, ApiError> {
    let QueryOf(query) = QueryOf::<Query>::from_request_parts(parts, app).await?;
    let Query { session_id, name, persona } = query;
    for (field, value) in [("session_id", &session_id), ("name", &name), ("persona", &persona)] {
        if value.as_ref().is_some_and(|value| value.len() > MAX_FIELD) {
            return Err(ApiError::malformed(format!("{field} is longer than {MAX_FIELD} bytes")));
        }
    }
    let said = |value: Option<String>| value.filter(|value| !value.is_empty());
    Ok(Introduction { session_id: said(session_id).map(Arc::from), name: said(name), persona: said(persona) })
}

/// The one subprotocol to answer with, and the version that it agrees.
fn agree(parts: &Parts) -> (Option<&'static str>, u32) {
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

/// A request as the beginning of a WebSocket, and how that is kept.
pub(super) async fn websocket(
    parts: &mut Parts,
    app: &Arc<App>,
) -> Result<(WebSocketUpgrade, Terms), ApiError> {
    let upgrade = WebSocketUpgrade::from_request_parts(parts, app).await.map_err(not_a_websocket)?;
    let written = parts.extensions.remove::<Written>().unwrap_or_default();
    let terms = Terms { heartbeat: app.heartbeat(), write_timeout: app.write_timeout(), written };
    Ok((upgrade.write_buffer_size(WRITE_BUFFER), terms))
}

fn not_a_websocket(rejection: WebSocketUpgradeRejection) -> ApiError {
    ApiError::new(StatusCode::UPGRADE_REQUIRED, "not_a_websocket", rejection.to_string())
        .with_hint("open this address with a WebSocket client (version 13)")
}

async fn serve(
    app: Arc<App>,
    token: Arc<TokenState>,
    kind: Kind,
    version: u32,
    introduction: Introduction,
    terms: Terms,
    socket: WebSocket,
) {
    let (outbox, queue) = Outbox::new(app.settings.limits.send_queue);
    let _open = app.metrics.connection(kind.door());
    let mut peer = Peer::new(app.clone(), token.clone(), kind, version, outbox.clone(), introduction);
    let (displaced, closing, held) = (peer.displaced(), app.closing.clone(), token.clone());
    let refused = match kind {
        Kind::Chat => talk::open(&mut peer).await.err(),
        Kind::Device => None,
    };
    let ending = async move {
        if let Some(close) = refused {
            return close;
        }
        tokio::select! {
            why = held.ended() => Close::with(TOKEN_ENDED, format!("{}: {}", code_of(why), why.reason())),
            () = displaced.cancelled() => Close::with(TAKEN_OVER, "taken_over: a newer connection took over"),
            () = closing.cancelled() => Close::with(GOING_AWAY, "the gateway is shutting down"),
        }
    };
    let close = connection::serve(socket, &mut peer, &outbox, queue, terms, ending, Peer::leave).await;
    tracing::debug!(token = %token.id(), ?kind, ?close, "a connection ended");
}

/// The same word that a refused upgrade has.
pub(super) fn code_of(why: Ended) -> &'static str {
    match why {
        Ended::Revoked => Refusal::Revoked.code(),
        Ended::Expired => Refusal::Expired.code(),
    }
}
