//! The tools that come with Toolway, ids `builtin/…`. Names, parameters, defaults and limits of
//! `get_current_time`, `read_file`, `write_file` and `http_request` are fixed (`builtin/tests.rs`); their other parameters are
//! optional. `list_files` and `find_tools` are ours.
//!
//! Nothing here asks the environment: the clock, the computer's zone, the folders, the network's guard and what
//! there is to find are handed in with [`BuiltinSettings`].

pub mod files;
pub mod find_tools;
pub mod http_request;
mod numbers;
pub mod time;
mod typed_tool;

use std::sync::Arc;

use toolway_core::{SpecError, Tool};
use toolway_types::Clock;

use crate::naming::check_own_names;
use crate::web::GuardedClient;
use files::FileAccess;
use find_tools::ToolCatalogue;
use time::TimeZones;

pub(crate) use typed_tool::typed_tool;

/// What the built-in tools are given.
pub struct BuiltinDeps {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The computer's own zone, in which the time is told where a call names none, and which zones there are.
    pub zones: TimeZones,
    /// Which files may be read and written.
    pub files: Arc<FileAccess>,
    /// Which tools there are.
    pub catalogue: Arc<dyn ToolCatalogue>,
    /// How to reach the network.
    pub http: Arc<GuardedClient>,
}

impl std::fmt::Debug for BuiltinDeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltinSettings").field("zones", &self.zones).finish_non_exhaustive()
    }
}

/// The names of all built-in tools.
pub const TOOL_NAMES: &[&str] =
    &["get_current_time", "read_file", "write_file", "list_files", "http_request", "find_tools"];

/// All built-in tools.
///
/// # Errors
/// [`BadSpec`] where one of them is not fit to be offered, or two have one name.
pub fn tools(settings: BuiltinDeps) -> Result<Vec<Arc<dyn Tool>>, SpecError> {
    let BuiltinDeps { clock, zones, files, catalogue, http } = settings;
    let tools = vec![
        time::tool(clock, zones)?,
        files::read_tool(files.clone())?,
        files::write_tool(files.clone())?,
        files::list_tool(files)?,
        find_tools::tool(catalogue)?,
        http_request::http_request(http)?,
    ];
    check_own_names(tools.iter().map(|tool| tool.spec().name().as_str()))
        .map_err(|error| SpecError::Malformed(error.to_string()))?;
    Ok(tools)
}

#[cfg(test)]
mod tests;
