//! `POST /api/reload`: the owner has changed something outside the gateway.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;

use super::ApiError;
use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use crate::access::AuthenticatedOwner;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(reload)
}

/// Read again what changed outside
///
/// The owner's certificate and definitions of tools; tokens, sources, rules, grants and what is known of changed
/// tools after the database was restored.
#[utoipa::path(
    post,
    path = "/api/reload",
    tag = "gateway",
    responses(
        (status = 204, description = "It was read again."),
        (status = 503, description = "It can't be used; what stood before stands.", body = ErrorResponse),
    )
)]
async fn reload(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Result<StatusCode, ApiError> {
    match app.reload().await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_reloaded", error.to_string())
            .with_hint("put right what it names and ask again; what stood before stands")),
    }
}
