//! `toolway mcp`: an MCP server on standard input and output, for programs that start their servers themselves.
//!
//! It passes lines on to a gateway and back, and knows as little of MCP as that takes: [`session`] keeps what a gateway
//! that was restarted must be told again, so that the client need not know that it was. Standard output carries
//! messages and nothing else; what there is to say to a person goes to standard error, and to the client in the answer
//! to what it asked.

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

/// Flags of `mcp` by itself.
#[derive(Debug, Args)]
pub(crate) struct StdioArgs {
    /// Show this agent's tools only
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Show only tools that say that they read and change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Show only tools whose source/tool matches, as laptop/*; may be said more than once
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Use the token that `toolway mcp install` made for this client, as claude-desktop
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Serves until standard input ends.
pub(crate) async fn run(args: &StdioArgs, context: &CliContext) -> CliResult {
    bridge::run(args, context).await
}
