//! `/api/approvals`: pending questions of calls. The owner sees and answers all of them, others those of
//! their own calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use toolway_api::ErrorResponse;
use toolway_api::approvals::{
    AnswerApprovalRequest, ApprovalDecision, ApprovalResolved, ApprovalScope, PendingApproval,
    PendingApprovalList,
};
use toolway_api::event_stream::{APPROVAL_REQUESTED, APPROVAL_RESOLVED, StreamEvent};
use toolway_core::consent::{
    AnswerError, ConsentAnswer, ConsentDecision, ConsentScope, Question, QuestionCloseReason, QuestionEvent,
    QuestionKind,
};

use super::event_stream::{EventStreamReader, follow};
use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams};
use crate::http::{AuthenticatedCaller, AuthenticatedOwner};
use crate::state::AppState;
use toolway_core::Engine;

/// Interval between writes to a watcher.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);

pub(super) fn routes() -> ApiRoutes {
    resources!(list, watch, answer)
}

/// A question as REST returns it.
fn pending_approval(question: &Question) -> PendingApproval {
    PendingApproval {
        id: question.id.to_string(),
        kind: question.kind.as_str().to_owned(),
        changed_tool: question.kind == QuestionKind::ChangedTool,
        call_id: question.call.to_string(),
        tool: question.tool.full_name().to_string(),
        tool_id: question.tool.to_string(),
        permission: question.kind.permission().map(ToString::to_string),
        principal: question.principal.to_string(),
        agent: question.agent.as_deref().map(str::to_owned),
        session_id: question.session.as_deref().map(str::to_owned),
        reason: question.reason.clone(),
        arguments: question.arguments.clone(),
        caller_may_answer: question.caller_may_answer,
        created_ms: question.asked_ms,
        expires_ms: question.expires_ms,
    }
}

/// List pending questions
#[utoipa::path(
    get,
    path = "/api/approvals",
    tag = "approvals",
    operation_id = "list_approvals",
    responses((status = 200, description = "The pending questions that the caller may see.", body = PendingApprovalList))
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(engine): State<Arc<Engine>>,
) -> Json<PendingApprovalList> {
    let open = engine.questions().visible_to(&token.principal);
    Json(PendingApprovalList { approvals: open.iter().map(|question| pending_approval(question)).collect() })
}

/// An event `approval_requested` or `approval_resolved`.
pub(super) fn sse_event(event: &QuestionEvent) -> Option<Event> {
    match event {
        QuestionEvent::Asked(question) => {
            Event::default().event(APPROVAL_REQUESTED).json_data(pending_approval(question)).ok()
        }
        QuestionEvent::Closed(question, closed) => {
            let (resolution, answer) = match closed {
                QuestionCloseReason::Answered(answer) => ("answered", Some(answer)),
                QuestionCloseReason::Expired => ("expired", None),
                QuestionCloseReason::Withdrawn => ("cancelled", None),
            };
            let resolved = ApprovalResolved {
                id: question.id.to_string(),
                resolution: resolution.to_owned(),
                decision: answer.map(|answer| match answer.choice {
                    ConsentDecision::Granted => ApprovalDecision::Granted,
                    ConsentDecision::Denied => ApprovalDecision::Denied,
                    ConsentDecision::DeniedAlways => ApprovalDecision::DeniedAlways,
                }),
                scope: answer.map(|answer| match answer.scope {
                    ConsentScope::Once => ApprovalScope::Once,
                    ConsentScope::Session => ApprovalScope::Session,
                    ConsentScope::Agent => ApprovalScope::Agent,
                    ConsentScope::Always => ApprovalScope::Always,
                }),
                answered_by: answer.map(|ConsentAnswer { answered_by, .. }| answered_by.to_string()),
            };
            Event::default().event(APPROVAL_RESOLVED).json_data(resolved).ok()
        }
    }
}

/// Watch questions
///
/// An event `approval_requested` for each pending or new question, `approval_resolved` for each question that is
/// answered, expires or is cancelled, and `lagged` with the number of missed events if the reader is too slow. While an
/// owner watches, calls wait for an answer. If nobody can answer, they end as `approval_unavailable`.
#[utoipa::path(
    get,
    path = "/api/approvals/watch",
    tag = "approvals",
    operation_id = "watch_approvals",
    responses(
        (status = 200, description = "The questions.", content_type = "text/event-stream", body = StreamEvent),
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
    // Calls wait while somebody watches. Only a write detects a watcher that has disappeared.
    let alive = KeepAlive::new().interval(KEEP_ALIVE_INTERVAL);
    Ok(Sse::new(first.chain(followed)).keep_alive(alive).into_response())
}

/// Answer a question
#[utoipa::path(
    post,
    path = "/api/approvals/{id}",
    tag = "approvals",
    operation_id = "answer_approval",
    params(("id" = String, Path, description = "The question's id.")),
    request_body = AnswerApprovalRequest,
    responses(
        (status = 204, description = "Accepted."),
        (status = 403, description = "The caller may not give this answer.", body = ErrorResponse),
        (status = 404, description = "No such question is pending.", body = ErrorResponse),
        (status = 409, description = "The scope does not apply to the call.", body = ErrorResponse),
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
        AnswerError::NotOpen => ApiError::not_found("approval_not_pending", words).with_hint(
            "somebody has answered it, it has expired, or its call has ended; see `toolway approvals list`",
        ),
        AnswerError::OnlyOwner => ApiError::new(StatusCode::FORBIDDEN, "owner_only", words)
            .with_hint("the owner can answer with `toolway approvals answer`"),
        AnswerError::ScopeTooWide => ApiError::new(StatusCode::FORBIDDEN, "scope_too_wide", words),
        AnswerError::NoSession | AnswerError::NoAgent => {
            ApiError::new(StatusCode::CONFLICT, "scope_not_applicable", words)
        }
    }
}
