//! `toolway mcp`: an MCP server on standard input and output, for programs that start their servers themselves.

use clap::Args;

use crate::context::Context;
use crate::report::{Done, Failure};

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
}

/// Serves until standard input ends.
pub(crate) async fn run(args: &StdioArgs, context: &Context) -> Done {
    let _ = (args, context);
    Err(Failure::new("MCP on standard input and output is not served by this version"))
}
