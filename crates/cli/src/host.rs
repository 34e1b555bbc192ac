//! Describes this computer as a device, and loads command tools from a file.

use std::path::Path;

use sysinfo::System;
use toolway_device::Tool;
use toolway_host::commands::{CommandEnv, load};

use crate::environment::ProcessEnvironment;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;

/// Returns this computer's own tools.
pub(crate) fn tools() -> Vec<Tool> {
    toolway_host::tools()
}

/// Returns the host name.
pub(crate) fn name() -> String {
    System::host_name().ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "computer".to_owned())
}

/// Returns the operating system and its version.
pub(crate) fn platform() -> String {
    System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_owned())
}

/// Loads tools that a file defines as commands.
pub(crate) fn command_tools(path: &Path, environment: &ProcessEnvironment) -> CliResult<Vec<Tool>> {
    let text = private_file::read(path)?.ok_or_else(|| {
        CliError::new(format!("file not found: {}", path.display()))
            .with_code("tools_file")
            .with_hint("check the path of --tools")
    })?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let env = CommandEnv {
        environment: environment.variables_map(),
        base_dir: absolute.parent().map(Path::to_owned).unwrap_or_default(),
    };
    load(&text, &env).map_err(|error| {
        CliError::new(format!("{}: {error}", path.display()))
            .with_code("tools_file")
            .with_hint("correct the file; see docs/devices.md for the format")
    })
}
