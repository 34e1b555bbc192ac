//! `POST /api/chat`: a turn over HTTP, as events or as one answer at its end.

mod request;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc;
use toolway_agent::conversations::{OpenSession, OpenedSession};
use toolway_agent::event::{TurnEnd, TurnEvent, TurnStatus};
use toolway_agent::turn::{ConnectionRegistration, TurnRequest, TurnViewer};
use toolway_core::consent::{QuestionEvent, QuestionSink};
use toolway_models::ModelUsage;
use toolway_wire::gateway_message::ErrorMessage;
use utoipa::ToSchema;

use self::request::{ChatRequestBody, ChatRequestSchema};
use super::error::ErrorResponse;
use super::event_stream::StreamEvent;
use super::extractors::{expect_json, parse_json, read_body};
use super::resources::{ApiRoutes, resources};
use super::{ApiError, approvals};
use crate::access::{AuthenticatedCaller, TokenState};
use crate::chat::frames;
use crate::chat::turn_watcher::{FollowedTurn, TurnWatcher, WatcherGone, follow_turn};
use crate::state::AppState;

/// Events that wait for a slow reader, who then holds the turn up.
const MAX_QUEUED_EVENTS: usize = 64;

pub(super) fn routes() -> ApiRoutes {
    resources!(chat)
}

/// How a turn ended.
#[derive(Debug, Serialize, ToSchema)]
struct ChatResponse {
    /// The session's id.
    session_id: String,
    /// The turn's id, under which its calls are recorded.
    turn: String,
    /// The agent that answered.
    agent: String,
    /// The model that answered, as `NAME/ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// `done`, `aborted` or `error`.
    status: &'static str,
    /// All text of the model in this turn.
    full_response: String,
    /// Tokens of all its requests; numbers that were not reported are null.
    #[schema(value_type = Object)]
    usage: ModelUsage,
    /// What they cost, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cost: Option<f64>,
    /// The currency of `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    currency: Option<String>,
    /// How often the model was asked.
    rounds: u32,
    /// How many tools it called.
    tool_calls: u32,
    /// Why its last answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    finish: Option<String>,
    /// What went wrong, with the status `error`: as the event `error` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    error: Option<ErrorMessage>,
}

/// The first event.
#[derive(Serialize)]
struct TurnStartEvent<'a> {
    session_id: &'a str,
    turn: &'a str,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    resumed: bool,
    message_count: u64,
}

/// Talk to an agent
///
/// The answer is a stream of events named like the messages of the WebSocket protocol, each with such a message as
/// its data: first `session_start`, last `done`, `aborted` or `error`. With `"stream": false` it is one object at the
/// end of the turn, a 200 also where the turn failed. The turn goes on when the request is closed;
/// `POST /api/sessions/{id}/abort` ends it.
#[utoipa::path(
    post,
    path = "/api/chat",
    tag = "chat",
    request_body = ChatRequestSchema,
    responses(
        (status = 200, description = "The turn.", content(
            (StreamEvent = "text/event-stream"),
            (ChatResponse = "application/json"),
        )),
        (status = 403, description = "The session is another's, or the token is bound to another agent.",
         body = ErrorResponse),
        (status = 404, description = "There is no such agent.", body = ErrorResponse),
        (status = 409, description = "A turn runs in this session, or it is full.", body = ErrorResponse),
        (status = 429, description = "Too many turns run.", body = ErrorResponse),
        (status = 503, description = "Nothing could be kept, or the gateway is shutting down.", body = ErrorResponse),
    )
)]
async fn chat(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    expect_json(&headers)?;
    let bytes = read_body(&headers, body, app.settings.limits.frame_bytes).await?;
    // Pictures make it long.
    let read = tokio::task::spawn_blocking(move || {
        let body: ChatRequestBody = parse_json(&bytes)?;
        body.read()
    });
    let asked = read.await.map_err(|error| super::error::internal(&error))??;
    let open = OpenSession { id: asked.session_id.as_deref(), agent: asked.agent.as_deref() };
    let opened = app.chat.conversations.open(&token.principal, open).await?;
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    let turn = TurnRequest {
        session: Arc::clone(&opened.id),
        principal: Arc::clone(&token.principal),
        agent: Some(Arc::clone(&opened.agent)),
        input: asked.input,
        registration: ConnectionRegistration::default(),
        questions: asked.ask.then(|| build_question_sink(sender.clone())),
        debug: asked.debug,
    };
    let viewer = app.chat.conversations.start(turn).await?;
    if asked.stream {
        return Ok(respond(&app, token, &opened, viewer, sender, receiver));
    }
    let turn = Arc::clone(&viewer.turn);
    let Some(end) = wait_for_end(&app, token, &opened, viewer).await else {
        let words = "the turn was ended before its end was known";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "turn_lost", words)
            .with_hint("GET /api/sessions/{id} says what was said"));
    };
    Ok(Json(build_response(&opened, &turn, end)).into_response())
}

/// One event to send.
struct QueuedSseEvent {
    event: Event,
    /// Whether nothing follows.
    is_last: bool,
}

/// Shows questions as events of the types `asked` and `over`.
fn build_question_sink(sender: mpsc::Sender<QueuedSseEvent>) -> QuestionSink {
    Arc::new(move |event: &QuestionEvent| {
        if let Some(event) = approvals::sse_event(event) {
            // One who does not read is not asked either.
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
        // A title that comes after the last is found with the session.
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
    let start = TurnStartEvent {
        session_id: &opened.id,
        turn: &viewer.turn,
        agent: &opened.agent,
        model: opened.model.as_deref(),
        resumed: opened.resumed,
        message_count: opened.message_count,
    };
    let start = Event::default().event("session_start").json_data(start).unwrap_or_default();
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

/// Waits for a turn's end.
struct TurnEndWatcher(Option<tokio::sync::oneshot::Sender<TurnEnd>>);

impl TurnWatcher for TurnEndWatcher {
    async fn handle_event(&mut self, event: TurnEvent) -> Result<(), WatcherGone> {
        if let TurnEvent::Ended(end) = event
            && let Some(waiting) = self.0.take()
        {
            // The client may have gone.
            let _ = waiting.send(end);
        }
        Ok(())
    }
}

async fn wait_for_end(
    app: &Arc<AppState>,
    token: Arc<TokenState>,
    opened: &OpenedSession,
    viewer: TurnViewer,
) -> Option<TurnEnd> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (chat, session) = (Arc::clone(&app.chat), Arc::clone(&opened.id));
    // In a task of its own, since it goes on when the request is closed.
    tokio::spawn(follow_turn(
        FollowedTurn { chat, token, session, events: viewer.events },
        TurnEndWatcher(Some(sender)),
    ));
    receiver.await.ok()
}

fn build_response(opened: &OpenedSession, turn: &str, end: TurnEnd) -> ChatResponse {
    let (status, error) = match end.status {
        TurnStatus::Done => ("done", None),
        TurnStatus::Aborted => ("aborted", None),
        TurnStatus::Failed(why) => ("error", Some(frames::error_message(why))),
    };
    ChatResponse {
        session_id: opened.id.to_string(),
        turn: turn.to_owned(),
        agent: opened.agent.to_string(),
        model: opened.model.clone(),
        status,
        full_response: end.full_response,
        usage: end.usage,
        cost: end.cost,
        currency: end.currency,
        rounds: end.rounds,
        tool_calls: end.tool_calls,
        finish: end.finish.as_ref().map(frames::finish_reason_name),
        error,
    }
}
