//! `/api/devices`: devices, connected or not.

mod app_providers;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use toolway_api::ErrorResponse;
use toolway_api::devices::{DeviceDetail, DeviceList, DeviceSummary, RenameDeviceRequest};
use toolway_types::{ToolId, ToolName};

use self::app_providers::report_view;
use super::resources::{ApiRoutes, resources};
use super::token_input::read_text;
use super::{ApiError, JsonBody, PathParams};
use crate::http::AuthenticatedOwner;
use crate::sources::device_source::{DevicePresence, DeviceSource};
use crate::sources::removal::remove_device;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, rename, remove)
}

fn device_summary(app: &AppState, source: &DeviceSource) -> DeviceSummary {
    let (state, sessions, presence) = (source.state(), source.sessions(), source.presence());
    let attached: Vec<_> = sessions.iter().filter(|session| session.is_attached()).collect();
    let snapshot = app.registry.snapshot();
    let tools = snapshot.source(source.slug()).map_or(0, |view| view.tools().len());
    let last_heartbeat_ms = attached.iter().map(|session| session.last_heard_ms()).max();
    let mut warnings = Vec::new();
    if presence == DevicePresence::Online && tools == 0 {
        warnings.push("It is connected, but offers no tools.".to_owned());
    }
    DeviceSummary {
        id: source.slug().to_string(),
        name: state.label,
        status: presence.as_str().to_owned(),
        platform: state.platform,
        app_version: state.app_version,
        protocol_version: sessions.iter().map(|session| session.version()).max(),
        connections: attached.len(),
        tools,
        app_providers: source.app_providers().map_or(0, |report| report.providers.len()),
        calls_in_flight: sessions.iter().map(|session| session.calls_in_flight()).sum(),
        token_id: source.token().to_string(),
        created_ms: state.created_ms,
        connected_since_ms: attached.iter().map(|session| session.attached_since_ms()).min(),
        last_seen_ms: last_heartbeat_ms.unwrap_or_default().max(state.last_seen_ms),
        last_heartbeat_ms,
        warnings,
    }
}

fn device_detail(app: &AppState, source: &DeviceSource) -> DeviceDetail {
    let snapshot = app.registry.snapshot();
    let tools = snapshot.source(source.slug()).map(|view| view.tools().iter()).into_iter().flatten();
    DeviceDetail {
        device: device_summary(app, source),
        tool_names: tools.map(|tool| full_name(source, tool.spec().name())).collect(),
        app_provider_report: source.app_providers().as_deref().map(report_view),
    }
}

/// List devices
#[utoipa::path(
    get,
    path = "/api/devices",
    tag = "devices",
    operation_id = "list_devices",
    responses((status = 200, description = "The devices, connected or not.", body = DeviceList))
)]
async fn list(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<DeviceList> {
    Json(DeviceList {
        devices: app.sources.all().iter().map(|source| device_summary(&app, source)).collect(),
    })
}

fn full_name(source: &DeviceSource, tool: &ToolName) -> String {
    ToolId::new(source.slug().clone(), tool.clone()).full_name().to_string()
}

/// Show a device
///
/// With the names of its tools, and its report about apps with tools. The device and its apps write the descriptions,
/// reasons and hints.
#[utoipa::path(
    get,
    path = "/api/devices/{id}",
    tag = "devices",
    operation_id = "get_device",
    params(("id" = String, Path, description = "The device's id.")),
    responses(
        (status = 200, description = "The device.", body = DeviceDetail),
        (status = 404, description = "The device does not exist.", body = ErrorResponse),
    )
)]
async fn show(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<DeviceDetail>, ApiError> {
    Ok(Json(device_detail(&app, &*find(&app, &id)?)))
}

/// Rename a device
///
/// Changes only the display name. The tools keep their names.
#[utoipa::path(
    patch,
    path = "/api/devices/{id}",
    tag = "devices",
    operation_id = "rename_device",
    params(("id" = String, Path, description = "The device's id.")),
    request_body = RenameDeviceRequest,
    responses(
        (status = 200, description = "The changed device.", body = DeviceSummary),
        (status = 404, description = "The device does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn rename(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
    JsonBody(change): JsonBody<RenameDeviceRequest>,
) -> Result<Json<DeviceSummary>, ApiError> {
    let source = find(&app, &id)?;
    let name = read_text("name", change.name)?;
    app.sources.rename(&source, &name).await?;
    Ok(Json(device_summary(&app, &source)))
}

/// Remove a device
///
/// Closes its connections, removes its tools, and revokes its token if no other device uses the token. With a valid
/// token, the device can come back as a new device with a new id. No other device ever gets the old id.
#[utoipa::path(
    delete,
    path = "/api/devices/{id}",
    tag = "devices",
    operation_id = "delete_device",
    params(("id" = String, Path, description = "The device's id.")),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, description = "The device does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn remove(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let source = find(&app, &id)?;
    remove_device(&app.sources, &app.access.tokens, &source).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn find(app: &AppState, id: &str) -> Result<Arc<DeviceSource>, ApiError> {
    app.sources.get(id).ok_or_else(|| {
        ApiError::not_found("device_not_found", format!("there is no device {id:?}"))
            .with_hint("`toolway devices list` shows their ids")
    })
}
