//! This computer as its device shows it, and the tools that a file adds.

use std::path::Path;

use sysinfo::System;
use toolway_device::Tool;
use toolway_host::commands::{CommandEnv, load};

use crate::environment::ProcessEnvironment;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;

/// This computer's own tools.
pub(crate) fn tools() -> Vec<Tool> {
    toolway_host::tools()
}

/// Its name for people.
pub(crate) fn name() -> String {
    System::host_name().ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "computer".to_owned())
}

/// Its operating system and version.
pub(crate) fn platform() -> String {
    System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_owned())
}

/// The tools that a file defines as commands.
pub(crate) fn command_tools(path: &Path, environment: &ProcessEnvironment) -> CliResult<Vec<Tool>> {
    let text = private_file::read(path)?.ok_or_else(|| {
        CliError::new(format!("there is no file {}", path.display()))
            .with_code("tools_file")
            .with_hint("check what --tools names")
    })?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let env = CommandEnv {
        environment: environment.variables_map(),
        base_dir: absolute.parent().map(Path::to_owned).unwrap_or_default(),
    };
    load(&text, &env).map_err(|error| {
        CliError::new(format!("{}: {error}", path.display()))
            .with_code("tools_file")
            .with_hint("correct it; docs/devices.md shows what such a file holds")
    })
}
