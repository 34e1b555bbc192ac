//! `/health` and `/api/status`.

use serde::{Deserialize, Serialize};

/// Response of `GET /health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HealthResponse {
    /// Always `ok`.
    #[cfg_attr(feature = "openapi", schema(example = "ok"))]
    pub status: String,
}

/// The state of the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GatewayStatus {
    /// The gateway's version.
    pub version: String,
    /// The newest supported version of the WebSocket protocol.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub protocol_version: u32,
    /// The gateway's address.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub url: String,
    /// The key of the gateway's own certificate: `sha256:` and 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Open connections.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub connections: usize,
    /// Sources with callable tools.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub sources: usize,
    /// Callable tools.
    pub tools: usize,
    /// Running calls.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub calls_in_flight: usize,
    /// Cancelled runs that still execute, because their code blocks past the deadline.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub calls_abandoned: u64,
    /// Memory of unfinished frames, bodies and queues of all peers, in bytes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub memory_bytes: u64,
    /// Maximum of `memory_bytes`: the setting `limits.memory_bytes`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub memory_limit_bytes: u64,
    /// Questions that wait for an answer.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub approvals_pending: usize,
    /// Pairing codes that nobody has used yet.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub pairing_codes: usize,
    /// Model providers, in the order of `models.toml`. Agents without a model use the first one.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub models: Vec<ModelProviderStatus>,
    /// Names of the agents.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub agents: Vec<String>,
    /// Warnings for the owner.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub warnings: Vec<GatewayWarning>,
}

/// A model provider in the gateway's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelProviderStatus {
    /// The owner's name for it.
    pub name: String,
    /// The API that it supports.
    pub kind: String,
    /// The default model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub model: Option<String>,
    /// True if the key exists. Missing if the provider needs no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key_present: Option<bool>,
}

/// A warning for the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GatewayWarning {
    /// The part of the gateway: the name of a setting, `agents`, `calls`, `files`, `tools`, `tls` or `store`.
    pub subject: String,
    /// The problem.
    pub message: String,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hint: Option<String>,
}
