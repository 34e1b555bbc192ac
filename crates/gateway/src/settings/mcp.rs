//! Settings for MCP servers as sources of tools, and limits for MCP clients.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_mcp::definition::ServerDefinition;

use super::{IssuerSettings, Seconds};

/// MCP servers as sources of tools, and limits for MCP clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpSettings {
    /// MCP servers in addition to those of `mcp.toml` in the data folder; each is a table
    /// `[mcp.servers.NAME]` with `command` or `url` (see docs/mcp-servers.md).
    pub servers: BTreeMap<String, ServerDefinition>,
    /// Maximum number of MCP client sessions.
    pub max_sessions: usize,
    /// Idle time after which an MCP session ends, in seconds.
    pub session_idle_s: Seconds,
    /// Timeout for listing the tools of an MCP server, in seconds.
    pub list_timeout_s: Seconds,
    /// Authorization server whose access tokens are valid for MCP clients (see docs/mcp-sign-in.md).
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
