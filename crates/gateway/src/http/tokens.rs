//! `/api/tokens`: the owner makes, lists and revokes tokens.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use toolway_store::TokenRecord;
use toolway_types::Role;
use utoipa::{IntoParams, ToSchema};

use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::token_input::{
    AssignableRole, ShortTextSchema, described_by_role, optional_whole, read_agent, read_text,
};
use super::{ApiError, JsonBody, PathParams, QueryParams};
use crate::access::{AuthenticatedOwner, DeviceBinding, NewToken};
use crate::state::AppState;

/// Longest life that can be asked for: ten years. Without one a token lives until it is revoked.
const MAX_LIFE_S: i64 = 315_360_000;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, create, revoke, rotate_owner)
}

/// Whether a token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TokenStatus {
    /// It counts.
    Active,
    /// It was taken back.
    Revoked,
    /// Its time is over.
    Expired,
}

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TokenRole {
    /// Everything.
    Owner,
    /// Chats, lists and calls tools.
    Client,
    /// Offers tools.
    Device,
    /// Client and device.
    Companion,
}

impl From<Role> for TokenRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Client => Self::Client,
            Role::Device => Self::Device,
            Role::Companion => Self::Companion,
        }
    }
}

/// A token, without its text.
#[derive(Debug, Serialize, ToSchema)]
struct TokenSummary {
    /// Its id.
    id: String,
    /// Its role.
    role: TokenRole,
    /// A name for people.
    label: String,
    /// Whether it counts.
    status: TokenStatus,
    /// The only agent it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// The id of the device that it was paired for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    device_id: Option<String>,
    /// What that device called itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    device_name: Option<String>,
    /// Its operating system and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    platform: Option<String>,
    /// When it was made, in milliseconds since the Unix epoch.
    created_ms: i64,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_ms: Option<i64>,
    /// When it was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revoked_ms: Option<i64>,
    /// When it was last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_used_ms: Option<i64>,
}

impl TokenSummary {
    fn of(record: TokenRecord, now_ms: i64) -> Self {
        let status = if record.revoked_ms.is_some() {
            TokenStatus::Revoked
        } else if record.expires_ms.is_some_and(|at| at <= now_ms) {
            TokenStatus::Expired
        } else {
            TokenStatus::Active
        };
        Self {
            id: record.id,
            role: record.role.into(),
            label: record.label,
            status,
            agent: record.agent,
            device_id: record.device_id,
            device_name: record.device_name,
            platform: record.platform,
            created_ms: record.created_ms,
            expires_ms: record.expires_ms,
            revoked_ms: record.revoked_ms,
            last_used_ms: record.last_used_ms,
        }
    }
}

/// The tokens.
#[derive(Debug, Serialize, ToSchema)]
struct TokenList {
    /// The oldest first.
    tokens: Vec<TokenSummary>,
}

/// Which tokens to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListTokensQuery {
    /// Whether to list those that no longer count as well.
    #[serde(default)]
    all: bool,
}

/// List tokens
#[utoipa::path(
    get,
    path = "/api/tokens",
    tag = "tokens",
    params(ListTokensQuery),
    responses(
        (status = 200, description = "The tokens.", body = TokenList),
        (status = 503, description = "They could not be read.", body = ErrorResponse),
    )
)]
async fn list(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    QueryParams(query): QueryParams<ListTokensQuery>,
) -> Result<Json<TokenList>, ApiError> {
    let now_ms = app.clock.now_ms();
    let views = app.access.tokens.list().await?.into_iter().map(|record| TokenSummary::of(record, now_ms));
    let tokens = views.filter(|view| query.all || view.status == TokenStatus::Active).collect();
    Ok(Json(TokenList { tokens }))
}

/// Which token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateTokenRequest {
    /// Its role.
    role: AssignableRole,
    /// A name for people.
    #[schema(value_type = Option<ShortTextSchema>)]
    label: Option<String>,
    /// The only agent it may use.
    #[schema(value_type = Option<ShortTextSchema>)]
    agent: Option<String>,
    /// Seconds until it ends by itself; without it, it lives until it is revoked.
    #[schema(minimum = 1, maximum = 315_360_000)]
    #[serde(default, deserialize_with = "optional_whole")]
    expires_in_s: Option<i64>,
}

