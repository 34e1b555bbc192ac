//! `POST /api/chat`: a turn over HTTP, as events or as one response at the end.

mod request;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;
use toolway_agent::conversations::{OpenSession, OpenedSession};
use toolway_agent::event::{TurnEnd, TurnEvent, TurnStatus};
use toolway_agent::turn::{ConnectionRegistration, TurnRequest, TurnViewer};
use toolway_api::ErrorResponse;
use toolway_api::chat::{ChatRequest, ChatResponse, SessionStart, TurnFailure, TurnNotice};
use toolway_api::event_stream::{SESSION_START, StreamEvent};
use toolway_api::openapi::ChatRequestSchema;
use toolway_core::consent::{QuestionEvent, QuestionSink};

use self::request::read_request;
use super::extractors::{expect_json, parse_apart, parse_json, read_large_body};
use super::resources::{ApiRoutes, resources};
use super::sessions::token_usage;
use super::{ApiError, approvals, client_time_zone};
use crate::access::TokenState;
use crate::chat::frames;
use crate::chat::turn_watcher::{FollowedTurn, TurnWatcher, WatcherGone, follow_turn};
use crate::http::AuthenticatedCaller;
use crate::state::AppState;

/// Maximum number of events that wait for a slow reader. After that, the turn waits too.
const MAX_QUEUED_EVENTS: usize = 64;
/// Maximum number of notices in a response.
const MAX_NOTICES: usize = 64;

pub(super) fn routes() -> ApiRoutes {
    resources!(chat)
}

/// Talk to an agent
///
/// The response is an event stream. Each event has the name of a message of the WebSocket protocol, and this message as
/// its data: first `session_start`, last `done`, `aborted` or `error`. With `"stream": false`, the response is one object
/// at the end of the turn, and a failed turn is a 200 too. Closing the request does not end the turn;
/// `POST /api/sessions/{id}/abort` ends it.
#[utoipa::path(
    post,
    path = "/api/chat",
    tag = "chat",
    operation_id = "chat",
    request_body = ChatRequestSchema,
    responses(
        (status = 200, description = "The turn.", content(
            (StreamEvent = "text/event-stream"),
            (ChatResponse = "application/json"),
        )),
        (status = 403, description = "The session belongs to another principal, or the token is bound to another agent.",
         body = ErrorResponse),
        (status = 404, description = "The agent does not exist.", body = ErrorResponse),
        (status = 409, description = "A turn is running in this session, or the session is full.", body = ErrorResponse),
        (status = 429, description = "Too many running turns.", body = ErrorResponse),
        (status = 503, description = "The database failed, or the gateway is shutting down.", body = ErrorResponse),
    )
)]
async fn chat(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    expect_json(&headers)?;
    let received = read_large_body(&app, &token.principal, &headers, body).await?;
    // Images make it long.
    let read = |bytes: &[u8]| parse_json::<ChatRequest>(bytes).and_then(read_request);
    let asked = parse_apart(&app, &token.principal, received.bytes, read).await?;
    let time_zone = client_time_zone(&app, &headers).await?;
    let open = OpenSession {
        id: asked.session_id.as_deref(),
        agent: asked.agent.as_deref(),
        ..OpenSession::default()
    };
    let opened = app.chat.conversations.open(&token.principal, open).await?;
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    let turn = TurnRequest {
        session: Arc::clone(&opened.id),
        title: None,
        principal: Arc::clone(&token.principal),
        agent: Some(Arc::clone(&opened.agent)),
        input: asked.input,
        registration: ConnectionRegistration::default(),
        questions: asked.is_interactive.then(|| build_question_sink(sender.clone())),
        debug: asked.debug,
        time_zone,
    };
    let viewer = app.chat.conversations.start(turn).await?;
    if asked.stream {
        return Ok(respond(&app, token, &opened, viewer, sender, receiver));
    }
    let turn = Arc::clone(&viewer.turn);
    let Some((end, notices)) = wait_for_end(&app, token, &opened, viewer).await else {
        let words = "the gateway cannot determine the end of the turn";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "turn_outcome_unknown", words)
            .with_hint("GET /api/sessions/{id} returns the text so far"));
    };
    Ok(Json(build_response(&opened, &turn, end, notices)).into_response())
}

/// One event to send.
struct QueuedSseEvent {
    event: Event,
    /// True if no event follows.
    is_last: bool,
}

/// Sends questions as events `approval_requested` and `approval_resolved`.
fn build_question_sink(sender: mpsc::Sender<QueuedSseEvent>) -> QuestionSink {
    Arc::new(move |event: &QuestionEvent| {
        if let Some(event) = approvals::sse_event(event) {
            // A client that does not read cannot answer either.
            let _ = sender.try_send(QueuedSseEvent { event, is_last: false });
        }
    })
}

