//! What a device says of the apps whose tools it bridges, as REST shows it.

use serde::Serialize;
use toolway_wire::client_message::app_providers::{
    AppProvider, AppProviderInfo, AppProviderNote, AppProviderScope,
};
use utoipa::ToSchema;

use crate::sources::device_source::AppProviderReport;

/// What a device last said of its apps.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AppProviderReportView {
    /// When it said so, in milliseconds since the Unix epoch.
    as_of_ms: i64,
    /// Every app that offers tools there, those that were refused too.
    providers: Vec<AppProviderView>,
}

/// An app that offers tools through a device.
#[derive(Debug, Serialize, ToSchema)]
struct AppProviderView {
    /// The authority of its content provider.
    authority: String,
    /// The package that declares it.
    package: String,
    /// Its name for people.
    label: String,
    /// What the names of its tools start with on the device; absent where it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    prefix: Option<String>,
    /// What the device asks it in: `cetp`, `mcp-a`, `mcp-b`, `mcp-c`, or another word of the device's.
    dialect: String,
    /// The version that it declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    version: Option<i64>,
    /// `ready`, `authorization_required` (somebody has to allow it in its app), `unavailable` (it did not answer) or
    /// `refused` (it is not asked at all).
    state: &'static str,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    /// What to do about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<String>,
    /// What it says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    info: Option<AppProviderInfoView>,
    /// The names of its tools on the device.
    tools: Vec<String>,
    /// What was refused of it, or is odd about it.
    notes: Vec<AppProviderNoteView>,
}

/// What an app says of itself.
#[derive(Debug, Serialize, ToSchema)]
struct AppProviderInfoView {
    /// Its name.
    name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    /// To what it can give access.
    scopes: Vec<AppProviderScopeView>,
}

/// Something to which an app can give access.
#[derive(Debug, Serialize, ToSchema)]
struct AppProviderScopeView {
    /// Its name.
    name: String,
    /// What it covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
}

/// Something that the device noticed about an app, or about one of its tools.
#[derive(Debug, Serialize, ToSchema)]
struct AppProviderNoteView {
    /// `refused` (it was left out) or `flagged` (it stands, but the owner should know).
    kind: &'static str,
    /// The tool that is meant, by the app's own name for it; absent where it is the app itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tool: Option<String>,
    /// What was noticed.
    reason: String,
}

impl From<&AppProviderReport> for AppProviderReportView {
    fn from(report: &AppProviderReport) -> Self {
        let providers = report.providers.iter().cloned().map(AppProviderView::from).collect();
        Self { as_of_ms: report.as_of_ms, providers }
    }
}

impl From<AppProvider> for AppProviderView {
    fn from(provider: AppProvider) -> Self {
        let AppProvider {
            authority,
            package,
            label,
            prefix,
            dialect,
            version,
            state,
            reason,
            hint,
            info,
            tools,
            notes,
        } = provider;
        Self {
            authority,
            package,
            label,
            prefix,
            dialect,
            version,
            state: state.as_str(),
            reason,
            hint,
            info: info.map(AppProviderInfoView::from),
            tools,
            notes: notes.into_iter().map(AppProviderNoteView::from).collect(),
        }
    }
}

impl From<AppProviderInfo> for AppProviderInfoView {
    fn from(AppProviderInfo { name, description, scopes }: AppProviderInfo) -> Self {
        Self { name, description, scopes: scopes.into_iter().map(AppProviderScopeView::from).collect() }
    }
}

impl From<AppProviderScope> for AppProviderScopeView {
    fn from(AppProviderScope { name, description }: AppProviderScope) -> Self {
        Self { name, description }
    }
}

impl From<AppProviderNote> for AppProviderNoteView {
    fn from(AppProviderNote { kind, tool, reason }: AppProviderNote) -> Self {
        Self { kind: kind.as_str(), tool, reason }
    }
}
