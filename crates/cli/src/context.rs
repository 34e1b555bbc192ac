//! Context of a command: environment, output and data folder.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use toolway_types::{Clock, SystemClock};

use crate::environment::ProcessEnvironment;
use crate::error::{CliError, CliResult};
use crate::folder::DataFolder;
use crate::print::Printer;
use crate::print::time::TimeFormatter;
use crate::settings::{FlagSetting, SettingSources};

/// Context of a command.
#[derive(Debug)]
pub(crate) struct CliContext {
    /// Process environment.
    pub(crate) environment: ProcessEnvironment,
    /// Output.
    pub(crate) printer: Printer,
    /// Data folder.
    pub(crate) folder: DataFolder,
    /// Settings file of `--config`.
    pub(crate) config: Option<PathBuf>,
    /// Clock.
    pub(crate) clock: Arc<dyn Clock>,
}

impl CliContext {
    /// Creates the context from the environment and the global flags.
    pub(crate) fn new(
        environment: ProcessEnvironment,
        json: bool,
        data_dir: Option<PathBuf>,
        config: Option<PathBuf>,
    ) -> CliResult<Self> {
        let folder = match data_dir {
            Some(path) => DataFolder::new(path, true),
            None => DataFolder::new(
                environment.default_data_dir().ok_or_else(|| {
                    CliError::new("cannot find the home directory for the data folder")
                        .with_hint("set the data folder with --data-dir or the variable TOOLWAY_DATA_DIR")
                })?,
                false,
            ),
        };
        let printer = Printer::new(json, environment.stdout, environment.stderr);
        Ok(Self { printer, folder, config, clock: Arc::new(SystemClock), environment })
    }

    /// Returns the current time, in milliseconds since the epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Returns the user's time zone.
    pub(crate) fn zone(&self) -> TimeZone {
        TimeZone::system()
    }

    /// Returns the current UTC offset of the user's time zone, in seconds.
    pub(crate) fn utc_offset_s(&self) -> i32 {
        self.zone().to_offset(self.clock.now()).seconds()
    }

    /// Returns a formatter for the user's time zone.
    pub(crate) fn time_formatter(&self) -> TimeFormatter {
        TimeFormatter::new(self.now_ms(), self.zone())
    }

    /// Returns all sources of settings, including these flags.
    pub(crate) fn setting_sources(&self, flags: Vec<FlagSetting>) -> SettingSources {
        SettingSources {
            file: self.config.clone().unwrap_or_else(|| self.folder.settings()),
            is_file_required: self.config.is_some(),
            variables: self.environment.settings(),
            flags,
        }
    }
}
