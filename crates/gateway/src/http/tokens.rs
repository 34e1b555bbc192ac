//! `/api/tokens`: the owner creates, lists and revokes tokens.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use secrecy::ExposeSecret;
use toolway_api::ErrorResponse;
use toolway_api::tokens::{
    CreateTokenRequest, CreateTokenRequestSchema, CreateTokenResponse, ListTokensQuery,
    RotateOwnerTokenResponse, TokenList, TokenStatus, TokenSummary,
};
use toolway_store::TokenRecord;
use toolway_types::Role;

use super::resources::{ApiRoutes, resources};
use super::token_input::read_optional_text;
use super::{ApiError, JsonBody, PathParams, QueryParams};
use crate::access::AccessControl;
use crate::access::{DeviceBinding, NewToken, TokenEndReason};
use crate::http::AuthenticatedOwner;
use crate::lifetime::Lifetime;
use toolway_types::Clock;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, create, revoke, rotate_owner)
}

fn token_summary(record: TokenRecord, now_ms: i64) -> TokenSummary {
    let status = match TokenEndReason::of(&record, now_ms) {
        None => TokenStatus::Active,
        Some(TokenEndReason::Revoked) => TokenStatus::Revoked,
        Some(TokenEndReason::Expired) => TokenStatus::Expired,
    };
    TokenSummary {
        id: record.id,
        role: record.role.to_string(),
        label: record.label,
        status: status.as_str().to_owned(),
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

/// List tokens
#[utoipa::path(
    get,
    path = "/api/tokens",
    tag = "tokens",
    operation_id = "list_tokens",
    params(ListTokensQuery),
    responses(
        (status = 200, description = "The tokens.", body = TokenList),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn list(
    _: AuthenticatedOwner,
    State(access): State<Arc<AccessControl>>,
    State(clock): State<Arc<dyn Clock>>,
    QueryParams(query): QueryParams<ListTokensQuery>,
) -> Result<Json<TokenList>, ApiError> {
    let now_ms = clock.now_ms();
    let views = access.tokens.list().await?.into_iter().map(|record| token_summary(record, now_ms));
    let tokens = views.filter(|view| query.all || view.is_active()).collect();
    Ok(Json(TokenList { tokens }))
}

/// Create a token
#[utoipa::path(
    post,
    path = "/api/tokens",
    tag = "tokens",
    operation_id = "create_token",
    request_body = CreateTokenRequestSchema,
    responses(
        (status = 201, description = "The token with its text. No other response contains the text.", body = CreateTokenResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn create(
    _: AuthenticatedOwner,
    State(access): State<Arc<AccessControl>>,
    JsonBody(body): JsonBody<CreateTokenRequest>,
) -> Result<(StatusCode, Json<CreateTokenResponse>), ApiError> {
    let lifetime = body.expires_in_s.map(Lifetime::from_seconds).transpose().map_err(|invalid| {
        ApiError::from(invalid).with_hint("leave it out for a token that is valid until you revoke it")
    })?;
    let role = Role::from(body.role);
    let new = NewToken {
        role,
        label: read_optional_text("label", body.label)?,
        agent: read_optional_text("agent", body.agent)?,
        device: DeviceBinding::default(),
        lifetime,
    };
    let (token, state) = access.tokens.create(new).await?;
    tracing::info!(token = state.id(), %role, label = state.label, "token created");
    let summary = TokenSummary {
        id: state.id().to_owned(),
        role: role.to_string(),
        label: state.label.clone(),
        status: TokenStatus::Active.as_str().to_owned(),
        agent: state.principal.agent.as_deref().map(str::to_owned),
        device_id: None,
        device_name: None,
        platform: None,
        created_ms: state.created_ms,
        expires_ms: state.expires_ms,
        revoked_ms: None,
        last_used_ms: None,
    };
    Ok((StatusCode::CREATED, Json(CreateTokenResponse { token: token.expose_secret().to_owned(), summary })))
}

/// Revoke a token
///
/// Closes its connections. Revoking a revoked token changes nothing.
#[utoipa::path(
    delete,
    path = "/api/tokens/{id}",
    tag = "tokens",
    operation_id = "revoke_token",
    params(("id" = String, Path, description = "The token's id.")),
    responses(
        (status = 200, description = "The revoked token.", body = TokenSummary),
        (status = 404, description = "The token does not exist.", body = ErrorResponse),
        (status = 409, description = "The gateway uses this token itself.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn revoke(
    _: AuthenticatedOwner,
    State(access): State<Arc<AccessControl>>,
    State(clock): State<Arc<dyn Clock>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<TokenSummary>, ApiError> {
    let record = access.tokens.revoke(&id).await?;
    tracing::info!(token = record.id, "token revoked");
    Ok(Json(token_summary(record, clock.now_ms())))
}

/// Replace the owner's token
///
/// The old token becomes invalid at once, and its connections are closed.
#[utoipa::path(
    post,
    path = "/api/tokens/owner/rotate",
    tag = "tokens",
    operation_id = "rotate_owner_token",
    responses(
        (status = 200, description = "The new token.", body = RotateOwnerTokenResponse),
        (status = 503, description = "The database failed; the old token stays valid.", body = ErrorResponse),
    )
)]
async fn rotate_owner(
    _: AuthenticatedOwner,
    State(access): State<Arc<AccessControl>>,
) -> Result<Json<RotateOwnerTokenResponse>, ApiError> {
    let token = access.tokens.rotate_owner().await?;
    tracing::info!("the owner's token was replaced");
    Ok(Json(RotateOwnerTokenResponse {
        token: token.expose_secret().to_owned(),
        message: "The old token no longer works. The new one is in the file owner.token of the data folder."
            .to_owned(),
    }))
}
