//! Sets up the log: lines on standard error, as text or JSON.

mod escaping;

use toolway_gateway::settings::{LogFormat, LogSettings};
use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use escaping::{EscapedFields, EscapedJson};

use crate::environment::OutputStream;
use crate::error::{CliError, CliResult};

/// Starts logging.
pub(super) fn init_logging(settings: &LogSettings, stderr: OutputStream) -> CliResult {
    let filter = EnvFilter::try_new(&settings.level).map_err(|error| {
        CliError::new(format!("log.level: {error}")).with_hint("use error, warn, info, debug or trace")
    })?;
    let log = log_dispatch(filter, settings.format, stderr.colour, std::io::stderr);
    tracing::dispatcher::set_global_default(log)
        .map_err(|error| CliError::new(format!("cannot start the log: {error}")))
}

/// Creates the log. Every field is escaped, so that text from outside cannot add a line or a terminal's command.
fn log_dispatch<W>(filter: EnvFilter, format: LogFormat, colour: bool, writer: W) -> Dispatch
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    match format {
        LogFormat::Text => log.fmt_fields(EscapedFields).with_ansi(colour).with_target(false).finish().into(),
        LogFormat::Json => log.json().flatten_event(true).map_event_format(EscapedJson).finish().into(),
    }
}

#[cfg(test)]
mod tests;