described_by_role!(NewTokenByRole, CreateTokenRequest);

/// A new token.
#[derive(Debug, Serialize, ToSchema)]
struct CreateTokenResponse {
    /// Its text. Shown this once.
    token: String,
    /// The rest of it.
    #[serde(flatten)]
    view: TokenSummary,
}

/// Make a token
#[utoipa::path(
    post,
    path = "/api/tokens",
    tag = "tokens",
    request_body = NewTokenByRole,
    responses(
        (status = 201, description = "The token, its text shown this once.", body = CreateTokenResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn create(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    JsonBody(body): JsonBody<CreateTokenRequest>,
) -> Result<(StatusCode, Json<CreateTokenResponse>), ApiError> {
    let now_ms = app.clock.now_ms();
    let expires_ms = body.expires_in_s.map(|seconds| expires_at(now_ms, seconds)).transpose()?;
    let label = body.label.map(|label| read_text("label", label)).transpose()?;
    let role = Role::from(body.role);
    let new = NewToken {
        role,
        label: label.unwrap_or_else(|| role.to_string()),
        agent: read_agent(body.role, body.agent)?,
        device: DeviceBinding::default(),
        expires_ms,
    };
    let (token, state) = app.access.tokens.create(new).await?;
    tracing::info!(token = state.id(), %role, label = state.label, "token made");
    let view = TokenSummary {
        id: state.id().to_owned(),
        role: role.into(),
        label: state.label.clone(),
        status: TokenStatus::Active,
        agent: state.principal.agent.as_deref().map(str::to_owned),
        device_id: None,
        device_name: None,
        platform: None,
        created_ms: state.created_ms,
        expires_ms: state.expires_ms,
        revoked_ms: None,
        last_used_ms: None,
    };
    Ok((StatusCode::CREATED, Json(CreateTokenResponse { token: token.expose_secret().to_owned(), view })))
}

fn expires_at(now_ms: i64, seconds: i64) -> Result<i64, ApiError> {
    if !(1..=MAX_LIFE_S).contains(&seconds) {
        return Err(ApiError::malformed(format!(
            "expires_in_s is {seconds}; it may be 1 to {MAX_LIFE_S} (ten years)"
        ))
        .with_hint("leave it out for a token that lives until it is revoked"));
    }
    Ok(now_ms.saturating_add(seconds * 1000))
}

/// Revoke a token
///
/// Ends what uses it, live sockets too. Revoking one that was revoked before changes nothing.
#[utoipa::path(
    delete,
    path = "/api/tokens/{id}",
    tag = "tokens",
    params(("id" = String, Path, description = "The token's id.")),
    responses(
        (status = 200, description = "The token as it is now.", body = TokenSummary),
        (status = 404, description = "There is no such token.", body = ErrorResponse),
        (status = 409, description = "It is one that the gateway makes for itself.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn revoke(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<TokenSummary>, ApiError> {
    let record = app.access.tokens.revoke(&id).await?;
    tracing::info!(token = record.id, "token revoked");
    Ok(Json(TokenSummary::of(record, app.clock.now_ms())))
}

/// The owner's new token.
#[derive(Debug, Serialize, ToSchema)]
struct RotateOwnerTokenResponse {
    /// Its text. It is in the file `owner.token` of the data folder as well.
    token: String,
    /// In words.
    message: String,
}

/// Replace the owner's token
///
/// The old one stops working at once, for live sockets too.
#[utoipa::path(
    post,
    path = "/api/tokens/owner/rotate",
    tag = "tokens",
    responses(
        (status = 200, description = "The new token.", body = RotateOwnerTokenResponse),
        (status = 503, description = "It could not be kept; the old one stands.", body = ErrorResponse),
    )
)]
async fn rotate_owner(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
) -> Result<Json<RotateOwnerTokenResponse>, ApiError> {
    let token = app.access.tokens.rotate_owner().await?;
    tracing::info!("the owner's token was replaced");
    Ok(Json(RotateOwnerTokenResponse {
        token: token.expose_secret().to_owned(),
        message: "The old token no longer works. The new one is in the file owner.token of the data folder."
            .to_owned(),
    }))
}
