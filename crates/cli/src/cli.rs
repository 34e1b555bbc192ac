//! Defines the commands and their global flags.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    agents, android, approvals, backup, calls, chat, completions, config, device, devices, doctor, grants,
    man, mcp, models, pair, policy, prices, restore, secrets, serve, sessions, tokens, tools, usage, version,
};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};

const AFTER_HELP: &str = "Examples:\n  toolway serve                            start a gateway\n  toolway pair                             pair a phone, computer or app\n  toolway tools call device_info           call a tool\n  toolway chat \"what time is it?\"          ask an agent\n  toolway doctor                           find problems\n\nSettings come from, in this order: defaults, toolway.toml in the data folder, TOOLWAY_* variables \
(TOOLWAY_LIMITS__FRAME_BYTES sets limits.frame_bytes), flags. Later sources override earlier ones.\n\nExit codes: 0 success, 1 failure, 2 invalid usage.";

/// Heading of the flags that every command has.
const COMMON_HEADING: &str = "Global options";

/// Give any AI access to the tools of your phones, computers, apps and servers
#[derive(Debug, Parser)]
#[command(name = "toolway", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Data folder of the gateway and of this program
    #[arg(long, global = true, help_heading = COMMON_HEADING, display_order = 900, value_name = "DIR", env = "TOOLWAY_DATA_DIR", hide_env_values = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Settings file (default: toolway.toml in the data folder)
    #[arg(long, global = true, help_heading = COMMON_HEADING, display_order = 900, value_name = "FILE", env = "TOOLWAY_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON to standard output and JSON errors to standard error
    #[arg(long, global = true, help_heading = COMMON_HEADING, display_order = 900)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run the gateway and share this computer's tools
    #[command(
        after_help = "Examples:\n  toolway serve\n  toolway serve --listen 0.0.0.0\n  toolway serve --set limits.connections=500"
    )]
    Serve(serve::ServeArgs),
    /// Create a pairing code for one device, app or client
    #[command(
        after_help = "Examples:\n  toolway pair\n  toolway pair --role companion --label \"Anna's phone\""
    )]
    Pair(pair::PairArgs),
    /// Share this computer's tools with a gateway
    #[command(
        after_help = "Examples:\n  toolway device --gateway https://192.168.1.10:7717 --pair ABCD-EFGH\n  toolway device"
    )]
    Device(device::DeviceArgs),
    /// List, call, accept and define tools
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    /// Manage devices and other tool sources
    #[command(subcommand)]
    Devices(devices::DevicesCommand),
    /// Test Android apps that provide tools, over adb or in an APK
    #[command(subcommand)]
    Android(android::AndroidCommand),
    /// Serve MCP over stdio, manage MCP servers and set up desktop clients
    #[command(
        after_help = "Examples:\n  toolway mcp --client claude-desktop\n  toolway mcp add files --command npx -y @modelcontextprotocol/server-filesystem ~/Documents\n  toolway mcp install"
    )]
    Mcp(Box<mcp::McpArgs>),
    /// Manage model providers
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// Manage agents: their prompt, model and tools
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    /// Chat with an agent
    #[command(
        after_help = "Examples:\n  toolway chat\n  toolway chat \"What time is it?\"\n  toolway chat --session last --attach photo.jpg \"What is in this picture?\""
    )]
    Chat(Box<chat::ChatArgs>),
    /// List, show, rename, delete and export conversations
    Sessions(sessions::SessionsArgs),
    /// Show token usage and cost by day, model, agent or tool
    #[command(after_help = "Examples:\n  toolway usage --since 30d\n  toolway usage --by model")]
    Usage(usage::UsageArgs),
    /// List and import model prices
    #[command(subcommand)]
    Prices(prices::PricesCommand),
    /// List, follow, export and delete recorded tool calls
    #[command(subcommand)]
    Calls(calls::CallsCommand),
    /// List, test and change policy rules
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// List, watch and answer pending approvals
    #[command(subcommand)]
    Approvals(approvals::ApprovalsCommand),
    /// List, add and revoke grants, the stored answers to approvals
    #[command(subcommand)]
    Grants(grants::GrantsCommand),
    /// Manage secrets for tools and hooks
    #[command(subcommand)]
    Secrets(secrets::SecretsCommand),
    /// Create, list and revoke tokens for clients and scripts
    #[command(subcommand)]
    Tokens(tokens::TokensCommand),
    /// Show and check settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Back up the data folder to one file, even while the gateway runs
    #[command(after_help = "Example:\n  toolway backup toolway-backup.tar")]
    Backup(backup::BackupArgs),
    /// Restore a backup, even while the gateway runs
    #[command(after_help = "Example:\n  toolway restore toolway-backup.tar")]
    Restore(restore::RestoreArgs),
    /// Check settings, models, data and gateway, and show how to fix problems
    #[command(after_help = "Example:\n  toolway doctor")]
    Doctor(doctor::DoctorArgs),
    /// Print the version of this program and of the protocol
    Version,
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  toolway completions bash > ~/.local/share/bash-completion/completions/toolway"
    )]
    Completions(completions::CompletionsArgs),
    /// Write the manual pages to a folder
    #[command(after_help = "Example:\n  toolway man /usr/local/share/man/man1")]
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

/// Runs an async command on one thread, which is enough for a command that mostly waits.
fn block_on(command: impl Future<Output = CliResult>) -> CliResult {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::new(format!("cannot start: {}", crate::error::io_error_message(&error))))?
        .block_on(command)
}

#[cfg(test)]
mod tests;
