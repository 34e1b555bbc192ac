//! The gateway's settings. Each has a default, and all are validated together before the gateway starts.
//!
//! This module reads no files and no environment: the caller merges its sources (file, environment, flags)
//! and deserializes the result. The doc comments of the fields are the descriptions in [`describe`] and
//! `config show`.

mod chat;
mod description;
mod issuer;
mod limits;
mod listen;
mod mcp;
mod parts;
mod rules;
mod seconds;
mod timeouts;
mod tls;
mod tools;
mod validation;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::policy::definition::{ApprovalSettings, PermissionSettings, PolicySettings};
use toolway_secrets::NamedSecretLocation;
use toolway_tools::hooks::HookSettings;

pub use chat::{BudgetSettings, ChatSettings, OnExceeded};
pub use description::{SettingInfo, describe, schema};
pub use issuer::IssuerSettings;
pub use limits::LimitSettings;
pub use listen::{DEFAULT_PORT, ListenAddress};
pub use mcp::McpSettings;
pub use parts::{CallSettings, Durability, LocalDeviceSettings, LogFormat, LogSettings};
pub use rules::{RegistrationRule, RegistrationSettings};
pub use seconds::Seconds;
pub use timeouts::TimeoutSettings;
pub use tls::{TlsMode, TlsSettings};
pub use tools::{FileToolSettings, FolderSetting, HttpToolSettings, ToolSettings};
pub use validation::SettingError;

/// All settings of a gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Address and port to listen on. The port is 7717 if omitted; 0 means any free port.
    pub listen: ListenAddress,
    /// Public URL of this gateway, for example `https://tools.example.org`, if it differs from the listen
    /// address.
    pub public_url: Option<String>,
    /// Additional host names of this gateway, each as `name` or `name:port`. Loopback names, the computer's
    /// own addresses and the host of `public_url` are always allowed.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may use this gateway from a browser, for example `https://app.example.org`.
    pub allowed_origins: Vec<String>,
    /// Addresses or networks (`10.0.0.0/8`) of trusted reverse proxies. The gateway uses their
    /// X-Forwarded-For, -Proto and -Host headers.
    pub trusted_proxies: Vec<String>,
    /// Number of threads that serve connections. Default: half of the processors.
    pub workers: Option<usize>,
    /// TLS encryption.
    pub tls: TlsSettings,
    /// This computer as a device of its own gateway.
    pub local_device: LocalDeviceSettings,
    /// The log.
    pub log: LogSettings,
    /// Limits on sizes and numbers.
    pub limits: LimitSettings,
    /// Timeouts.
    pub timeouts: TimeoutSettings,
    /// Call records.
    pub calls: CallSettings,
    /// Conversations with models.
    pub chat: ChatSettings,
    /// Budgets for model costs.
    pub budget: BudgetSettings,
    /// Access to tools, and quotas.
    pub policy: PolicySettings,
    /// Calls that wait for a person's approval.
    pub approval: ApprovalSettings,
    /// Permissions of tools.
    pub permissions: PermissionSettings,
    /// Tools that sources may register.
    pub registration: RegistrationSettings,
    /// Built-in tools and the owner's own tools.
    pub tools: ToolSettings,
    /// MCP servers as sources of tools, and limits for MCP clients.
    pub mcp: McpSettings,
    /// Programs and URLs that run before and after calls, in this order.
    pub hooks: Vec<HookSettings>,
    /// Locations of the secrets that the owner's tools use, in addition to the data folder's `secrets`: `NAME
    /// = { env = "VARIABLE" }` or `{ file = "PATH" }`.
    pub secrets: BTreeMap<String, NamedSecretLocation>,
    /// Allows changes over the network that make this computer run a program (command tools, hooks, stdio
    /// servers). If disabled, such changes are possible only in files.
    pub allow_remote_commands: bool,
}

impl Settings {
    /// Returns true if a change of the setting takes effect when the file is read again, false if it needs a
    /// restart.
    #[must_use]
    pub fn applies_immediately(key: &str) -> bool {
        const IMMEDIATE_KEYS: &[&str] = &[
            "policy",
            "approval",
            "permissions",
            "registration",
            "tools",
            "hooks",
            "secrets",
            "timeouts.tools",
            "timeouts.tool_s",
            "timeouts.max_tool_s",
            "timeouts.approval_s",
            "limits.calls_in_flight",
            "limits.output_bytes",
            "limits.model_result_bytes",
            "limits.parallel_calls_per_principal",
            "calls.redact",
            "chat",
            "budget",
            "mcp.servers",
        ];
        IMMEDIATE_KEYS
            .iter()
            .any(|it| key.strip_prefix(it).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }
}

#[cfg(test)]
mod tests;
