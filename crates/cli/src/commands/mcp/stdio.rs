//! `toolway mcp`: serves MCP over stdio, for programs that start their MCP servers as child processes.
//!
//! It forwards lines between the client and a gateway. [`session`] stores the messages to replay after a restart of the
//! gateway, so that the client does not notice it. Standard output carries only messages. Diagnostics go to standard
//! error, and to the client as error responses.

mod bridge;
mod connection;
mod message;
mod session;
mod streams;
mod token;

use clap::Args;

use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::CliResult;

/// Flags of `mcp` without a subcommand.
#[derive(Debug, Args)]
pub(crate) struct StdioArgs {
    /// Only show the tools of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only show read-only tools
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Only show tools whose SOURCE/TOOL id matches, for example 'laptop/*'; repeat the flag for more
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Client whose token from `toolway mcp install` to use, for example claude-desktop
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Serves until standard input ends.
pub(crate) async fn run(args: &StdioArgs, context: &CliContext) -> CliResult {
    bridge::run(args, context).await
}
