//! `POST /api/reload`: reloads external changes.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use toolway_api::ErrorResponse;

use super::ApiError;
use super::resources::{ApiRoutes, resources};
use crate::http::AuthenticatedOwner;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(reload)
}

/// Reload external changes
///
/// The certificate, your own tools, models, prices and agents; after a restore of the database also tokens, sources,
/// rules, grants and accepted tools.
#[utoipa::path(
    post,
    path = "/api/reload",
    tag = "gateway",
    operation_id = "reload",
    responses(
        (status = 204, description = "Reloaded."),
        (status = 503, description = "A part is invalid; its previous version stays active.", body = ErrorResponse),
    )
)]
async fn reload(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Result<StatusCode, ApiError> {
    match app.reload().await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "reload_failed", error.to_string())
            .with_hint("correct it and reload again; the previous version stays active")),
    }
}
