//! `toolway completions`: prints a shell completion script.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::context::CliContext;
use crate::error::{CliError, CliResult};

/// Flags of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate the script for
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs, mut command: Command, context: &CliContext) -> CliResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "toolway", &mut script);
    let script = String::from_utf8(script).map_err(|error| CliError::new(error.to_string()))?;
    if context.printer.json {
        let answer = serde_json::json!({"shell": args.shell.to_string(), "script": script});
        return context.printer.json_value(&answer);
    }
    context.printer.text(&script)
}
