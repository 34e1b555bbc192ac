//! `/api/grants`: the answers that are kept.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_core::consent::{Grant, GrantError, GrantId, GrantStoreError, GrantSubject, GrantVerdict};
use toolway_types::PrincipalId;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::error::{ErrorResponse, unavailable};
use super::policy_schema::{ToolPatternSchema, one_or_other};
use super::resources::{ApiRoutes, resources};
use super::token_input::{ShortTextSchema, optional_whole, read_text};
use super::{ApiError, JsonBody, PathParams};
use crate::access::AuthenticatedOwner;
use crate::state::AppState;

/// Longest life that can be asked for: ten years.
const MAX_LIFE_S: i64 = 315_360_000;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, add, revoke)
}

/// Yes or no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum GrantDecision {
    /// Yes.
    #[default]
    Granted,
    /// No, and nobody is asked.
    DeniedAlways,
}

/// An answer that is kept.
#[derive(Debug, Serialize, ToSchema)]
struct GrantView {
    /// Its id.
    id: String,
    /// Yes or no.
    decision: GrantDecision,
    /// The tools, as a pattern over `source/tool`.
    tool: String,
    /// The permission it is for; absent where it is for running the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    permission: Option<String>,
    /// How far it reaches: `anyone`, `principal`, `agent` or `session`.
    scope: &'static str,
    /// Whose calls, where it is not for anyone's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    principal: Option<String>,
    /// Which agent's calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Which conversation's calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    session: Option<String>,
    /// When it was given, in milliseconds since the Unix epoch.
    created_ms: i64,
    /// Who gave it.
    created_by: String,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_ms: Option<i64>,
}

impl GrantView {
    fn of(grant: Grant) -> Self {
        let (scope, principal, agent, session) = match grant.subject {
            GrantSubject::Anyone => ("anyone", None, None, None),
            GrantSubject::Principal(principal) => ("principal", Some(principal.to_string()), None, None),
            GrantSubject::Agent(agent) => ("agent", None, Some(agent.to_string()), None),
            GrantSubject::Session(principal, session) => {
                ("session", Some(principal.to_string()), None, Some(session.to_string()))
            }
        };
        Self {
            id: grant.id.to_string(),
            decision: match grant.verdict {
                GrantVerdict::Granted => GrantDecision::Granted,
                GrantVerdict::DeniedAlways => GrantDecision::DeniedAlways,
            },
            tool: grant.tool.to_string(),
            permission: grant.permission.as_deref().map(str::to_owned),
            scope,
            principal,
            agent,
            session,
            created_ms: grant.created_ms,
            created_by: grant.created_by.to_string(),
            expires_ms: grant.expires_ms,
        }
    }
}

/// The answers that are kept.
#[derive(Debug, Serialize, ToSchema)]
struct GrantList {
    /// The oldest first.
    grants: Vec<GrantView>,
}

/// List grants
#[utoipa::path(
    get,
    path = "/api/grants",
    tag = "grants",
    responses((status = 200, description = "The grants that hold.", body = GrantList))
)]
async fn list(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<GrantList> {
    let now_ms = app.clock.now_ms();
    let held = app.engine.grants().list();
    let live = held.into_iter().filter(|grant| grant.expires_ms.is_none_or(|end| end > now_ms));
    Json(GrantList { grants: live.map(GrantView::of).collect() })
}

/// What to grant, or to refuse for good.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateGrantRequest {
    /// The tools, as a pattern over `source/tool`.
    #[schema(value_type = ToolPatternSchema)]
    tool: String,
    /// The permission it is for; without it, it is for running the tool.
    #[schema(value_type = Option<ShortTextSchema>)]
    permission: Option<String>,
    /// Whose calls: the id of a token, or `owner`. Without it and without `agent`, anyone's.
    #[schema(value_type = Option<ShortTextSchema>)]
    principal: Option<String>,
    /// Which agent's calls.
    #[schema(value_type = Option<ShortTextSchema>)]
    agent: Option<String>,
    /// Yes, where nothing is said.
    #[serde(default)]
    decision: GrantDecision,
    /// Seconds until it ends by itself.
    #[schema(minimum = 1, maximum = 315_360_000)]
    #[serde(default, deserialize_with = "optional_whole")]
    expires_in_s: Option<i64>,
}

/// Describes [`NewGrant`]: it is for a principal's calls or for an agent's.
struct CreateGrantRequestSchema;

impl PartialSchema for CreateGrantRequestSchema {
    fn schema() -> RefOr<Schema> {
        one_or_other(CreateGrantRequest::schema(), "principal", "agent")
    }
}

impl ToSchema for CreateGrantRequestSchema {
    fn name() -> Cow<'static, str> {
        CreateGrantRequest::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        CreateGrantRequest::schemas(schemas);
    }
}

/// Grant beforehand
///
/// What a person would be asked for is answered by this from the next call on.
#[utoipa::path(
    post,
    path = "/api/grants",
    tag = "grants",
    request_body = CreateGrantRequestSchema,
    responses(
        (status = 201, description = "The grant.", body = GrantView),
        (status = 409, description = "Too many grants hold.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
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
        return Err(ApiError::malformed(format!("tool is {tool:?}, which is not source/tool"))
            .with_hint("write it as pixel-8/camera, pixel-8/* or */*"));
    }
    let whose = match (text("principal", body.principal)?, text("agent", body.agent)?) {
        (None, None) => GrantSubject::Anyone,
        (Some(principal), None) => GrantSubject::Principal(PrincipalId::from(principal.as_str())),
        (None, Some(agent)) => GrantSubject::Agent(agent.into()),
        (Some(_), Some(_)) => {
            return Err(ApiError::malformed(
                "principal and agent are both given; a grant is for one of them",
            ));
        }
    };
    let now_ms = app.clock.now_ms();
    let expires_ms = match body.expires_in_s {
        None => None,
        Some(seconds) if (1..=MAX_LIFE_S).contains(&seconds) => Some(now_ms.saturating_add(seconds * 1000)),
        Some(seconds) => {
            let words = format!("expires_in_s is {seconds}; it may be 1 to {MAX_LIFE_S} (ten years)");
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
    Ok((StatusCode::CREATED, Json(GrantView::of(grant))))
}

fn grant_error(bad: GrantError) -> ApiError {
    match bad {
        GrantError::Pattern(bad) => ApiError::malformed(format!("tool: {bad}")),
        GrantError::TooMany(_) => ApiError::new(StatusCode::CONFLICT, "too_many_grants", bad.to_string())
            .with_hint("`toolway grants list` shows them"),
        GrantError::Store(error) => unavailable(&error),
    }
}

/// Take a grant back
///
/// From the next call on.
#[utoipa::path(
    delete,
    path = "/api/grants/{id}",
    tag = "grants",
    params(("id" = String, Path, description = "The grant's id.")),
    responses(
        (status = 204, description = "It holds no more."),
        (status = 404, description = "There is no such grant.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn revoke(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let missing = || {
        ApiError::not_found("grant_unknown", format!("there is no grant {id:?}"))
            .with_hint("`toolway grants list` shows their ids")
    };
    let grant: GrantId = id.parse().map_err(|_| missing())?;
    match app.engine.grants().revoke(grant).await {
        Ok(true) => Ok(StatusCode::NO_CONTENT),
        Ok(false) => Err(missing()),
        Err(error @ GrantStoreError(_)) => Err(unavailable(&error)),
    }
}
