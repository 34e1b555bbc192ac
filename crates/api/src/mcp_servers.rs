//! `/api/mcp/servers`: MCP servers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::origin::{DefinitionOrigin, FileProblem};

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct McpServerDetail {
    /// Its name, which is also the name of its source.
    pub name: String,
    /// Its definition, with `[hidden]` instead of possible secrets.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub definition: Map<String, Value>,
    /// The location of the definition: `file` (`mcp.toml`) or `settings`.
    pub origin: DefinitionOrigin,
    /// The state of the connection. Missing if a device already uses the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub status: Option<McpServerStatus>,
    /// The last lines of its standard error. Only for a single server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub log: Option<Vec<String>>,
}

/// The state of the connection to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct McpServerStatus {
    /// The name of its source.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub source: String,
    /// Its URL or command line, without secrets.
    pub endpoint: String,
    /// `connecting`, `connected`, `failed`, `needs_login` or `disabled`.
    pub state: String,
    /// Start of this state, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// Time of the next attempt to connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next_retry_ms: Option<i64>,
    /// The transport: `stdio`, `streamable-http` or `sse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub transport: Option<String>,
    /// The MCP version in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub protocol_version: Option<String>,
    /// The era of this version: `stateless` or `handshake`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub era: Option<String>,
    /// The server's name for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub server_name: Option<String>,
    /// The server's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub server_version: Option<String>,
    /// Number of offered tools.
    pub tools: usize,
    /// Number of resources, without templates.
    pub resources: usize,
    /// Number of prompts.
    pub prompts: usize,
    /// Tools that the gateway cannot offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<OmittedTool>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub problem: Option<McpServerProblem>,
}

/// A tool that the gateway cannot offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OmittedTool {
    /// The server's name for it.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// An error of the connection to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct McpServerProblem {
    /// The error for people. Parts of it may come from the server.
    pub message: String,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hint: Option<String>,
}

/// The MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct McpServerList {
    /// By name.
    pub servers: Vec<McpServerDetail>,
    /// Problems in `mcp.toml`. In this case, the previous version of the file stays active.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub problems: Vec<FileProblem>,
}

impl McpServerStatus {
    /// True if the gateway can use the server.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.state == "connected"
    }

    /// True if the attempt to connect is over.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state != "connecting"
    }
}
