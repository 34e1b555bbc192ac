//! `toolway man`: writes manual pages for every command.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::context::CliContext;
use crate::error::{CliError, CliResult};

/// Flags of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder for the pages, for example /usr/local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages.
pub(crate) fn run(args: &ManArgs, command: Command, context: &CliContext) -> CliResult {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|error| CliError::io("create the folder", folder, &error))?;
    let mut command = command.name("toolway");
    command.build();
    clap_mangen::generate_to(command, folder)
        .map_err(|error| CliError::io("write manual pages into", folder, &error))?;
    if context.printer.json {
        return context.printer.json_value(&serde_json::json!({"folder": folder}));
    }
    context.printer.line(&format!("wrote the manual pages to {}", folder.display()))
}
