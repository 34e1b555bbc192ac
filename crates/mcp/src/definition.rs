//! The definition of one MCP server. `mcp.toml`, the settings and (without commands) REST use the same form.

mod definitions;
pub mod edit;
mod file;
pub mod import;
pub mod jsonc;
mod oauth;
mod problem;
mod redaction;
pub mod store;
mod validation;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use definitions::{
    ApplyServersFn, DefinedServer, DefinitionLocation, ServerDefinitions, ServerDefinitionsDeps,
    SettingsServers,
};
pub use file::{ServersFile, ServersFileEntry};
pub use oauth::{IdentityProviderDefinition, OauthDefinition, OauthGrantType, SubjectTokenType};
pub use problem::DefinitionError;
pub use redaction::{HIDDEN, is_secret_name};
pub use validation::check_name;

/// Prefix of a value that refers to a secret by name.
pub const SECRET_PREFIX: &str = "secret:";

/// One MCP server. It has either a `command` or a `url`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerDefinition {
    /// The program to run, looked up like any command of the operating system. It speaks MCP on its standard input
    /// and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The environment variables of the program, besides the few that every program needs. `secret:NAME` refers to
    /// the secret of that name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The working directory of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The address of the server, `http://…` or `https://…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The transport at the address.
    #[serde(skip_serializing_if = "TransportMode::is_auto")]
    pub transport: TransportMode,
    /// The era of MCP in which the gateway talks to the server.
    #[serde(skip_serializing_if = "EraMode::is_auto")]
    pub era: EraMode,
    /// Headers of every request. Values have the same form as in `env`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// True if the server is not connected and its tools are not offered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// True if the server may use the model of the calling client (`sampling/createMessage`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sampling: bool,
    /// True if the server may ask for the working folders of the calling client (`roots/list`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roots: bool,
    /// The OAuth settings, for servers that require OAuth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthDefinition>,
}

/// The transport of a server at an address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportMode {
    /// Detected: first streamable HTTP, then HTTP with SSE.
    #[default]
    Auto,
    /// Streamable HTTP (2025-03-26 and later).
    StreamableHttp,
    /// HTTP with SSE (2024-11-05).
    Sse,
}

impl TransportMode {
    /// Returns true for [`TransportMode::Auto`].
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The era of MCP in which the gateway talks to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EraMode {
    /// Detected: 2026-07-28 if the server has it, otherwise an older version. A server of both eras gets a second
    /// connection while clients of the older one use it.
    #[default]
    Auto,
    /// 2025-11-25 or older, over one connection for all clients.
    #[serde(rename = "2025")]
    Older,
    /// 2026-07-28, over one connection for all clients.
    #[serde(rename = "2026")]
    Newer,
}

impl EraMode {
    /// Returns true for [`EraMode::Auto`].
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}
