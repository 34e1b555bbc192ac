//! `toolway mcp`: by itself, an MCP server on standard input and output; with a command, the MCP servers whose tools
//! are offered, and the desktop clients that use this gateway.

pub(crate) mod stdio;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::report::Done;

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
pub(crate) enum McpCommand {}

/// Runs the command.
pub(crate) async fn run(args: McpArgs, context: &Context) -> Done {
    match args.command {
        None => stdio::run(&args.stdio, context).await,
        Some(command) => match command {},
    }
}
