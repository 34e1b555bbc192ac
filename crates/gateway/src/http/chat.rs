//! `POST /api/chat`: a turn over HTTP, as events or as one answer at its end.

mod body;

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
use toolway_agent::conversations::{OpenSession, Opened};
use toolway_agent::event::{TurnEnd, TurnEvent, TurnStatus};
use toolway_agent::turn::{OwnRegistration, TurnRequest, TurnViewer};
use toolway_core::consent::{QuestionEvent, QuestionSink};
use toolway_models::Usage;
use toolway_wire::from_gateway::ErrorMessage;
use utoipa::ToSchema;

use self::body::{ChatBody, ChatForms};
use super::error::ErrorBody;
use super::event_stream::StreamEvent;
use super::extract::{expect_json, parse_json, read_body};
use super::resources::{Resources, resources};
use super::{ApiError, approvals};
use crate::access::{Caller, TokenState};
use crate::chat::follow::{Followed, Gone, Watcher, follow};
use crate::chat::frames;
use crate::state::App;

/// Events that wait for a slow reader, who then holds the turn up.
const WAITING_EVENTS: usize = 64;

pub(super) fn routes() -> Resources {
    resources!(chat)
}

/// How a turn ended.
#[derive(Debug, Serialize, ToSchema)]
struct ChatAnswer {
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
    usage: Usage,
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
struct Start<'a> {
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
    request_body = ChatForms,
    responses(
        (status = 200, description = "The turn.", content(
            (StreamEvent = "text/event-stream"),
            (ChatAnswer = "application/json"),
        )),
        (status = 403, description = "The session is another's, or the token is bound to another agent.",
         body = ErrorBody),
        (status = 404, description = "There is no such agent.", body = ErrorBody),
        (status = 409, description = "A turn runs in this session, or it is full.", body = ErrorBody),
        (status = 429, description = "Too many turns run.", body = ErrorBody),
        (status = 503, description = "Nothing could be kept, or the gateway is shutting down.", body = ErrorBody),
    )
)]
async fn chat(
    Caller(token): Caller,
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    expect_json(&headers)?;
    let bytes = read_body(&headers, body, app.settings.limits.frame_bytes).await?;
    // Pictures make it long.
    let read = tokio::task::spawn_blocking(move || {
        let body: ChatBody = parse_json(&bytes)?;
        body.read()
    });
    let asked = read.await.map_err(|error| super::error::internal(&error))??;
    let open = OpenSession { id: asked.session_id.as_deref(), agent: asked.agent.as_deref() };
    let opened = app.chat.conversations.open(&token.principal, open).await?;
    let (sender, receiver) = mpsc::channel(WAITING_EVENTS);
    let turn = TurnRequest {
        session: Arc::clone(&opened.id),
        principal: Arc::clone(&token.principal),
        agent: Some(Arc::clone(&opened.agent)),
        input: asked.input,
        own: OwnRegistration::default(),
        questions: asked.ask.then(|| questions(sender.clone())),
        debug: asked.debug,
    };
    let viewer = app.chat.conversations.start(turn).await?;
    if asked.stream {
        return Ok(respond(&app, token, &opened, viewer, sender, receiver));
    }
    let turn = Arc::clone(&viewer.turn);
    let Some(end) = wait(&app, token, &opened, viewer).await else {
        let words = "the turn was ended before its end was known";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "turn_lost", words)
            .with_hint("GET /api/sessions/{id} says what was said"));
    };
    Ok(Json(answer(&opened, &turn, end)).into_response())
}

/// One event to send.
struct Sent {
    event: Event,
    /// Whether nothing follows.
    is_last: bool,
}

/// Shows questions as events of the types `asked` and `over`.
fn questions(sender: mpsc::Sender<Sent>) -> QuestionSink {
    Arc::new(move |event: &QuestionEvent| {
        if let Some(event) = approvals::event_of(event) {
            // One who does not read is not asked either.
            let _ = sender.try_send(Sent { event, is_last: false });
        }
    })
}

/// Sends a turn's events.
struct Events(mpsc::Sender<Sent>);

impl Watcher for Events {
    async fn take(&mut self, event: TurnEvent) -> Result<(), Gone> {
        let is_last = matches!(event, TurnEvent::Ended(_));
        let Some(frame) = frames::frame(event, toolway_wire::VERSION) else { return Ok(()) };
        let event = Event::default().event(frame.kind).data(frame.text);
        // A title that comes after the last is found with the session.
        self.0.send(Sent { event, is_last }).await.map_err(|_| Gone)
    }
}

fn respond(
    app: &Arc<App>,
    token: Arc<TokenState>,
    opened: &Opened,
    viewer: TurnViewer,
    sender: mpsc::Sender<Sent>,
    receiver: mpsc::Receiver<Sent>,
) -> Response {
    let start = Start {
        session_id: &opened.id,
        turn: &viewer.turn,
        agent: &opened.agent,
        model: opened.model.as_deref(),
        resumed: opened.resumed,
        message_count: opened.message_count,
    };
    let start = Event::default().event("session_start").json_data(start).unwrap_or_default();
    let (chat, session) = (Arc::clone(&app.chat), Arc::clone(&opened.id));
    let turn = Followed { chat, token, session, events: viewer.events };
    tokio::spawn(follow(turn, Events(sender)));
    let events = stream::unfold(Some(receiver), async |receiver| {
        let mut receiver = receiver?;
        let Sent { event, is_last } = receiver.recv().await?;
        Some((event, (!is_last).then_some(receiver)))
    });
    let events = stream::iter([start]).chain(events).map(Ok::<_, std::convert::Infallible>);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Waits for a turn's end.
struct Last(Option<tokio::sync::oneshot::Sender<TurnEnd>>);

impl Watcher for Last {
    async fn take(&mut self, event: TurnEvent) -> Result<(), Gone> {
        if let TurnEvent::Ended(end) = event
            && let Some(waiting) = self.0.take()
        {
            // The client may have gone.
            let _ = waiting.send(end);
        }
        Ok(())
    }
}

async fn wait(
    app: &Arc<App>,
    token: Arc<TokenState>,
    opened: &Opened,
    viewer: TurnViewer,
) -> Option<TurnEnd> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (chat, session) = (Arc::clone(&app.chat), Arc::clone(&opened.id));
    // In a task of its own, since it goes on when the request is closed.
    tokio::spawn(follow(Followed { chat, token, session, events: viewer.events }, Last(Some(sender))));
    receiver.await.ok()
}

fn answer(opened: &Opened, turn: &str, end: TurnEnd) -> ChatAnswer {
    let (status, error) = match end.status {
        TurnStatus::Done => ("done", None),
        TurnStatus::Aborted => ("aborted", None),
        TurnStatus::Failed(why) => ("error", Some(frames::error_of(why))),
    };
    ChatAnswer {
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
        finish: end.finish.as_ref().map(frames::finish),
        error,
    }
}
