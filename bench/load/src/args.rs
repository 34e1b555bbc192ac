//! What can be asked of the harness.

use std::path::PathBuf;

use clap::{ArgGroup, Parser, Subcommand};

/// Bytes of text a call carries where nothing else is asked for.
pub(crate) const PAYLOAD: usize = 64;

/// Measures a gateway under load, beside a bare relay of frames, in one run.
///
/// Starts a gateway of its own in a folder of its own, connects devices and callers to it over loopback sockets,
/// and reports what a call costs; next to it runs a relay that passes frames unread, with the same runtime and
/// buffers. The two are measured in turns, and what counts is their ratio. Exits with 1 where a call failed or
/// nothing was measured.
#[derive(Debug, Parser)]
#[command(name = "toolway-load", version, args_conflicts_with_subcommands = true)]
#[command(group(ArgGroup::new("mode").args(["idle", "register", "start", "turns", "mcp", "table", "self_check"])))]
pub(crate) struct LoadBenchArgs {
    /// A part that the harness runs in a process of its own.
    #[command(subcommand)]
    pub(crate) part: Option<HelperCommand>,

    /// How many devices, with five tools each [default: 8; with --idle 2000].
    #[arg(long)]
    pub(crate) devices: Option<usize>,
    /// How many callers; each has one call in flight unless --rate is given.
    #[arg(long, default_value_t = 64)]
    pub(crate) callers: usize,
    /// How long the gateway is measured, in seconds; the relay takes as long again.
    #[arg(long, default_value_t = 10.0)]
    pub(crate) seconds: f64,
    /// Calls a second, all callers together, whether or not earlier ones were answered.
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Bytes of text that go to the device and back with each call.
    #[arg(long, default_value_t = PAYLOAD, value_name = "BYTES")]
    pub(crate) payload: usize,
    /// How many further devices connect, register and leave in a second meanwhile.
    #[arg(long, value_name = "PER_S")]
    pub(crate) churn: Option<f64>,
    /// No two devices offer the same specs.
    #[arg(long)]
    pub(crate) distinct_specs: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The gateway's executable [default: `toolway` beside the harness or in the release folder].
    #[arg(long, env = "TOOLWAY_BIN", value_name = "PATH")]
    pub(crate) gateway: Option<PathBuf>,
    /// Runtime workers of gateway and relay [default: the gateway's own rule].
    #[arg(long)]
    pub(crate) workers: Option<usize>,

    /// Hold devices: memory for each, and calls to random ones beside calls to one of ten.
    #[arg(long)]
    pub(crate) idle: bool,
    /// One device registers 600 tools in 1.1 MB.
    #[arg(long)]
    pub(crate) register: bool,
    /// Start to first answer on a used data folder, idle memory, size of the binary.
    #[arg(long)]
    pub(crate) start: bool,
    /// Conversations with a fake model: the gateway's own time in a turn, and 200 sessions at once.
    #[arg(long)]
    pub(crate) turns: bool,
    /// MCP: calls and lists through the gateway beside a bare `rmcp` server, and idle MCP sessions.
    #[arg(long)]
    pub(crate) mcp: bool,
    /// The executable of crates.io's `mcp-proxy`, to be measured beside the gateway (with --mcp and --table).
    #[arg(long, value_name = "PATH")]
    pub(crate) mcp_proxy: Option<PathBuf>,
    /// A harness built with `cargo build --release`. Its bare MCP server is used, since the profile `dist` builds
    /// some libraries for size and other programs do not (with --mcp and --table) [default: this harness].
    #[arg(long, env = "TOOLWAY_LOAD_PLAIN", value_name = "PATH")]
    pub(crate) mcp_server: Option<PathBuf>,
    /// Everything that has a goal, as one table.
    #[arg(long)]
    pub(crate) table: bool,
    /// Shorter, for a look while working.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The relay against itself: how far from 1 ratios come by chance.
    #[arg(long, hide = true)]
    pub(crate) self_check: bool,
}

/// What runs in a process of its own. Not for people.
#[derive(Debug, Subcommand)]
pub(crate) enum HelperCommand {
    /// The bare relay.
    #[command(hide = true)]
    Relay {
        /// Runtime workers.
        #[arg(long)]
        workers: usize,
    },
    /// The bare MCP server.
    #[command(hide = true)]
    McpServer {
        /// Runtime workers.
        #[arg(long)]
        workers: usize,
        /// How many tools it has.
        #[arg(long)]
        tools: usize,
    },
    /// Devices to be held.
    #[command(hide = true)]
    Devices,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        LoadBenchArgs::command().debug_assert();
    }

    #[test]
    fn only_one_mode_at_a_time() {
        assert!(LoadBenchArgs::try_parse_from(["toolway-load", "--idle", "--start"]).is_err());
        assert!(LoadBenchArgs::try_parse_from(["toolway-load", "--turns", "--table"]).is_err());
        assert!(LoadBenchArgs::try_parse_from(["toolway-load", "--mcp", "--table"]).is_err());
        assert!(LoadBenchArgs::try_parse_from(["toolway-load", "--table", "--quick", "--json"]).is_ok());
    }
}
