//! The tools that come with Toolway, ids `builtin/…`. Names, parameters, defaults and limits of
//! `get_current_time`, `read_file` and `write_file` are the specification's; what they have beyond it is
//! optional. `list_files` and `find_tools` are ours.
//!
//! Nothing here asks the environment: the clock, the computer's zone, the folders, the network's guard and what
//! there is to find are handed in with [`BuiltinSettings`].

pub mod files;
pub mod find;
pub mod http_request;
mod numbers;
pub mod time;
mod typed;

use std::sync::Arc;

use toolway_core::{BadSpec, Tool};
use toolway_types::Clock;

use crate::naming::check_own_names;
use crate::web::GuardedClient;
use files::FileAccess;
use find::Catalogue;
use time::Zones;

pub(crate) use typed::typed;

/// What the built-in tools are given.
pub struct BuiltinSettings {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The computer's own zone, in which the time is told where a call names none, and which zones there are.
    pub zones: Zones,
    /// Which files may be read and written.
    pub files: Arc<FileAccess>,
    /// Which tools there are.
    pub catalogue: Arc<dyn Catalogue>,
    /// How to reach the network.
    pub http: Arc<GuardedClient>,
}

impl std::fmt::Debug for BuiltinSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltinSettings").field("zones", &self.zones).finish_non_exhaustive()
    }
}

/// The names of all built-in tools.
pub const NAMES: &[&str] =
    &["get_current_time", "read_file", "write_file", "list_files", "http_request", "find_tools"];

/// All built-in tools.
///
/// # Errors
/// [`BadSpec`] where one of them is not fit to be offered, or two have one name.
pub fn tools(settings: BuiltinSettings) -> Result<Vec<Arc<dyn Tool>>, BadSpec> {
    let BuiltinSettings { clock, zones, files, catalogue, http } = settings;
    let tools = vec![
        time::tool(clock, zones)?,
        files::read_tool(files.clone())?,
        files::write_tool(files.clone())?,
        files::list_tool(files)?,
        find::tool(catalogue)?,
        http_request::http_request(http)?,
    ];
    check_own_names(tools.iter().map(|tool| tool.spec().name().as_str()))
        .map_err(|error| BadSpec::Form(error.to_string()))?;
    Ok(tools)
}

#[cfg(test)]
mod tests;
