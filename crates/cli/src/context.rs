//! What every command is handed: the env, where it prints, and the data folder.

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

/// What a command works with.
#[derive(Debug)]
pub(crate) struct CliContext {
    /// The env.
    pub(crate) environment: ProcessEnvironment,
    /// Where it prints.
    pub(crate) printer: Printer,
    /// The data folder.
    pub(crate) folder: DataFolder,
    /// The settings file, where it is named.
    pub(crate) config: Option<PathBuf>,
    /// Tells the time.
    pub(crate) clock: Arc<dyn Clock>,
}

impl CliContext {
    /// From the env and what was said for every command.
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
                    CliError::new("there is no home folder to keep data in")
                        .with_hint("name a folder with --data-dir or the variable TOOLWAY_DATA_DIR")
                })?,
                false,
            ),
        };
        let printer = Printer::new(json, environment.stdout, environment.stderr);
        Ok(Self { printer, folder, config, clock: Arc::new(SystemClock), environment })
    }

    /// Now, in milliseconds since the epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// The zone where this person is.
    pub(crate) fn zone(&self) -> TimeZone {
        TimeZone::system()
    }

    /// How far this person's clock is ahead of the world's, now, in seconds.
    pub(crate) fn utc_offset_s(&self) -> i32 {
        self.zone().to_offset(self.clock.now()).seconds()
    }

    /// Tells moments as this person sees them.
    pub(crate) fn time_formatter(&self) -> TimeFormatter {
        TimeFormatter::new(self.now_ms(), self.zone())
    }

    /// All places where settings may stand, with these flags.
    pub(crate) fn setting_sources(&self, flags: Vec<FlagSetting>) -> SettingSources {
        SettingSources {
            file: self.config.clone().unwrap_or_else(|| self.folder.settings()),
            is_file_required: self.config.is_some(),
            variables: self.environment.settings(),
            flags,
        }
    }
}
