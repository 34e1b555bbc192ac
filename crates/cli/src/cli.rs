//! The commands and the flags that all of them have.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    agents, android, approvals, backup, calls, chat, completions, config, device, devices, doctor, grants,
    man, mcp, models, pair, policy, prices, restore, secrets, serve, sessions, tokens, tools, usage, version,
};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};

const AFTER_HELP: &str = "Data lies in the platform's data folder; --data-dir moves it. Settings: defaults, then \
toolway.toml in the data folder, then TOOLWAY_* variables (limits.frame_bytes is TOOLWAY_LIMITS__FRAME_BYTES), then \
flags.\n\nExit codes: 0 done, 1 failed, 2 bad usage.";

/// Where flags stand in the help that every command has.
const COMMON_HEADING: &str = "Everywhere";

/// Lets any AI use the tools of your phones, computers, apps and servers, through one gateway
#[derive(Debug, Parser)]
#[command(name = "toolway", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Folder where the gateway and this program keep their data
    #[arg(long, global = true, help_heading = COMMON_HEADING, display_order = 900, value_name = "DIR", env = "TOOLWAY_DATA_DIR", hide_env_values = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Settings file, instead of toolway.toml in the data folder
    #[arg(long, global = true, help_heading = COMMON_HEADING, display_order = 900, value_name = "FILE", env = "TOOLWAY_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON on standard output, and errors as JSON on standard error
    #[arg(long, global = true, help_heading = COMMON_HEADING, display_order = 900)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run the gateway; this computer joins it as a device
    Serve(serve::ServeArgs),
    /// Print a code, a link and a QR code that let one device, app or client in: once, within ten minutes
    Pair(pair::PairArgs),
    /// Offer this computer's tools to a gateway
    Device(device::DeviceArgs),
    /// What can be called: list, show, call; what changed: diff, accept; tools of your own: add, remove, test
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    /// Who offers tools: list, show, rename, revoke
    #[command(subcommand)]
    Devices(devices::DevicesCommand),
    /// App providers on a phone that adb reaches, or in an APK: scan, call, check
    #[command(subcommand)]
    Android(android::AndroidCommand),
    /// Speak MCP on standard input and output; MCP servers: add, list, remove, test, import, login; install sets up desktop clients
    Mcp(Box<mcp::McpArgs>),
    /// Model providers: add, list, remove, test; presets lists those that are known
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// Who can be talked to: list, show, set, remove; pick ticks the tools of one in a list
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    /// Talk to an agent, here or in one message; its tool calls are shown as they happen
    Chat(Box<chat::ChatArgs>),
    /// The conversations that are kept: list, show, rename, delete, export
    Sessions(sessions::SessionsArgs),
    /// What conversations took: tokens and cost by day, model, agent or tool
    Usage(usage::UsageArgs),
    /// What models cost: list, import
    #[command(subcommand)]
    Prices(prices::PricesCommand),
    /// The record of tool calls: list, show, tail, export, remove, purge
    #[command(subcommand)]
    Calls(calls::CallsCommand),
    /// Who may use which tool: list, test, add, remove
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// The questions that calls wait with: list, watch, answer
    #[command(subcommand)]
    Approvals(approvals::ApprovalsCommand),
    /// The answers that are kept: list, add, revoke
    #[command(subcommand)]
    Grants(grants::GrantsCommand),
    /// What tools and hooks need to know and nobody else should: list, set, remove
    #[command(subcommand)]
    Secrets(secrets::SecretsCommand),
    /// Tokens for clients and scripts: create, list, revoke, rotate-owner
    #[command(subcommand)]
    Tokens(tokens::TokensCommand),
    /// Settings: show, check
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Write database, settings, models, agents, keys and tokens into one file, while the gateway runs or not
    Backup(backup::BackupArgs),
    /// Put a backup's contents back, while the gateway runs or not
    Restore(restore::RestoreArgs),
    /// Check settings, models, agents, data folder, database, address, token, certificate and clock; say how to mend each
    Doctor(doctor::DoctorArgs),
    /// Print the version of this program and of the protocol
    Version,
    /// Print a script that completes commands and flags in a shell
    Completions(completions::CompletionsArgs),
    /// Write manual pages into a folder
    Man(man::ManArgs),
}

/// Runs the command.
pub(crate) fn run(command: CliCommand, context: &CliContext) -> CliResult {
    match command {
        CliCommand::Serve(args) => serve::run(&args, context),
        CliCommand::Config(command) => config::run(command, context),
        CliCommand::Version => version::run(context),
        CliCommand::Completions(args) => completions::run(&args, Cli::command(), context),
        CliCommand::Man(args) => man::run(&args, Cli::command(), context),
        CliCommand::Pair(args) => block_on(pair::run(args, context)),
        CliCommand::Device(args) => block_on(device::run(args, context)),
        CliCommand::Tools(command) => block_on(tools::run(command, context)),
        CliCommand::Devices(command) => block_on(devices::run(command, context)),
        CliCommand::Android(command) => block_on(android::run(command, context)),
        CliCommand::Mcp(args) => block_on(mcp::run(*args, context)),
        CliCommand::Models(command) => block_on(models::run(command, context)),
        CliCommand::Prices(command) => block_on(prices::run(command, context)),
        CliCommand::Agents(command) => block_on(agents::run(command, context)),
        CliCommand::Chat(args) => block_on(chat::run(*args, context)),
        CliCommand::Sessions(command) => block_on(sessions::run(command, context)),
        CliCommand::Usage(args) => block_on(usage::run(&args, context)),
        CliCommand::Calls(command) => block_on(calls::run(command, context)),
        CliCommand::Policy(command) => block_on(policy::run(command, context)),
        CliCommand::Approvals(command) => block_on(approvals::run(command, context)),
        CliCommand::Grants(command) => block_on(grants::run(command, context)),
        CliCommand::Secrets(command) => block_on(secrets::run(command, context)),
        CliCommand::Tokens(command) => block_on(tokens::run(command, context)),
        CliCommand::Backup(args) => block_on(backup::run(args, context)),
        CliCommand::Restore(args) => block_on(restore::run(args, context)),
        CliCommand::Doctor(args) => block_on(doctor::run(args, context)),
    }
}

/// Runs a command that waits for others; one thread is enough for that.
fn block_on(command: impl Future<Output = CliResult>) -> CliResult {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::new(format!("cannot start: {}", crate::error::io_error_message(&error))))?
        .block_on(command)
}

#[cfg(test)]
mod tests;
