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
    AnswerError, ConsentAnswer, ConsentDecision, ConsentScope, Question, QuestionCloseReason, QuestionEvent,
    QuestionKind,
};
use toolway_types::RawJson;
use utoipa::ToSchema;

use super::error::ErrorResponse;
use super::event_stream::{EventStreamReader, StreamEvent, follow};
use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams};
use crate::access::{AuthenticatedCaller, AuthenticatedOwner};
use crate::state::AppState;

/// How often a watcher is written to.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);

pub(super) fn routes() -> ApiRoutes {
    resources!(list, watch, answer)
}

/// A question that a call waits with.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PendingApproval {
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

impl PendingApproval {
    pub(super) fn of(question: &Question) -> Self {
        Self {
            id: question.id.to_string(),
            kind: question.kind.as_str(),
            changed_tool: question.kind == QuestionKind::ChangedTool,
            call_id: question.call.to_string(),
            tool: question.tool.full_name().to_string(),
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
struct PendingApprovalList {
    /// The oldest first.
    approvals: Vec<PendingApproval>,
}

/// List open questions
#[utoipa::path(
    get,
    path = "/api/approvals",
    tag = "approvals",
    responses((status = 200, description = "The open questions that the caller may see.", body = PendingApprovalList))
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
) -> Json<PendingApprovalList> {
    let open = app.engine.questions().visible_to(&token.principal);
    Json(PendingApprovalList {
        approvals: open.iter().map(|question| PendingApproval::of(question)).collect(),
    })
}

/// How a question ended.
#[derive(Debug, Serialize)]
struct ApprovalClosedEvent<'a> {
    id: String,
    /// `answered`, `expired` or `withdrawn`.
    how: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<ConsentDecision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ConsentScope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
}

/// An event of the type `asked` or `over`.
pub(super) fn sse_event(event: &QuestionEvent) -> Option<Event> {
    match event {
        QuestionEvent::Asked(question) => {
            Event::default().event("asked").json_data(PendingApproval::of(question)).ok()
        }
        QuestionEvent::Closed(question, closed) => {
            let (how, answer) = match closed {
                QuestionCloseReason::Answered(answer) => ("answered", Some(answer)),
                QuestionCloseReason::Expired => ("expired", None),
                QuestionCloseReason::Withdrawn => ("withdrawn", None),
            };
            let over = ApprovalClosedEvent {
                id: question.id.to_string(),
                how,
                decision: answer.map(|answer| answer.choice),
                scope: answer.map(|answer| answer.scope),
                by: answer.map(|ConsentAnswer { answered_by: by, .. }| &*by.0),
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
        (status = 429, description = "Too many event streams are open.", body = ErrorResponse),
    )
)]
async fn watch(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
) -> Result<Response, ApiError> {
    let reader = EventStreamReader::new(token, app.clone())?;
    let watching = app.engine.questions().watch();
    let open: Vec<_> = watching
        .open
        .iter()
        .filter_map(|question| sse_event(&QuestionEvent::Asked(question.clone())))
        .collect();
    let first = stream::iter(open.into_iter().map(Ok::<_, Infallible>));
    let followed = follow(watching, |watching| &mut watching.events, reader, |event, _| sse_event(event));
    // While somebody watches, calls wait for a person; one who has gone without a word is noticed by writing.
    let alive = KeepAlive::new().interval(KEEP_ALIVE_INTERVAL);
    Ok(Sse::new(first.chain(followed)).keep_alive(alive).into_response())
}

/// A decision.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ApprovalDecision {
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
enum ApprovalScope {
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
struct AnswerApprovalRequest {
    /// Yes, no, never.
    decision: ApprovalDecision,
    /// For how long; `once` where nothing is said.
    #[serde(default)]
    scope: ApprovalScope,
}

/// Answer a question
#[utoipa::path(
    post,
    path = "/api/approvals/{id}",
    tag = "approvals",
    params(("id" = String, Path, description = "The question's id.")),
    request_body = AnswerApprovalRequest,
    responses(
        (status = 204, description = "The answer was taken."),
        (status = 403, description = "The caller may not answer so.", body = ErrorResponse),
        (status = 404, description = "No such question is open.", body = ErrorResponse),
        (status = 409, description = "The scope does not fit the call.", body = ErrorResponse),
    )
)]
async fn answer(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<AnswerApprovalRequest>,
) -> Result<StatusCode, ApiError> {
    let choice = match body.decision {
        ApprovalDecision::Granted => ConsentDecision::Granted,
        ApprovalDecision::Denied => ConsentDecision::Denied,
        ApprovalDecision::DeniedAlways => ConsentDecision::DeniedAlways,
    };
    let scope = match body.scope {
        ApprovalScope::Once => ConsentScope::Once,
        ApprovalScope::Session => ConsentScope::Session,
        ApprovalScope::Agent => ConsentScope::Agent,
        ApprovalScope::Always => ConsentScope::Always,
    };
    app.answer(&id, &token.principal, choice, scope).await.map_err(answer_error)?;
    Ok(StatusCode::NO_CONTENT)
}

fn answer_error(why: AnswerError) -> ApiError {
    let words = why.to_string();
    match why {
        AnswerError::NotOpen => ApiError::not_found("question_not_open", words)
            .with_hint("it was answered, its time is over, or its call has ended; `toolway approvals list`"),
        AnswerError::OnlyOwner => ApiError::new(StatusCode::FORBIDDEN, "only_owner", words)
            .with_hint("the owner answers with `toolway approvals answer`"),
        AnswerError::ScopeTooWide => ApiError::new(StatusCode::FORBIDDEN, "scope_too_wide", words),
        AnswerError::NoSession | AnswerError::NoAgent => {
            ApiError::new(StatusCode::CONFLICT, "scope_without_subject", words)
        }
    }
}
