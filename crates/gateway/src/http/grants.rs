//! `/api/grants`: stored answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use toolway_api::ErrorResponse;
use toolway_api::grants::CreateGrantRequestSchema;
use toolway_api::grants::{CreateGrantRequest, GrantDecision, GrantList, GrantView};
use toolway_core::consent::{Grant, GrantError, GrantId, GrantStoreError, GrantSubject, GrantVerdict};

use super::error::unavailable;
use super::resources::{ApiRoutes, resources};
use super::token_input::{read_optional_text, read_text};
use super::{ApiError, JsonBody, PathParams};
use crate::grants::NewGrant;
use crate::http::AuthenticatedOwner;
use crate::lifetime::Lifetime;
use toolway_core::Engine;
use toolway_types::Clock;

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
async fn list(
    _: AuthenticatedOwner,
    State(engine): State<Arc<Engine>>,
    State(clock): State<Arc<dyn Clock>>,
) -> Json<GrantList> {
    let now_ms = clock.now_ms();
    let held = engine.grants().list();
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
    State(engine): State<Arc<Engine>>,
    State(clock): State<Arc<dyn Clock>>,
    JsonBody(body): JsonBody<CreateGrantRequest>,
) -> Result<(StatusCode, Json<GrantView>), ApiError> {
    let new = NewGrant {
        tool: read_text("tool", body.tool)?,
        permission: read_optional_text("permission", body.permission)?,
        principal: read_optional_text("principal", body.principal)?,
        agent: read_optional_text("agent", body.agent)?,
        verdict: match body.decision {
            GrantDecision::Granted => GrantVerdict::Granted,
            GrantDecision::DeniedAlways => GrantVerdict::DeniedAlways,
        },
        lifetime: body.expires_in_s.map(Lifetime::from_seconds).transpose()?,
    };
    let grant = new.build(token.principal.id.clone(), clock.now_ms())?;
    engine.grants().add(grant.clone()).await.map_err(grant_error)?;
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
    State(engine): State<Arc<Engine>>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let missing = || {
        ApiError::not_found("grant_not_found", format!("there is no grant {id:?}"))
            .with_hint("`toolway grants list` shows their ids")
    };
    let grant: GrantId = id.parse().map_err(|_| missing())?;
    match engine.grants().revoke(grant).await {
        Ok(true) => Ok(StatusCode::NO_CONTENT),
        Ok(false) => Err(missing()),
        Err(error @ GrantStoreError(_)) => Err(unavailable(&error)),
    }
}
