//! MCP: the servers that are sources of tools, and the bounds of what is shown to MCP clients.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_mcp::definition::ServerDefinition;

use super::{IssuerSettings, Seconds};

/// MCP: the servers that are sources of tools, and the bounds of what is shown to MCP clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpSettings {
    /// MCP servers whose tools are offered, besides those of `mcp.toml` in the data folder; each a table
    /// `[mcp.servers.NAME]` with `command` or `url` (docs/mcp-servers.md has the fields).
    pub servers: BTreeMap<String, ServerDefinition>,
    /// Most MCP sessions of clients at once.
    pub max_sessions: usize,
    /// After so long without a request an MCP session ends, in seconds.
    pub session_idle_s: Seconds,
    /// How long an MCP server may take to list its tools, in seconds.
    pub list_timeout_s: Seconds,
    /// An authorization server whose access tokens let MCP clients in (docs/mcp-sign-in.md).
    pub issuer: Option<IssuerSettings>,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            servers: BTreeMap::new(),
            max_sessions: 1000,
            session_idle_s: Seconds::new(1800.0),
            list_timeout_s: Seconds::new(15.0),
            issuer: None,
        }
    }
}
