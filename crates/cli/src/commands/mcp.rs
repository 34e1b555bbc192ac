//! `toolway mcp`: serves MCP over stdio without a subcommand. Subcommands manage MCP servers and set up desktop
//! clients.

mod add;
mod import;
mod install;
mod list;
mod local_connection;
mod login;
mod remove;
pub(crate) mod servers;
pub(crate) mod stdio;
mod test;

use clap::{Args, Subcommand};

use crate::context::CliContext;
use crate::error::CliResult;

/// Flags of `mcp` without a subcommand.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    #[command(flatten)]
    stdio: stdio::StdioArgs,
}

/// Subcommands of `toolway mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add an MCP server, as a program or a URL
    #[command(
        after_help = "Examples:\n  toolway mcp add files --command npx -y @modelcontextprotocol/server-filesystem ~/Documents\n  toolway mcp add github --url https://api.githubcopilot.com/mcp/ --header Authorization"
    )]
    Add(Box<add::AddMcpServerArgs>),
    /// List the MCP servers with their connection state
    #[command(after_help = "Example:\n  toolway mcp list")]
    List(list::ListMcpServersArgs),
    /// Remove an MCP server and its tools
    #[command(after_help = "Example:\n  toolway mcp remove files")]
    Remove(remove::RemoveMcpServerArgs),
    /// Connect to an MCP server and show its tools, or the problem and its fix
    #[command(after_help = "Example:\n  toolway mcp test files")]
    Test(test::TestMcpServersArgs),
    /// Import MCP servers from another program's JSON file
    #[command(after_help = "Example:\n  toolway mcp import ~/.cursor/mcp.json")]
    Import(import::ImportMcpServersArgs),
    /// Log in to an MCP server in a browser
    #[command(after_help = "Example:\n  toolway mcp login github")]
    Login(login::LoginMcpServerArgs),
    /// Remove the stored login of an MCP server
    #[command(after_help = "Example:\n  toolway mcp logout github")]
    Logout(login::LogoutMcpServerArgs),
    /// Set up a desktop client to use this gateway, with a token of its own
    Install(install::InstallMcpClientArgs),
}

/// Runs the command.
pub(crate) async fn run(args: McpArgs, context: &CliContext) -> CliResult {
    match args.command {
        None => stdio::run(&args.stdio, context).await,
        Some(McpCommand::Add(args)) => add::run(*args, context).await,
        Some(McpCommand::List(args)) => list::run(&args, context).await,
        Some(McpCommand::Remove(args)) => remove::run(&args, context).await,
        Some(McpCommand::Test(args)) => test::run(&args, context).await,
        Some(McpCommand::Import(args)) => import::run(&args, context).await,
        Some(McpCommand::Login(args)) => login::run(&args, context).await,
        Some(McpCommand::Logout(args)) => login::log_out(&args, context).await,
        Some(McpCommand::Install(args)) => install::run(&args, context).await,
    }
}
