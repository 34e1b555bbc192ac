//! Sets up the log: lines on standard error, as text or JSON.

use toolway_gateway::settings::{LogFormat, LogSettings};
use tracing_subscriber::EnvFilter;

use crate::environment::OutputStream;
use crate::error::{CliError, CliResult};

/// Starts logging.
pub(super) fn init_logging(settings: &LogSettings, stderr: OutputStream) -> CliResult {
    let filter = EnvFilter::try_new(&settings.level).map_err(|error| {
        CliError::new(format!("log.level: {error}")).with_hint("use error, warn, info, debug or trace")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match settings.format {
        LogFormat::Text => log.with_ansi(stderr.colour).with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| CliError::new(format!("cannot start the log: {error}")))
}
