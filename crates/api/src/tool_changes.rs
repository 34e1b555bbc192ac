//! `/api/tools/{name}/changes` and `/api/tools/{name}/accept`.

use serde::{Deserialize, Serialize};

/// The difference between a tool's accepted and its current version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolChange {
    /// The tool's id.
    pub tool_id: String,
    /// True if the two versions differ.
    pub changed: bool,
    /// Time of the change, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub changed_ms: Option<i64>,
    /// SHA-256 of the current spec, in hex. Send it to accept exactly this version.
    pub fingerprint: String,
    /// The accepted spec as JSON. Missing if it is no longer stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub accepted: Option<String>,
    /// The current spec as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub current: Option<String>,
    /// The difference in the format of `diff -u`. Empty if there is none.
    pub diff: String,
}

/// Body of `POST /api/tools/{name}/accept`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AcceptToolChangeRequest {
    /// The fingerprint of the version to accept; default: the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{64}$"))]
    pub fingerprint: Option<String>,
}
