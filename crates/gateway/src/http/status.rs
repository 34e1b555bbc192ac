//! `GET /api/status`: how the gateway is, for its owner.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::resources::{ApiRoutes, resources};
use crate::access::AuthenticatedOwner;
use crate::state::AppState;
use crate::warnings::GatewayWarning;

pub(super) fn routes() -> ApiRoutes {
    resources!(status)
}

/// How the gateway is.
#[derive(Debug, Serialize, ToSchema)]
struct GatewayStatus {
    /// Its version.
    version: &'static str,
    /// The newest version of the WebSocket protocol it speaks.
    protocol: u32,
    /// Where it listens.
    url: String,
    /// The key of its own certificate, `sha256:` and 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    key: Option<String>,
    /// For how many seconds it has been running.
    uptime_s: u64,
    /// Open connections.
    connections: usize,
    /// Sources whose tools can be called now.
    sources: usize,
    /// Tools that can be called now.
    tools: usize,
    /// Calls under way.
    calls_in_flight: usize,
    /// Runs that were told to stop and still run: code that blocks past its deadline.
    calls_abandoned: u64,
    /// Questions to persons that are open.
    questions_open: usize,
    /// Pairing codes that wait to be used.
    pairing_codes: usize,
    /// The model providers, in the order of `models.toml`; the first is what agents use that name none.
    models: Vec<ModelProviderStatus>,
    /// The names of the agents.
    agents: Vec<String>,
    /// What the owner should know.
    warnings: Vec<GatewayWarning>,
}

/// A model provider.
#[derive(Debug, Serialize, ToSchema)]
struct ModelProviderStatus {
    /// The owner's name for it.
    name: String,
    /// The API that it speaks.
    kind: String,
    /// The model that is asked where only its name is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// Whether its key is where it should be; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    key_present: Option<bool>,
}

/// How the gateway is
#[utoipa::path(
    get,
    path = "/api/status",
    tag = "gateway",
    responses((status = 200, description = "How it is.", body = GatewayStatus))
)]
async fn status(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<GatewayStatus> {
    let readings = app.metrics_snapshot();
    let models = app.chat.models.list().await.into_iter().map(|model| ModelProviderStatus {
        name: model.name,
        kind: model.kind.to_string(),
        model: model.model,
        key_present: model.key.map(|key| key.present),
    });
    Json(GatewayStatus {
        version: env!("CARGO_PKG_VERSION"),
        protocol: toolway_wire::VERSION,
        url: app.address.own_url(),
        key: app.address.pin.map(|pin| pin.to_string()),
        uptime_s: readings.uptime_s,
        connections: readings.connections,
        sources: readings.sources,
        tools: readings.tools,
        calls_in_flight: readings.calls_in_flight,
        calls_abandoned: readings.calls_abandoned,
        questions_open: app.engine.questions().len(),
        pairing_codes: app.access.pairing.pending_count(),
        models: models.collect(),
        agents: app.chat.agents.list().into_iter().map(|view| view.definition.name.clone()).collect(),
        warnings: app.warnings(),
    })
}
