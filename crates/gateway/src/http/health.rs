//! `GET /health`: says that the gateway lives, and nothing else. Open.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::resources::{Resources, resources};

/// That it lives.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

pub(super) fn routes() -> Resources {
    resources!(health)
}

/// Whether the gateway lives
#[utoipa::path(
    get,
    path = "/health",
    tag = "gateway",
    security(()),
    responses((status = 200, description = "It lives.", body = Health))
)]
async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}
