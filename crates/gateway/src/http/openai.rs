//! `/v1`, an API for programs that use OpenAI's chat completions. Its models are the agents, and a completion
//! is a turn. The caller sends the whole conversation with every request, so only the records of calls and
//! the cost are stored. docs/openai-api.md lists the differences.

mod completion;
mod error;
mod history;
mod notice_header;
pub mod replay;
mod request;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::request::Parts;
use http::{HeaderMap, Method, Uri};
use serde::Serialize;
use toolway_agent::event::{TurnEvent, TurnStatus};
use toolway_agent::turn::{StatelessRequest, TurnViewer};

use self::completion::{ChatCompletion, ChatCompletionHead, CollectedEvents};
use self::error::OpenAiApiError;
use self::notice_header::NoticeHeaders;
use self::request::{ParsedCompletionRequest, read};
use super::extractors::{expect_json, parse_apart, read_large_body};
use crate::access::{TokenState, check_agent};
use crate::http::AuthenticatedCaller;
use crate::state::{AppState, RouterState};

/// The time for which a stream waits for the turn's first event. A turn that fails within it gets an error status.
const FIRST_EVENT_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of notices before the first event that counts.
const MAX_NOTICES_BEFORE_FIRST: usize = 64;
/// Optional prefix of an agent's name.
const PREFIX: &str = "toolway/";

/// Returns the routes.
pub(super) fn routes() -> Router<RouterState> {
    let v1 = Router::new()
        .route("/models", get(list))
        .route("/models/{*id}", get(show))
        .route("/chat/completions", post(complete))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method);
    Router::new().nest("/v1", v1)
}

/// The token of a caller that may use agents.
struct OpenAiCaller(Arc<TokenState>);

impl FromRequestParts<RouterState> for OpenAiCaller {
    type Rejection = OpenAiApiError;
    async fn from_request_parts(parts: &mut Parts, state: &RouterState) -> Result<Self, OpenAiApiError> {
        let AuthenticatedCaller(token) = AuthenticatedCaller::from_request_parts(parts, state).await?;
        Ok(Self(token))
    }
}

/// An agent in the form of an OpenAI model.
#[derive(Debug, Serialize)]
struct OpenAiModel {
    id: String,
    object: &'static str,
    /// Creation time in seconds since the Unix epoch. Always 0, because agents have none that is known here.
    created: i64,
    owned_by: &'static str,
}

impl OpenAiModel {
    fn of(agent: &str) -> Self {
        Self { id: agent.to_owned(), object: "model", created: 0, owned_by: "toolway" }
    }
}

#[derive(Debug, Serialize)]
struct OpenAiModelList {
    object: &'static str,
    data: Vec<OpenAiModel>,
}

/// Returns the agent for a model name, if the token may use it.
fn agent_of<'n>(token: &TokenState, model: &'n str) -> Result<&'n str, OpenAiApiError> {
    let agent = model.strip_prefix(PREFIX).unwrap_or(model);
    check_agent(&token.principal, agent).map_err(super::ApiError::from)?;
    Ok(agent)
}

async fn list(OpenAiCaller(token): OpenAiCaller, State(app): State<Arc<AppState>>) -> Json<OpenAiModelList> {
    let agents = app.chat.agents.list().into_iter();
    let mine = agents.filter(|view| check_agent(&token.principal, &view.definition.name).is_ok());
    let data = mine.map(|view| OpenAiModel::of(&view.definition.name)).collect();
    Json(OpenAiModelList { object: "list", data })
}

async fn show(
    OpenAiCaller(token): OpenAiCaller,
    State(app): State<Arc<AppState>>,
    id: Path<String>,
) -> Result<Json<OpenAiModel>, OpenAiApiError> {
    let agent = agent_of(&token, &id)?;
    let view = app.chat.agents.view(agent).map_err(|unknown| OpenAiApiError::no_such_model(&unknown))?;
    Ok(Json(OpenAiModel::of(&view.definition.name)))
}

