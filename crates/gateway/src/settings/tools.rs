//! Settings for built-in tools and the owner's own tools.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Built-in tools and the owner's own tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolSettings {
    /// Offers the built-in tools.
    pub builtin: bool,
    /// Files with definitions of own tools, in addition to the data folder's `tools`.
    pub own: Vec<PathBuf>,
    /// Time zone of `get_current_time` if neither the client nor the agent has one, as `Europe/Berlin`. Default: the time
    /// zone of the gateway's computer.
    pub time_zone: Option<String>,
    /// Folders that `read_file`, `write_file` and `list_files` can access.
    pub files: FileToolSettings,
    /// Hosts that `http_request` and own HTTP tools can access.
    pub http_request: HttpToolSettings,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            builtin: true,
            own: Vec::new(),
            time_zone: None,
            files: FileToolSettings::default(),
            http_request: HttpToolSettings::default(),
        }
    }
}

/// Access of the file tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileToolSettings {
    /// Agents whose file tools use a folder of their own; `"*"` means all agents. The other agents, and calls outside an
    /// agent, share one folder.
    pub agent_folders: Vec<String>,
    /// Folders that the file tools can access in addition to their own, each as `{ name = "docs", path =
    /// "/home/ada/docs", write = false }`.
    pub folders: Vec<FolderSetting>,
}

/// A folder that the file tools can access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderSetting {
    /// The name it has in paths: `letters/may.txt` (example path of a tool, no file of the checkout; renaming it silences the check).
    pub name: String,
    /// Path of the folder.
    pub path: PathBuf,
    /// Allows the tools to write files in it.
    #[serde(default)]
    pub write: bool,
}

/// Access of the HTTP tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpToolSettings {
    /// Hosts (`printer.local`, `*.home.arpa`, `localhost:8080`) and networks (`192.168.1.0/24`) that the
    /// tools can access although they are not on the public internet.
    pub allow: Vec<String>,
    /// Maximum size of a response body, in bytes.
    pub body_bytes: usize,
}

impl Default for HttpToolSettings {
    fn default() -> Self {
        Self { allow: Vec::new(), body_bytes: 1 << 20 }
    }
}
