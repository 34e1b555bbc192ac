//! `/api/grants`: stored answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use toolway_api::ErrorResponse;
use toolway_api::grants::{CreateGrantRequest, GrantDecision, GrantList, GrantView};
use toolway_api::openapi::CreateGrantRequestSchema;
use toolway_core::consent::{Grant, GrantError, GrantId, GrantStoreError, GrantSubject, GrantVerdict};
use toolway_types::PrincipalId;

use super::error::unavailable;
use super::resources::{ApiRoutes, resources};
use super::token_input::read_text;
use super::{ApiError, JsonBody, PathParams};
use crate::http::AuthenticatedOwner;
use crate::state::AppState;

/// Maximum lifetime: ten years.
const MAX_LIFE_S: i64 = 315_360_000;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, add, revoke)
}

fn grant_view(grant: Grant) -> GrantView {
    let (scope, principal, agent, session_id) = match grant.subject {
        GrantSubject::Anyone => ("anyone", None, None, None),
        GrantSubject::Principal(principal) => ("principal", Some(principal.to_string()), None, None),
        GrantSubject::Agent(agent) => ("agent", None, Some(agent.to_string()), None),
        GrantSubject::Session(principal, session) => {
            ("session", Some(principal.to_string()), None, Some(session.to_string()))
        }
    };
    let decision = match grant.verdict {
        GrantVerdict::Granted => GrantDecision::Granted,
        GrantVerdict::DeniedAlways => GrantDecision::DeniedAlways,
    };
    GrantView {
        id: grant.id.to_string(),
        decision: decision.as_str().to_owned(),
        tool: grant.tool.to_string(),
        permission: grant.permission.as_deref().map(str::to_owned),
        scope: scope.to_owned(),
        principal,
        agent,
        session_id,
        created_ms: grant.created_ms,
        created_by: grant.created_by.to_string(),
        expires_ms: grant.expires_ms,
    }
}

/// List grants
#[utoipa::path(
    get,
    path = "/api/grants",
    tag = "grants",
    operation_id = "list_grants",
    responses((status = 200, description = "The active grants.", body = GrantList))
)]
async fn list(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<GrantList> {
    let now_ms = app.clock.now_ms();
    let held = app.engine.grants().list();
    let live = held.into_iter().filter(|grant| grant.expires_ms.is_none_or(|end| end > now_ms));
    Json(GrantList { grants: live.map(grant_view).collect() })
}

/// Add a grant
///
/// The grant answers questions from the next call on.
#[utoipa::path(
    post,
    path = "/api/grants",
    tag = "grants",
    operation_id = "create_grant",
    request_body = CreateGrantRequestSchema,
    responses(
        (status = 201, description = "The grant.", body = GrantView),
        (status = 409, description = "Too many grants.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn add(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    JsonBody(body): JsonBody<CreateGrantRequest>,
) -> Result<(StatusCode, Json<GrantView>), ApiError> {
    let text = |field: &str, given: Option<String>| given.map(|text| read_text(field, text)).transpose();
    let tool = read_text("tool", body.tool)?;
    if !tool.contains('/') {
        return Err(ApiError::malformed(format!("tool is {tool:?}; it must be a pattern for source/tool"))
            .with_hint("for example pixel-8/camera, pixel-8/* or */*"));
    }
    let whose = match (text("principal", body.principal)?, text("agent", body.agent)?) {
        (None, None) => GrantSubject::Anyone,
        (Some(principal), None) => GrantSubject::Principal(PrincipalId::from(principal.as_str())),
        (None, Some(agent)) => GrantSubject::Agent(agent.into()),
        (Some(_), Some(_)) => {
            return Err(ApiError::malformed("principal and agent exclude each other"));
        }
    };
    let now_ms = app.clock.now_ms();
    let expires_ms = match body.expires_in_s {
        None => None,
        Some(seconds) if (1..=MAX_LIFE_S).contains(&seconds) => Some(now_ms.saturating_add(seconds * 1000)),
        Some(seconds) => {
            let words = format!("expires_in_s is {seconds}; it must be 1 to {MAX_LIFE_S} (ten years)");
            return Err(ApiError::malformed(words));
        }
    };
    let grant = Grant {
        id: GrantId::new(),
        permission: text("permission", body.permission)?.map(Arc::from),
        tool: tool.into(),
        subject: whose,
        verdict: match body.decision {
            GrantDecision::Granted => GrantVerdict::Granted,
            GrantDecision::DeniedAlways => GrantVerdict::DeniedAlways,
        },
        created_ms: now_ms,
        created_by: token.principal.id.clone(),
        expires_ms,
    };
    app.engine.grants().add(grant.clone()).await.map_err(grant_error)?;
    tracing::info!(grant = %grant.id, tool = %grant.tool, "granted");
    Ok((StatusCode::CREATED, Json(grant_view(grant))))
}

fn grant_error(bad: GrantError) -> ApiError {
    match bad {
        GrantError::Pattern(bad) => ApiError::malformed(format!("tool: {bad}")),
        GrantError::TooMany(_) => ApiError::new(StatusCode::CONFLICT, "too_many_grants", bad.to_string())
            .with_hint("`toolway grants list` shows them"),
        GrantError::Store(error) => unavailable(&error),
    }
}

/// Revoke a grant
///
/// New calls can no longer use it.
#[utoipa::path(
    delete,
    path = "/api/grants/{id}",
    tag = "grants",
    operation_id = "revoke_grant",
    params(("id" = String, Path, description = "The grant's id.")),
    responses(
        (status = 204, description = "Revoked."),
        (status = 404, description = "The grant does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn revoke(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let missing = || {
        ApiError::not_found("grant_not_found", format!("there is no grant {id:?}"))
            .with_hint("`toolway grants list` shows their ids")
    };
    let grant: GrantId = id.parse().map_err(|_| missing())?;
    match app.engine.grants().revoke(grant).await {
        Ok(true) => Ok(StatusCode::NO_CONTENT),
        Ok(false) => Err(missing()),
        Err(error @ GrantStoreError(_)) => Err(unavailable(&error)),
    }
}
