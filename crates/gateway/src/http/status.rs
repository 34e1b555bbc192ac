//! `GET /api/status`: the state of the gateway. Only its owner sees all of it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use toolway_api::gateway::{GatewayStatus, ModelProviderStatus};
use toolway_api::version_1::{OwnerStatus, StatusView};

use super::resources::{ApiRoutes, resources};
use super::version_1;
use crate::http::AuthenticatedCaller;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(status)
}

/// Show the state of the gateway
///
/// Other callers than the owner see only what apps of version 1 read.
#[utoipa::path(
    get,
    path = "/api/status",
    tag = "gateway",
    operation_id = "get_status",
    responses((status = 200, description = "The state.", body = StatusView))
)]
async fn status(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
) -> Json<StatusView> {
    let companion = version_1::companion_status(&app, &token);
    if !token.role().is_owner() {
        return Json(StatusView::Companion(companion));
    }
    let readings = app.metrics_snapshot();
    let models = app.chat.models.list().await.into_iter().map(|model| ModelProviderStatus {
        name: model.name,
        kind: model.kind.to_string(),
        model: model.model,
        key_present: model.key.map(|key| key.present),
    });
    let status = GatewayStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol_version: toolway_wire::VERSION,
        url: app.address.own_url(),
        key: app.address.pin.map(|pin| pin.to_string()),
        uptime_s: readings.uptime_s,
        connections: readings.connections,
        sources: readings.sources,
        tools: readings.tools,
        calls_in_flight: readings.calls_in_flight,
        calls_abandoned: readings.calls_abandoned,
        memory_bytes: readings.memory_used,
        memory_limit_bytes: readings.memory_limit,
        approvals_pending: app.engine.questions().len(),
        pairing_codes: app.access.pairing.pending_count(),
        models: models.collect(),
        agents: app.chat.agents.list().into_iter().map(|view| view.definition.name.clone()).collect(),
        warnings: app.warnings(),
    };
    Json(StatusView::Owner(Box::new(OwnerStatus { status, companion })))
}