/// Sends a turn's events.
struct SseTurnWatcher(mpsc::Sender<QueuedSseEvent>);

impl TurnWatcher for SseTurnWatcher {
    async fn handle_event(&mut self, event: TurnEvent) -> Result<(), WatcherGone> {
        let is_last = matches!(event, TurnEvent::Ended(_));
        let Some(frame) = frames::event_frame(event, toolway_wire::VERSION) else { return Ok(()) };
        let event = Event::default().event(frame.kind).data(frame.text);
        // A title that arrives after the last event is stored with the session.
        self.0.send(QueuedSseEvent { event, is_last }).await.map_err(|_| WatcherGone)
    }
}

fn respond(
    app: &Arc<AppState>,
    token: Arc<TokenState>,
    opened: &OpenedSession,
    viewer: TurnViewer,
    sender: mpsc::Sender<QueuedSseEvent>,
    receiver: mpsc::Receiver<QueuedSseEvent>,
) -> Response {
    let start = SessionStart {
        session_id: opened.id.to_string(),
        turn_id: viewer.turn.to_string(),
        agent: Some(opened.agent.to_string()),
        model: opened.model.clone(),
        resumed: opened.resumed,
        message_count: opened.message_count,
    };
    let start = Event::default().event(SESSION_START).json_data(start).unwrap_or_default();
    let (chat, session) = (Arc::clone(&app.chat), Arc::clone(&opened.id));
    let turn = FollowedTurn { chat, token, session, events: viewer.events };
    tokio::spawn(follow_turn(turn, SseTurnWatcher(sender)));
    let events = stream::unfold(Some(receiver), async |receiver| {
        let mut receiver = receiver?;
        let QueuedSseEvent { event, is_last } = receiver.recv().await?;
        Some((event, (!is_last).then_some(receiver)))
    });
    let events = stream::iter([start]).chain(events).map(Ok::<_, std::convert::Infallible>);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// The end of a turn, and its notices.
type EndWithNotices = (TurnEnd, Vec<TurnNotice>);

/// Waits for a turn's end.
struct TurnEndWatcher {
    notices: Vec<TurnNotice>,
    waiting: Option<tokio::sync::oneshot::Sender<EndWithNotices>>,
}

impl TurnWatcher for TurnEndWatcher {
    async fn handle_event(&mut self, event: TurnEvent) -> Result<(), WatcherGone> {
        match event {
            TurnEvent::Notice { code, message } if self.notices.len() < MAX_NOTICES => {
                self.notices.push(TurnNotice { code: Some(code.as_str().to_owned()), message });
            }
            TurnEvent::Ended(end) => {
                if let Some(waiting) = self.waiting.take() {
                    // The client may have gone.
                    let _ = waiting.send((end, std::mem::take(&mut self.notices)));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

async fn wait_for_end(
    app: &Arc<AppState>,
    token: Arc<TokenState>,
    opened: &OpenedSession,
    viewer: TurnViewer,
) -> Option<EndWithNotices> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (chat, session) = (Arc::clone(&app.chat), Arc::clone(&opened.id));
    // In a task of its own, since it goes on when the request is closed.
    tokio::spawn(follow_turn(
        FollowedTurn { chat, token, session, events: viewer.events },
        TurnEndWatcher { notices: Vec::new(), waiting: Some(sender) },
    ));
    receiver.await.ok()
}

fn build_response(
    opened: &OpenedSession,
    turn: &str,
    end: TurnEnd,
    notices: Vec<TurnNotice>,
) -> ChatResponse {
    let (status, error) = match end.status {
        TurnStatus::Done => ("done", None),
        TurnStatus::Aborted => ("aborted", None),
        TurnStatus::Failed(why) => ("error", Some(turn_failure(why))),
    };
    ChatResponse {
        session_id: opened.id.to_string(),
        turn_id: turn.to_owned(),
        agent: opened.agent.to_string(),
        model: opened.model.clone(),
        status: status.to_owned(),
        full_response: end.full_response,
        usage: token_usage(end.usage),
        cost: end.cost,
        currency: end.currency,
        rounds: end.rounds,
        tool_calls: end.tool_calls,
        finish_reason: end.finish.as_ref().map(frames::finish_reason_name),
        notices,
        error,
    }
}

fn turn_failure(why: toolway_agent::event::TurnFailure) -> TurnFailure {
    let message = frames::error_message(why);
    TurnFailure { message: message.message, code: message.code, hint: message.hint, reason: message.reason }
}
