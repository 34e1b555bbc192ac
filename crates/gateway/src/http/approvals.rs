//! `/api/approvals`: the questions that calls wait with. Owners see and answer all, others those of their own calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_core::consent::{
    Answer, CannotAnswer, Choice, Closed, Question, QuestionEvent, QuestionKind, Scope,
};
use toolway_types::RawJson;
use utoipa::ToSchema;

use super::error::ErrorBody;
use super::event_stream::{Reader, StreamEvent, follow};
use super::resources::{Resources, resources};
use super::{ApiError, JsonBody, PathOf};
use crate::access::{Caller, Owner};
use crate::state::App;

/// How often a watcher is written to.
const WATCH_ALIVE: Duration = Duration::from_secs(2);

pub(super) fn routes() -> Resources {
    resources!(list, watch, answer)
}

/// A question that a call waits with.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QuestionView {
    /// Its id.
    id: String,
    /// `permission` or `approval`.
    kind: &'static str,
    /// Whether it is asked because the tool is not what it was.
    changed_tool: bool,
    /// The call that waits.
    call_id: String,
    /// The tool's name.
    tool: String,
    /// The tool's id.
    tool_id: String,
    /// The permission, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    permission: Option<String>,
    /// Who called.
    principal: String,
    /// In whose agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// In which conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    session: Option<String>,
    /// Why it is asked.
    reason: String,
    /// The arguments, secrets left out; a text where they are too long to be shown whole.
    #[schema(value_type = serde_json::Value)]
    arguments: RawJson,
    /// Whether the caller may answer, apart from the owner.
    caller_may_answer: bool,
    /// When it was asked, in milliseconds since the Unix epoch.
    asked_ms: i64,
    /// When it is no longer open.
    expires_ms: i64,
}

impl QuestionView {
    pub(super) fn of(question: &Question) -> Self {
        Self {
            id: question.id.to_string(),
            kind: question.kind.as_str(),
            changed_tool: question.kind == QuestionKind::ChangedTool,
            call_id: question.call.to_string(),
            tool: question.tool.exposed().to_string(),
            tool_id: question.tool.to_string(),
            permission: question.kind.permission().map(ToString::to_string),
            principal: question.principal.to_string(),
            agent: question.agent.as_deref().map(str::to_owned),
            session: question.session.as_deref().map(str::to_owned),
            reason: question.reason.clone(),
            arguments: question.arguments.clone(),
            caller_may_answer: question.caller_may_answer,
            asked_ms: question.asked_ms,
            expires_ms: question.expires_ms,
        }
    }
}

/// The open questions.
#[derive(Debug, Serialize, ToSchema)]
struct QuestionList {
    /// The oldest first.
    approvals: Vec<QuestionView>,
}

/// List open questions
#[utoipa::path(
    get,
    path = "/api/approvals",
    tag = "approvals",
    responses((status = 200, description = "The open questions that the caller may see.", body = QuestionList))
)]
async fn list(Caller(token): Caller, State(app): State<Arc<App>>) -> Json<QuestionList> {
    let open = app.engine.questions().visible_to(&token.principal);
    Json(QuestionList { approvals: open.iter().map(|question| QuestionView::of(question)).collect() })
}

/// How a question ended.
#[derive(Debug, Serialize)]
struct Over<'a> {
    id: String,
    /// `answered`, `expired` or `withdrawn`.
    how: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
}

/// An event of the type `asked` or `over`.
pub(super) fn event_of(event: &QuestionEvent) -> Option<Event> {
    match event {
        QuestionEvent::Asked(question) => {
            Event::default().event("asked").json_data(QuestionView::of(question)).ok()
        }
        QuestionEvent::Over(question, closed) => {
            let (how, answer) = match closed {
                Closed::Answered(answer) => ("answered", Some(answer)),
                Closed::Expired => ("expired", None),
                Closed::Withdrawn => ("withdrawn", None),
            };
            let over = Over {
                id: question.id.to_string(),
                how,
                decision: answer.map(|answer| answer.choice),
                scope: answer.map(|answer| answer.scope),
                by: answer.map(|Answer { by, .. }| &*by.0),
            };
            Event::default().event("over").json_data(over).ok()
        }
    }
}

