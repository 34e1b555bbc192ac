//! Command line of the harness.

use std::path::PathBuf;

use clap::{ArgGroup, Parser, Subcommand};

/// Default number of bytes of text per call.
pub(crate) const PAYLOAD: usize = 64;

/// Measure a gateway under load, and compare it with a bare relay of frames in the same run.
///
/// Starts a gateway in a temporary folder, connects devices and callers over loopback sockets, and reports
/// the cost of a call. A relay with the same runtime and buffers passes frames without reading them. The two
/// are measured in turns, and the result is their ratio. The exit code is 1 if a call failed or nothing was
/// measured.
#[derive(Debug, Parser)]
#[command(name = "toolway-load", version, args_conflicts_with_subcommands = true)]
#[command(group(ArgGroup::new("mode").args([
    "idle", "register", "start", "turns", "mcp", "instructions", "hostile", "memory_factors", "table", "self_check",
])))]
pub(crate) struct LoadBenchArgs {
    /// A part that the harness runs in a separate process.
    #[command(subcommand)]
    pub(crate) part: Option<HelperCommand>,

    /// Number of devices, with five tools each [default: 8; with --idle 2000].
    #[arg(long)]
    pub(crate) devices: Option<usize>,
    /// Number of callers; each has one call in flight unless --rate is given.
    #[arg(long, default_value_t = 64)]
    pub(crate) callers: usize,
    /// Duration of the gateway's measurement in seconds; the relay's takes as long.
    #[arg(long, default_value_t = 10.0)]
    pub(crate) seconds: f64,
    /// Calls per second of all callers, regardless of earlier answers.
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Bytes of text to the device and back in each call.
    #[arg(long, default_value_t = PAYLOAD, value_name = "BYTES")]
    pub(crate) payload: usize,
    /// Number of further devices per second that connect, register and disconnect meanwhile.
    #[arg(long, value_name = "PER_S")]
    pub(crate) churn: Option<f64>,
    /// Give each device different specs.
    #[arg(long)]
    pub(crate) distinct_specs: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Executable of the gateway [default: `toolway` next to the harness or in the release folder].
    #[arg(long, env = "TOOLWAY_BIN", value_name = "PATH")]
    pub(crate) gateway: Option<PathBuf>,
    /// Runtime workers of gateway and relay [default: as chosen by the gateway].
    #[arg(long)]
    pub(crate) workers: Option<usize>,

    /// Hold idle devices: memory per device, and calls to random devices compared with calls to one of ten.
    #[arg(long)]
    pub(crate) idle: bool,
    /// Register 600 tools in 1.1 MB from one device.
    #[arg(long)]
    pub(crate) register: bool,
    /// Measure the start with a used data folder, the idle memory, and the size of the binary.
    #[arg(long)]
    pub(crate) start: bool,
    /// Measure conversations with a fake model: the gateway's own time in a turn, and 200 parallel sessions.
    #[arg(long)]
    pub(crate) turns: bool,
    /// Measure MCP: calls and lists through the gateway compared with a bare `rmcp` server, and idle MCP
    /// sessions.
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Executable of crates.io's `mcp-proxy`, to compare with the gateway (with --mcp and --table).
    #[arg(long, value_name = "PATH")]
    pub(crate) mcp_proxy: Option<PathBuf>,
    /// A harness built with `cargo build --release`, whose bare MCP server is used: the profile `dist`
    /// optimizes some libraries for size, unlike other programs (with --mcp and --table) [default: this
    /// harness].
    #[arg(long, env = "TOOLWAY_LOAD_PLAIN", value_name = "PATH")]
    pub(crate) mcp_server: Option<PathBuf>,
    /// Count the gateway's instructions per call with callgrind. Requires valgrind.
    #[arg(long)]
    pub(crate) instructions: bool,
    /// File for callgrind's profile, for `callgrind_annotate` (with --instructions).
    #[arg(long, value_name = "FILE", requires = "instructions")]
    pub(crate) profile: Option<PathBuf>,
    /// File of earlier counts by compiler. The run fails if the count grew (with --instructions).
    #[arg(long, value_name = "FILE", requires_all = ["instructions", "compiler"])]
    pub(crate) baseline: Option<PathBuf>,
    /// Compiler and target of the gateway, as in the file of earlier counts.
    #[arg(long, requires = "baseline")]
    pub(crate) compiler: Option<String>,
    /// Write the count into the file of earlier counts.
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// Attack a gateway from every role, and measure what others notice. --seconds is the duration of each
    /// attack. With --quick each attack sends a fixed amount, and only memory and survival are judged.
    #[arg(long)]
    pub(crate) hostile: bool,
    /// Compare the memory that data of peers takes with what the gateway counts for it (limits.memory_bytes).
    #[arg(long)]
    pub(crate) memory_factors: bool,
    /// Only attacks or kinds of data whose names contain this text (with --hostile and --memory-factors).
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Measure everything that has a goal, and print one table.
    #[arg(long)]
    pub(crate) table: bool,
    /// Measure for a shorter time, for a look while working.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Compare the relay with itself, to show the random deviation of ratios.
    #[arg(long, hide = true)]
    pub(crate) self_check: bool,
}

/// Parts that run in a separate process. Internal.
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
        /// Number of tools.
        #[arg(long)]
        tools: usize,
    },
    /// Idle devices.
    #[command(hide = true)]
    Devices,
    /// An attacker.
    #[command(hide = true)]
    Attacker,
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
