//! `/api/devices`: who offers tools, connected or not.

mod app_providers;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_types::{Role, ToolId, ToolName};
use utoipa::ToSchema;

use app_providers::AppProviderReportView;

use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::token_input::read_text;
use super::{ApiError, JsonBody, PathParams};
use crate::access::{AuthenticatedOwner, LOCAL_DEVICE_ID};
use crate::sources::device_source::{DevicePresence, DeviceSource};
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, rename, remove)
}

/// A device.
#[derive(Debug, Serialize, ToSchema)]
struct DeviceSummary {
    /// Its source's name, which never changes: the first part of its tools' names.
    id: String,
    /// The name for people.
    name: String,
    /// `online`, `reconnecting` (gone for a moment; its tools and calls wait for it) or `offline`.
    status: &'static str,
    /// Operating system and version, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    platform: Option<String>,
    /// Its program's version, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    app_version: Option<String>,
    /// The version of the protocol that it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    version: Option<u32>,
    /// How many connections it has.
    connections: usize,
    /// How many tools it offers now.
    tools: usize,
    /// How many apps it bridges, as it says, those that it refused included.
    app_providers: usize,
    /// How many calls it is running.
    calls_in_flight: usize,
    /// The id of the token it belongs to.
    token: String,
    /// When it first appeared, in milliseconds since the Unix epoch.
    created_ms: i64,
    /// Since when it has been connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    connected_since_ms: Option<i64>,
    /// When it was last heard of.
    last_seen_ms: i64,
    /// When it last sent anything on a connection it has now, answers to pings included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_heartbeat_ms: Option<i64>,
    /// What the owner should know of it.
    warnings: Vec<String>,
}

/// The devices.
#[derive(Debug, Serialize, ToSchema)]
struct DeviceList {
    /// By name.
    devices: Vec<DeviceSummary>,
}

impl DeviceSummary {
    fn of(app: &AppState, source: &DeviceSource) -> Self {
        let (state, seats, presence) = (source.state(), source.sessions(), source.presence());
        let attached: Vec<_> = seats.iter().filter(|seat| seat.is_attached()).collect();
        let snapshot = app.registry.snapshot();
        let tools = snapshot.source(source.slug()).map_or(0, |view| view.tools().len());
        let last_heartbeat_ms = attached.iter().map(|seat| seat.last_heard_ms()).max();
        let mut warnings = Vec::new();
        if presence == DevicePresence::Online && tools == 0 {
            warnings.push("It is connected, but offers no tools.".to_owned());
        }
        Self {
            id: source.slug().to_string(),
            name: state.label,
            status: presence.as_str(),
            platform: state.platform,
            app_version: state.app_version,
            version: seats.iter().map(|seat| seat.version()).max(),
            connections: attached.len(),
            tools,
            app_providers: source.app_providers().map_or(0, |report| report.providers.len()),
            calls_in_flight: seats.iter().map(|seat| seat.calls_in_flight()).sum(),
            token: source.token().to_string(),
            created_ms: state.created_ms,
            connected_since_ms: attached.iter().map(|seat| seat.attached_since_ms()).min(),
            last_seen_ms: last_heartbeat_ms.unwrap_or_default().max(state.last_seen_ms),
            last_heartbeat_ms,
            warnings,
        }
    }
}

/// List devices
#[utoipa::path(
    get,
    path = "/api/devices",
    tag = "devices",
    responses((status = 200, description = "The devices, connected or not.", body = DeviceList))
)]
async fn list(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<DeviceList> {
    Json(DeviceList {
        devices: app.sources.all().iter().map(|source| DeviceSummary::of(&app, source)).collect(),
    })
}

/// A device with what it offers.
#[derive(Debug, Serialize, ToSchema)]
struct DeviceDetail {
    #[serde(flatten)]
    device: DeviceSummary,
    /// The full names of the tools that it offers now.
    tool_names: Vec<String>,
    /// What it last said of the apps whose tools it bridges; absent where it never did since the gateway started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    app_provider_report: Option<AppProviderReportView>,
}

impl DeviceDetail {
    fn of(app: &AppState, source: &DeviceSource) -> Self {
        let snapshot = app.registry.snapshot();
        let tools = snapshot.source(source.slug()).map(|view| view.tools().iter()).into_iter().flatten();
        Self {
            device: DeviceSummary::of(app, source),
            tool_names: tools.map(|tool| full_name(source, tool.spec().name())).collect(),
            app_provider_report: source.app_providers().as_deref().map(AppProviderReportView::from),
        }
    }
}

fn full_name(source: &DeviceSource, tool: &ToolName) -> String {
    ToolId::new(source.slug().clone(), tool.clone()).full_name().to_string()
}

/// Show a device
///
/// With the names of its tools and, where it bridges the tools of apps, what became of each app. Descriptions,
/// reasons and hints are texts of the device and of its apps.
#[utoipa::path(
    get,
    path = "/api/devices/{id}",
    tag = "devices",
    params(("id" = String, Path, description = "The device's id.")),
    responses(
        (status = 200, description = "The device.", body = DeviceDetail),
        (status = 404, description = "There is no such device.", body = ErrorResponse),
    )
)]
async fn show(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<DeviceDetail>, ApiError> {
    Ok(Json(DeviceDetail::of(&app, &*find(&app, &id)?)))
}

/// What to change about a device.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RenameDeviceRequest {
    /// The new name for people.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
}

/// Rename a device
///
/// Changes the name for people only: its tools keep their names.
#[utoipa::path(
    patch,
    path = "/api/devices/{id}",
    tag = "devices",
    params(("id" = String, Path, description = "The device's id.")),
    request_body = RenameDeviceRequest,
    responses(
        (status = 200, description = "The device as it is now.", body = DeviceSummary),
        (status = 404, description = "There is no such device.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
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
    Ok(Json(DeviceSummary::of(&app, &source)))
}

/// Remove a device
///
/// Closes its connections and takes its tools away. A token that was only for it is revoked, so that it can't
/// come back. With a token that stays good (of several devices, or the owner's) it can, as another device of
/// another id. Its id is never given to another device.
#[utoipa::path(
    delete,
    path = "/api/devices/{id}",
    tag = "devices",
    params(("id" = String, Path, description = "The device's id.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such device.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn remove(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let source = find(&app, &id)?;
    let token = source.token().to_string();
    let only = app.sources.count_of(source.token()) == 1 && token != LOCAL_DEVICE_ID;
    let role = app.access.tokens.by_id(&token).map(|token| token.role());
    if only && matches!(role, Some(Role::Device | Role::Companion)) {
        app.access.tokens.revoke(&token).await?;
    }
    app.sources.remove(&source).await?;
    tracing::info!(source = %source.slug(), "device removed");
    Ok(StatusCode::NO_CONTENT)
}

fn find(app: &AppState, id: &str) -> Result<Arc<DeviceSource>, ApiError> {
    app.sources.get(id).ok_or_else(|| {
        ApiError::not_found("device_unknown", format!("there is no device {id:?}"))
            .with_hint("`toolway devices list` shows their ids")
    })
}
