//! `toolway mcp`: by itself, an MCP server on standard input and output; with a command, the MCP servers whose tools
//! are offered, and the desktop clients that use this gateway.

mod add;
mod import;
mod install;
mod list;
mod login;
mod remove;
pub(crate) mod servers;
pub(crate) mod stdio;
mod test;

use clap::{Args, Subcommand};

use crate::context::CliContext;
use crate::error::CliResult;

/// Without a command: how to serve MCP on standard input and output.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    #[command(flatten)]
    stdio: stdio::StdioArgs,
}

/// What to do with MCP servers and clients.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add an MCP server, a program or an address, whose tools are offered from then on
    Add(Box<add::AddMcpServerArgs>),
    /// List the MCP servers, and how the connection to each stands
    List(list::ListMcpServersArgs),
    /// Remove an MCP server, and with it its tools
    Remove(remove::RemoveMcpServerArgs),
    /// Connect to an MCP server and say what it offers, or what is wrong and what to do
    Test(test::TestMcpServersArgs),
    /// Add the MCP servers that another program keeps in a JSON file
    Import(import::ImportMcpServersArgs),
    /// Sign in to an MCP server that asks for it, in a browser
    Login(login::LoginMcpServerArgs),
    /// Remove the stored login of an MCP server
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
