//! The tools that come with Toolway, and those that the owner defines.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tools that come with Toolway, and those that the owner defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolSettings {
    /// Whether the tools that come with Toolway are offered.
    pub builtin: bool,
    /// Files that define tools of the owner's own, besides those in the data folder's `tools`.
    pub own: Vec<PathBuf>,
    /// What `read_file`, `write_file` and `list_files` reach.
    pub files: FileToolSettings,
    /// What `http_request`, and the owner's own HTTP tools, reach.
    pub http_request: HttpToolSettings,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            builtin: true,
            own: Vec::new(),
            files: FileToolSettings::default(),
            http_request: HttpToolSettings::default(),
        }
    }
}

/// What the file tools reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileToolSettings {
    /// Folders that the file tools reach besides their own, each as `{ name = "docs", path = "/home/ada/docs",
    /// write = false }`.
    pub folders: Vec<FolderSetting>,
}

/// A folder that the file tools reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderSetting {
    /// The name it has in paths: `letters/may.txt` (example path of a tool, no file of the checkout; renaming it silences the check).
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Whether files in it may be written.
    #[serde(default)]
    pub write: bool,
}

/// What the HTTP tools reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpToolSettings {
    /// Hosts (`printer.local`, `*.home.arpa`, `localhost:8080`) and networks (`192.168.1.0/24`) that may be
    /// reached though they are not on the public internet.
    pub allow: Vec<String>,
    /// Most bytes of an answer's body that are read.
    pub body_bytes: usize,
}

impl Default for HttpToolSettings {
    fn default() -> Self {
        Self { allow: Vec::new(), body_bytes: 1 << 20 }
    }
}