async fn complete(
    OpenAiCaller(token): OpenAiCaller,
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, OpenAiApiError> {
    expect_json(&headers)?;
    let received = read_large_body(&app, &token.principal, &headers, body).await?;
    // Images can make the body long.
    let asked = parse_apart(&app, &token.principal, received.bytes, read).await?;
    let agent = agent_of(&token, &asked.model)?.to_owned();
    let time_zone = super::client_time_zone(&app, &headers).await?;
    let ParsedCompletionRequest {
        model,
        stream,
        include_usage,
        system,
        messages,
        client_tools,
        tool_choice,
        output,
        options,
    } = asked;
    let turn = StatelessRequest {
        agent,
        principal: Arc::clone(&token.principal),
        system,
        messages,
        client_tools,
        tool_choice,
        output,
        options,
        time_zone,
    };
    let viewer = app.chat.conversations.complete(turn).await?;
    let head = ChatCompletionHead::new(&viewer.turn, model, app.clock.now_ms());
    if !stream {
        return collect_completion(&token, viewer, &head).await;
    }
    let TurnViewer { mut events, .. } = viewer;
    let mut begun = Vec::new();
    // If no event arrives in time, the stream starts without one.
    if let Ok(result) =
        tokio::time::timeout(FIRST_EVENT_TIMEOUT, await_first_event(&token, &mut events, &mut begun)).await
    {
        result?;
    }
    let mut notices = NoticeHeaders::default();
    begun.iter().for_each(|event| notices.record_event(event));
    let mut response = stream::respond(token, head, include_usage, begun, events);
    notices.add_to(response.headers_mut());
    Ok(response)
}

/// Reads events of a turn up to the first that is part of an answer. Returns an error if the turn failed
/// before that.
async fn await_first_event(
    token: &TokenState,
    events: &mut tokio::sync::mpsc::Receiver<TurnEvent>,
    begun: &mut Vec<TurnEvent>,
) -> Result<(), OpenAiApiError> {
    while begun.len() < MAX_NOTICES_BEFORE_FIRST {
        let event = next_event(token, events).await?;
        let goes_on = matches!(event, TurnEvent::Notice { .. } | TurnEvent::Retrying { .. });
        if let TurnEvent::Ended(end) = &event {
            match &end.status {
                TurnStatus::Done => {}
                TurnStatus::Aborted => return Err(OpenAiApiError::aborted()),
                TurnStatus::Failed(why) => return Err(OpenAiApiError::from_turn_failure(why)),
            }
        }
        begun.push(event);
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// Returns the next event of a turn, while the token that started it is valid.
async fn next_event(
    token: &TokenState,
    events: &mut tokio::sync::mpsc::Receiver<TurnEvent>,
) -> Result<TurnEvent, OpenAiApiError> {
    tokio::select! {
        event = events.recv() => event.ok_or_else(OpenAiApiError::turn_lost),
        why = token.wait_until_ended() => Err(OpenAiApiError::token_ended(why)),
    }
}

/// Returns the complete answer at the end of the turn. Dropping the future, as when the client closes the
/// request, ends the turn.
async fn collect_completion(
    token: &TokenState,
    viewer: TurnViewer,
    head: &ChatCompletionHead,
) -> Result<Response, OpenAiApiError> {
    let TurnViewer { mut events, .. } = viewer;
    let (mut collected, mut notices) = (CollectedEvents::default(), NoticeHeaders::default());
    loop {
        match next_event(token, &mut events).await? {
            TurnEvent::Ended(end) => {
                return match &end.status {
                    TurnStatus::Done => {
                        let mut response = Json(ChatCompletion::new(head, &end, &collected)).into_response();
                        notices.add_to(response.headers_mut());
                        Ok(response)
                    }
                    TurnStatus::Aborted => Err(OpenAiApiError::aborted()),
                    TurnStatus::Failed(why) => Err(OpenAiApiError::from_turn_failure(why)),
                };
            }
            event => {
                collected.record_event(&event);
                notices.record_event(&event);
            }
        }
    }
}

async fn no_such_path(uri: Uri) -> OpenAiApiError {
    OpenAiApiError::unknown_path(&format!("there is no resource at /v1{}", uri.path()))
}

async fn no_such_method(method: Method, uri: Uri) -> OpenAiApiError {
    OpenAiApiError::unknown_method(&format!("/v1{} does not support {method}", uri.path()))
}