/// Watch questions
///
/// An event of the type `asked` for each question that is open or is asked from now on, `over` where one is
/// answered, expires or is withdrawn, and `missed` with a number where the reader was too slow for some. While
/// an owner watches, calls wait for an answer; with nobody there they end as `approval_unavailable`.
#[utoipa::path(
    get,
    path = "/api/approvals/watch",
    tag = "approvals",
    responses(
        (status = 200, description = "The questions as they come.", content_type = "text/event-stream", body = StreamEvent),
        (status = 429, description = "Too many event streams are open.", body = ErrorBody),
    )
)]
async fn watch(Owner(token): Owner, State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let reader = Reader::new(token, app.clone())?;
    let watching = app.engine.questions().watch();
    let open: Vec<_> = watching
        .open
        .iter()
        .filter_map(|question| event_of(&QuestionEvent::Asked(question.clone())))
        .collect();
    let first = stream::iter(open.into_iter().map(Ok::<_, Infallible>));
    let followed = follow(watching, |watching| &mut watching.events, reader, |event, _| event_of(event));
    // While somebody watches, calls wait for a person; one who has gone without a word is noticed by writing.
    let alive = KeepAlive::new().interval(WATCH_ALIVE);
    Ok(Sse::new(first.chain(followed)).keep_alive(alive).into_response())
}

/// A decision.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DecisionWord {
    /// Yes.
    Granted,
    /// Not this time.
    Denied,
    /// No, and do not ask again.
    DeniedAlways,
}

/// How long an answer holds.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ScopeWord {
    /// For this call.
    #[default]
    Once,
    /// For this conversation.
    Session,
    /// For all calls of this agent; owners only.
    Agent,
    /// For all calls of this principal; owners only.
    Always,
}

/// An answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    /// Yes, no, never.
    decision: DecisionWord,
    /// For how long; `once` where nothing is said.
    #[serde(default)]
    scope: ScopeWord,
}

/// Answer a question
#[utoipa::path(
    post,
    path = "/api/approvals/{id}",
    tag = "approvals",
    params(("id" = String, Path, description = "The question's id.")),
    request_body = AnswerBody,
    responses(
        (status = 204, description = "The answer was taken."),
        (status = 403, description = "The caller may not answer so.", body = ErrorBody),
        (status = 404, description = "No such question is open.", body = ErrorBody),
        (status = 409, description = "The scope does not fit the call.", body = ErrorBody),
    )
)]
async fn answer(
    Caller(token): Caller,
    State(app): State<Arc<App>>,
    PathOf(id): PathOf<String>,
    JsonBody(body): JsonBody<AnswerBody>,
) -> Result<StatusCode, ApiError> {
    let choice = match body.decision {
        DecisionWord::Granted => Choice::Granted,
        DecisionWord::Denied => Choice::Denied,
        DecisionWord::DeniedAlways => Choice::DeniedAlways,
    };
    let scope = match body.scope {
        ScopeWord::Once => Scope::Once,
        ScopeWord::Session => Scope::Session,
        ScopeWord::Agent => Scope::Agent,
        ScopeWord::Always => Scope::Always,
    };
    app.answer(&id, &token.principal, choice, scope).await.map_err(refused)?;
    Ok(StatusCode::NO_CONTENT)
}

fn refused(why: CannotAnswer) -> ApiError {
    let words = why.to_string();
    match why {
        CannotAnswer::NotOpen => ApiError::not_found("question_not_open", words)
            .with_hint("it was answered, its time is over, or its call has ended; `toolway approvals list`"),
        CannotAnswer::OnlyOwner => ApiError::new(StatusCode::FORBIDDEN, "only_owner", words)
            .with_hint("the owner answers with `toolway approvals answer`"),
        CannotAnswer::ScopeTooWide => ApiError::new(StatusCode::FORBIDDEN, "scope_too_wide", words),
        CannotAnswer::NoSession | CannotAnswer::NoAgent => {
            ApiError::new(StatusCode::CONFLICT, "scope_without_subject", words)
        }
    }
}
