//! `GET /health`: liveness check without a token.

use axum::Json;
use toolway_api::gateway::HealthResponse;

use super::resources::{ApiRoutes, resources};

pub(super) fn routes() -> ApiRoutes {
    resources!(health)
}

/// Check whether the gateway is alive
#[utoipa::path(
    get,
    path = "/health",
    tag = "gateway",
    operation_id = "get_health",
    security(()),
    responses((status = 200, description = "It is alive.", body = HealthResponse))
)]
async fn health() -> Json<HealthResponse> {
    Json(HealthResponse { status: "ok".to_owned() })
}
