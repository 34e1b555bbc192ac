//! `/api/devices`: devices, connected or not.

use serde::{Deserialize, Serialize};

/// A device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceSummary {
    /// The name of its source, which never changes: the first part of its tools' names.
    pub id: String,
    /// The display name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub name: String,
    /// `online`, `offline`, or `reconnecting` if the connection was lost a moment ago: its tools and calls wait.
    pub status: String,
    /// Operating system and version, as reported by the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub platform: Option<String>,
    /// Version of the device's program, as reported by the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub app_version: Option<String>,
    /// Version of the protocol in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub protocol_version: Option<u32>,
    /// Number of connections.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub connections: usize,
    /// Number of tools now.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub tools: usize,
    /// Number of bridged apps, as reported by the device, including refused ones.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub app_providers: usize,
    /// Number of running calls.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub calls_in_flight: usize,
    /// The id of its token.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub token_id: String,
    /// Time of the first connection, in milliseconds since the Unix epoch.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub created_ms: i64,
    /// Start of the current connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub connected_since_ms: Option<i64>,
    /// Time of the last message.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub last_seen_ms: i64,
    /// Time of the last message on a current connection, including answers to pings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub last_heartbeat_ms: Option<i64>,
    /// Warnings for the owner.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub warnings: Vec<String>,
}

/// The devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceList {
    /// By name.
    pub devices: Vec<DeviceSummary>,
}

/// A device with its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceDetail {
    /// The device.
    #[serde(flatten)]
    pub device: DeviceSummary,
    /// Full names of its tools now.
    pub tool_names: Vec<String>,
    /// Its last report about bridged apps. Missing if there was none since the gateway started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub app_provider_report: Option<AppProviderReportView>,
}

/// Body of `PATCH /api/devices/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RenameDeviceRequest {
    /// The new display name.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 128))]
    pub name: String,
}

/// A device's report about its apps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppProviderReportView {
    /// Time of the report, in milliseconds since the Unix epoch.
    pub reported_ms: i64,
    /// All apps with tools, including refused ones.
    pub providers: Vec<AppProviderView>,
}

/// An app that offers tools through a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppProviderView {
    /// The authority of its content provider.
    pub authority: String,
    /// Its package.
    pub package: String,
    /// Its display name.
    pub label: String,
    /// The prefix of its tools' names on the device. Missing if the app was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub prefix: Option<String>,
    /// The dialect: `cetp`, `mcp-a`, `mcp-b`, `mcp-c`, or another one that the device reports.
    pub dialect: String,
    /// The version that the app declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub version: Option<i64>,
    /// `ready`, `authorization_required` (somebody must allow access in the app), `unavailable` (no answer) or
    /// `refused` (the device does not ask this app).
    pub state: String,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub reason: Option<String>,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hint: Option<String>,
    /// The app's description of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub info: Option<AppProviderInfoView>,
    /// Names of its tools on the device.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub tools: Vec<String>,
    /// Refused or unusual parts.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub notes: Vec<AppProviderNoteView>,
}

/// An app's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppProviderInfoView {
    /// The app's name.
    pub name: String,
    /// The app's purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub description: Option<String>,
    /// Scopes that the app can grant.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub scopes: Vec<AppProviderScopeView>,
}

/// A scope that an app can grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppProviderScopeView {
    /// The scope's name.
    pub name: String,
    /// Description of what the scope covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub description: Option<String>,
}

/// A note of the device about an app or one of its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppProviderNoteView {
    /// `refused` (left out) or `flagged` (included, but unusual).
    pub kind: String,
    /// The app's own name of the tool. Missing if the note is about the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub tool: Option<String>,
    /// The reason.
    pub reason: String,
}
