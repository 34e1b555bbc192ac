//! `toolway android`: lists and tests app providers on a phone over `adb`, from the computer.

mod call;
mod check;
pub(crate) mod phone;
mod provider_output;
mod scan;

use clap::Subcommand;

use crate::context::CliContext;
use crate::error::CliResult;

/// Subcommands of `toolway android`.
#[derive(Debug, Subcommand)]
pub(crate) enum AndroidCommand {
    /// Find the apps on a phone that provide tools, and explain which ones are refused
    #[command(after_help = "Example:\n  toolway android scan")]
    Scan(scan::ScanPhoneArgs),
    /// Call a tool of an app on a phone and print its result
    #[command(
        after_help = "Example:\n  toolway android call org.example.notes.tools add_note '{\"text\": \"Buy milk\"}'"
    )]
    Call(call::CallProviderToolArgs),
    /// Find problems in an app provider: in its manifest, its tool list and its answers to calls
    #[command(
        after_help = "Examples:\n  toolway android check app/build/outputs/apk/debug/app-debug.apk\n  toolway android check org.example.notes.tools"
    )]
    Check(check::CheckProviderArgs),
}

/// Runs the command.
pub(crate) async fn run(command: AndroidCommand, context: &CliContext) -> CliResult {
    match command {
        AndroidCommand::Scan(args) => scan::run(&args, context).await,
        AndroidCommand::Call(args) => call::run(&args, context).await,
        AndroidCommand::Check(args) => check::run(&args, context).await,
    }
}
