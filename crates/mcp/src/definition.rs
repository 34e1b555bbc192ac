//! What the owner says of one MCP server: where it is, and what it may do. The same form stands in `mcp.toml`, in the
//! settings, and (but for commands) in REST.

mod definitions;
pub mod edit;
mod file;
pub mod import;
pub mod jsonc;
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
pub use problem::{DefinitionError, DefinitionFileProblem};
pub use redaction::{HIDDEN, is_secret_name};
pub use validation::check_name;

/// How a value begins that stands for a secret by its name.
pub const SECRET_PREFIX: &str = "secret:";

/// One MCP server. Either `command` or `url` says where it is.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerDefinition {
    /// The program to run, found as the operating system finds programs. It speaks MCP on its standard input and
    /// output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its environment, apart from the few variables that every program needs. A value `secret:NAME` stands for the
    /// secret of that name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Its address, `http://…` or `https://…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How it is spoken to there.
    #[serde(skip_serializing_if = "TransportMode::is_auto")]
    pub transport: TransportMode,
    /// Headers of every request. Values as in `env`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Not connected to, and none of its tools offered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Whether it may ask the model of the client that called (`sampling/createMessage`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sampling: bool,
    /// Whether it may ask for the folders that the client that called works in (`roots/list`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roots: bool,
    /// How the owner lets the gateway in there, where the server asks for OAuth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthDefinition>,
}

/// How a server at an address is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportMode {
    /// Found by trying: streamable HTTP, then HTTP with SSE.
    #[default]
    Auto,
    /// Streamable HTTP (2025-03-26 and later).
    StreamableHttp,
    /// HTTP with SSE (2024-11-05).
    Sse,
}

impl TransportMode {
    /// Whether it is found by trying.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// What is needed for OAuth where the server's own metadata does not say all of it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OauthDefinition {
    /// A client that was registered by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret, as `secret:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The authorization server that this client is known to, as its metadata names itself. A server that sends
    /// elsewhere is not followed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The https address of a client id metadata document, for authorization servers that take one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for, in the place of those that the server names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}
