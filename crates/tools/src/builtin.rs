//! The tools that come with Toolway, ids `builtin/…`. Names, parameters, defaults and limits of
//! `get_current_time`, `read_file`, `write_file` and `http_request` are fixed (`builtin/tests.rs`); their other parameters are
//! optional. `list_files` and `find_tools` are ours.
//!
//! Nothing here asks the environment: the clock, the computer's zone, the folders, the network's guard and the
//! catalogue of tools come in with [`BuiltinDeps`].
//!
//! To add a tool `x`:
//!
//! 1. Write `builtin/x.rs`: an argument struct that derives `Deserialize` and `JsonSchema` (its doc comments are what
//!    a model reads), and a function `tool` that returns a [`ToolBuilder`](toolway_core::ToolBuilder) expression.
//! 2. Here: declare the module, and add it to [`TOOL_NAMES`] and to [`tools`].
//! 3. Accept the snapshot of its schema: `INSTA_UPDATE=always cargo test -p toolway-tools --lib builtin`.
//! 4. Add a row to `docs/tools.md`.

pub mod files;
pub mod find_tools;
pub mod http_request;
mod numbers;
pub mod time;

use std::sync::Arc;

use toolway_core::{SpecError, Tool};
use toolway_types::{Clock, ToolAnnotations};

use crate::naming::check_own_names;
use crate::web::GuardedClient;
use files::FileAccess;
use find_tools::ToolCatalogue;
use time::TimeZones;

/// What the built-in tools are given.
pub struct BuiltinDeps {
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Time zones, and the computer's own zone, the default for calls without a zone.
    pub zones: TimeZones,
    /// Folders that the file tools may read and write.
    pub files: Arc<FileAccess>,
    /// Which tools there are.
    pub catalogue: Arc<dyn ToolCatalogue>,
    /// How to reach the network.
    pub http: Arc<GuardedClient>,
}

impl std::fmt::Debug for BuiltinDeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltinDeps").field("zones", &self.zones).finish_non_exhaustive()
    }
}

/// Annotations of a tool that changes nothing and reaches nothing outside the gateway.
const READ_ONLY: ToolAnnotations = ToolAnnotations {
    title: None,
    read_only_hint: Some(true),
    destructive_hint: Some(false),
    idempotent_hint: Some(true),
    open_world_hint: Some(false),
};

/// Annotations of a tool that may change or delete something, and reaches nothing outside the gateway.
const DESTRUCTIVE: ToolAnnotations = ToolAnnotations {
    title: None,
    read_only_hint: Some(false),
    destructive_hint: Some(true),
    idempotent_hint: Some(false),
    open_world_hint: Some(false),
};

/// The names of all built-in tools.
pub const TOOL_NAMES: &[&str] =
    &["get_current_time", "read_file", "write_file", "list_files", "http_request", "find_tools"];

/// Creates all built-in tools.
///
/// # Errors
/// [`SpecError`] for an invalid tool or a duplicate name.
pub fn tools(settings: BuiltinDeps) -> Result<Vec<Arc<dyn Tool>>, SpecError> {
    let BuiltinDeps { clock, zones, files, catalogue, http } = settings;
    let tools = vec![
        time::tool(clock, zones)?,
        files::read_tool(files.clone())?,
        files::write_tool(files.clone())?,
        files::list_tool(files)?,
        find_tools::tool(catalogue)?,
        http_request::tool(http)?,
    ];
    check_own_names(tools.iter().map(|tool| tool.spec().name().as_str()))
        .map_err(|error| SpecError::Malformed(error.to_string()))?;
    Ok(tools)
}

#[cfg(test)]
mod tests;
