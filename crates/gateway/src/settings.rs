//! The gateway's settings: one value, with a default for each, checked as a whole before anything starts.
//!
//! Nothing here reads files or the environment: whoever starts the gateway lays its sources over one another
//! (file, environment, flags) and deserialises the result. The words on each field are what
//! [`describe`] gives and what `config show` prints.

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
use toolway_tools::hooks::HookSettings;
use toolway_tools::secrets::SecretLocation;

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
    /// Address and port to listen on. The port may be left out (7717) or be 0 (any free one).
    pub listen: ListenAddress,
    /// The address under which others reach this gateway, as `https://tools.example.org`, where it differs
    /// from the one it listens on.
    pub public_url: Option<String>,
    /// Host names under which the gateway may be reached besides loopback, its own addresses and the host of
    /// `public_url`; each as `name` or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Web pages that may use this gateway from a browser, each as `https://app.example.org`.
    pub allowed_origins: Vec<String>,
    /// Addresses or networks (`10.0.0.0/8`) of reverse proxies whose X-Forwarded-For, -Proto and -Host are
    /// believed.
    pub trusted_proxies: Vec<String>,
    /// Threads that serve connections; half as many as the machine has processors where it is not set.
    pub workers: Option<usize>,
    /// Encryption.
    pub tls: TlsSettings,
    /// This computer as a device of its own gateway.
    pub local_device: LocalDeviceSettings,
    /// The log.
    pub log: LogSettings,
    /// How much of each thing is allowed.
    pub limits: LimitSettings,
    /// How long things may take.
    pub timeouts: TimeoutSettings,
    /// The record of calls.
    pub calls: CallSettings,
    /// Conversations with models.
    pub chat: ChatSettings,
    /// What models may cost.
    pub budget: BudgetSettings,
    /// Who may use which tool, and how much.
    pub policy: PolicySettings,
    /// Which calls wait for a person's approval.
    pub approval: ApprovalSettings,
    /// What tools may do with what they need a permission for.
    pub permissions: PermissionSettings,
    /// What sources may register.
    pub registration: RegistrationSettings,
    /// The tools that come with Toolway, and those that the owner defines.
    pub tools: ToolSettings,
    /// MCP: the servers that are sources of tools, and the bounds of what is shown to MCP clients.
    pub mcp: McpSettings,
    /// Programs and addresses that are asked before and after calls, in this order.
    pub hooks: Vec<HookSettings>,
    /// Where the secrets are that the owner's tools name: `NAME = { env = "VARIABLE" }` or `{ file = "PATH" }`,
    /// besides those in the data folder's `secrets`.
    pub secrets: BTreeMap<String, SecretLocation>,
    /// Whether what makes this computer run a program (command tools, hooks, stdio servers) may be set over
    /// the network. Off: only through files.
    pub allow_remote_commands: bool,
}

impl Settings {
    /// Whether a setting counts as soon as the file is read again, and not only from the next start on.
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
