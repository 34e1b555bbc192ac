//! Process environment: variables, home directory and terminal. Only this module reads them; everything else gets the
//! values as arguments.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Prefix of the variables of this program.
pub(crate) const SETTING_PREFIX: &str = "TOOLWAY_";
/// Variables with this prefix that are not settings.
pub(crate) const RESERVED_VARIABLES: &[&str] =
    &["TOOLWAY_DATA_DIR", "TOOLWAY_CONFIG", "TOOLWAY_GATEWAY", "TOOLWAY_TOKEN", "TOOLWAY_TOKEN_FILE"];

/// Properties of standard output or standard error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutputStream {
    /// True if the stream is a terminal.
    pub(crate) is_terminal: bool,
    /// True if colours are allowed.
    pub(crate) colour: bool,
    /// Width in columns, if known.
    pub(crate) width: Option<usize>,
    /// Height in lines, if known and the terminal supports cursor movement.
    pub(crate) height: Option<usize>,
}

impl OutputStream {
    /// Returns standard output with its current size, which the user may have changed.
    pub(crate) fn with_stdout_size(self) -> Self {
        self.with_size(usable_size(terminal_size::terminal_size_of(std::io::stdout())))
    }

    /// Returns standard error with its current size.
    pub(crate) fn with_stderr_size(self) -> Self {
        self.with_size(usable_size(terminal_size::terminal_size_of(std::io::stderr())))
    }

    fn with_size(self, size: Option<(usize, usize)>) -> Self {
        match size {
            Some((width, height)) if self.is_terminal => {
                Self { width: Some(width), height: self.height.map(|_| height), ..self }
            }
            _ => self,
        }
    }
}

/// Process environment at the start of the program.
#[derive(Debug, Default)]
pub(crate) struct ProcessEnvironment {
    variables: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    /// True if standard input is a terminal.
    pub(crate) stdin_is_terminal: bool,
    /// Standard output, for data.
    pub(crate) stdout: OutputStream,
    /// Standard error, for errors, notes and the log.
    pub(crate) stderr: OutputStream,
}

impl ProcessEnvironment {
    /// Reads the environment.
    pub(crate) fn read() -> Self {
        let variables: Vec<_> = std::env::vars_os().collect();
        let colour = is_colour_allowed(&variables);
        let is_dumb = is_dumb(&variables);
        let stream = |is_terminal: bool, size: Option<(usize, usize)>| OutputStream {
            is_terminal,
            colour: is_terminal && colour,
            width: size.filter(|_| is_terminal).map(|(columns, _)| columns),
            height: size.filter(|_| is_terminal && !is_dumb).map(|(_, lines)| lines),
        };
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        Self {
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout: stream(stdout.is_terminal(), usable_size(terminal_size::terminal_size_of(&stdout))),
            stderr: stream(stderr.is_terminal(), usable_size(terminal_size::terminal_size_of(&stderr))),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            variables,
        }
    }

    /// Returns a variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let (_, value) = self.variables.iter().find(|(known, _)| known.as_os_str() == name)?;
        Some(value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// Returns all variables that may be settings.
    pub(crate) fn settings(&self) -> Vec<(OsString, OsString)> {
        let ours = |name: &OsStr| {
            name.to_str()
                .is_some_and(|name| name.starts_with(SETTING_PREFIX) && !RESERVED_VARIABLES.contains(&name))
        };
        self.variables.iter().filter(|(name, _)| ours(name)).cloned().collect()
    }

    /// Returns all variables, for child processes.
    pub(crate) fn variables_map(&self) -> HashMap<OsString, OsString> {
        self.variables.iter().cloned().collect()
    }

    /// Returns the default data folder of this platform.
    pub(crate) fn default_data_dir(&self) -> Option<PathBuf> {
        let base = if cfg!(windows) {
            self.absolute_path("LOCALAPPDATA")?
        } else if cfg!(target_os = "macos") {
            self.home.as_ref()?.join("Library/Application Support")
        } else {
            self.absolute_path("XDG_DATA_HOME").or_else(|| Some(self.home.as_ref()?.join(".local/share")))?
        };
        Some(base.join("toolway"))
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> Option<&PathBuf> {
        self.home.as_ref()
    }

    /// Returns the platform's directory for user configuration.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        if cfg!(windows) {
            self.absolute_path("APPDATA")
        } else if cfg!(target_os = "macos") {
            Some(self.home.as_ref()?.join("Library/Application Support"))
        } else {
            self.absolute_path("XDG_CONFIG_HOME").or_else(|| Some(self.home.as_ref()?.join(".config")))
        }
    }

    /// Returns a variable with an absolute path.
    pub(crate) fn absolute_path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// Returns columns and lines of a terminal, if they are known.
fn usable_size(found: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<(usize, usize)> {
    let (terminal_size::Width(columns), terminal_size::Height(lines)) = found?;
    Some((usize::from(columns), usize::from(lines))).filter(|(columns, lines)| *columns > 0 && *lines > 0)
}

/// False if `NO_COLOR` is set and not empty, or if the terminal is dumb.
fn is_colour_allowed(variables: &[(OsString, OsString)]) -> bool {
    let value = |name: &str| variables.iter().find(|(known, _)| known.as_os_str() == name).map(|(_, it)| it);
    value("NO_COLOR").is_none_or(|it| it.is_empty()) && !is_dumb(variables)
}

/// True if the terminal supports only plain lines (`TERM=dumb`).
fn is_dumb(variables: &[(OsString, OsString)]) -> bool {
    variables.iter().any(|(name, value)| name.as_os_str() == "TERM" && value.as_os_str() == "dumb")
}

#[cfg(test)]
impl ProcessEnvironment {
    /// Creates an environment with these variables and this home directory, without a terminal.
    pub(crate) fn with(variables: &[(&str, &str)], home: Option<&str>) -> Self {
        Self {
            variables: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            home: home.map(PathBuf::from),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
