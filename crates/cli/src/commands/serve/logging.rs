//! The log: lines on standard error, for people or for programs.

use toolway_gateway::settings::{LogFormat, LogSettings};
use tracing_subscriber::EnvFilter;

use crate::environment::Stream;
use crate::report::{Done, Failure};

/// Logs from now on.
pub(super) fn start(settings: &LogSettings, stderr: Stream) -> Done {
    let filter = EnvFilter::try_new(&settings.level).map_err(|error| {
        Failure::new(format!("log.level: {error}")).hint("write error, warn, info, debug or trace")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match settings.format {
        LogFormat::Text => log.with_ansi(stderr.colour).with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::new(format!("the log can't be started: {error}")))
}
