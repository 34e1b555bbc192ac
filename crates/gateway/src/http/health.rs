//! `GET /health`: says that the gateway lives, and nothing else. Open.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::resources::{ApiRoutes, resources};

/// That it lives.
#[derive(Debug, Serialize, ToSchema)]
struct HealthResponse {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

pub(super) fn routes() -> ApiRoutes {
    resources!(health)
}

/// Whether the gateway lives
#[utoipa::path(
    get,
    path = "/health",
    tag = "gateway",
    security(()),
    responses((status = 200, description = "It lives.", body = HealthResponse))
)]
async fn health() -> Json<HealthResponse> {
    Json(HealthResponse { status: "ok" })
}
