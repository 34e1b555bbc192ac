//! `GET /health`: says that the gateway lives, and nothing else. Open.

use std::sync::Arc;

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::App;

/// That it lives.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(health))
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
