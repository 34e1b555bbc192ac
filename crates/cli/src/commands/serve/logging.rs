//! Sets up the log: lines on standard error, as text or JSON.

use toolway_gateway::settings::{LogFormat, LogSettings};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::environment::OutputStream;
use crate::error::{CliError, CliResult};

/// Target of the MCP library. It logs several lines per request at `info`, and complete requests at `debug`.
const MCP_LIBRARY: &str = "rmcp";

/// Starts logging.
pub(super) fn init_logging(settings: &LogSettings, stderr: OutputStream) -> CliResult {
    let filter = EnvFilter::try_new(&settings.level).map_err(|error| {
        CliError::new(format!("log.level: {error}")).with_hint("use error, warn, info, debug or trace")
    })?;
    let filter = silence_unnamed_targets(filter, &settings.level);
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match settings.format {
        LogFormat::Text => log.with_ansi(stderr.colour).with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| CliError::new(format!("cannot start the log: {error}")))
}

/// Limits the MCP library to warnings, unless the level names it.
fn silence_unnamed_targets(filter: EnvFilter, level: &str) -> EnvFilter {
    let is_talkative = filter.max_level_hint().is_none_or(|most| most >= LevelFilter::INFO);
    match format!("{MCP_LIBRARY}=warn").parse() {
        Ok(quiet) if is_talkative && !level.contains(MCP_LIBRARY) => filter.add_directive(quiet),
        _ => filter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(level: &str) -> String {
        silence_unnamed_targets(EnvFilter::new(level), level).to_string()
    }

    #[test]
    fn mcp_requests_are_logged_only_on_request() {
        assert_eq!(filter("info"), "rmcp=warn,info");
        assert_eq!(filter("debug"), "rmcp=warn,debug");
        assert_eq!(filter("info,rmcp=debug"), "rmcp=debug,info");
        assert_eq!(filter("error"), "error");
    }
}
