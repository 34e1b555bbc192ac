//! `toolway android`: app providers on a phone that `adb` reaches, looked at and tried from the computer.

mod call;
mod check;
pub(crate) mod phone;
mod provider_output;
mod scan;

use clap::Subcommand;

use crate::context::CliContext;
use crate::error::CliResult;

/// What to do with app providers.
#[derive(Debug, Subcommand)]
pub(crate) enum AndroidCommand {
    /// Find the apps on a phone that offer tools: which, how, what is refused and why
    Scan(scan::ScanPhoneArgs),
    /// Call a tool of an app on a phone, and print its result
    Call(call::CallProviderToolArgs),
    /// Say what is wrong with a provider, for its developer: in its manifest, its list, and how it takes calls
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
