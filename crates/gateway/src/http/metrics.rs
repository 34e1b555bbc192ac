//! `GET /metrics`: for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use super::error::internal;
use super::resources::{ApiRoutes, resources};
use crate::http::AuthenticatedOwner;
use crate::state::AppState;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) fn routes() -> ApiRoutes {
    resources!(metrics)
}

/// Counters and gauges in Prometheus' text form
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "gateway",
    operation_id = "get_metrics",
    responses((status = 200, description = "The metrics.", body = String, content_type = "application/openmetrics-text"))
)]
async fn metrics(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Response {
    match app.metrics.encode(app.metrics_snapshot()) {
        Ok(text) => ([(CONTENT_TYPE, HeaderValue::from_static(OPENMETRICS))], text).into_response(),
        Err(error) => internal(&error).into_response(),
    }
}
