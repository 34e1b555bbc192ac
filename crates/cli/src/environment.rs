//! What the env say: variables, the home folder, the terminal. The only place that asks for them;
//! everything else is handed this.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::PathBuf;

/// How the variables that concern this program start.
pub(crate) const SETTING_PREFIX: &str = "TOOLWAY_";
/// Variables with that start which are no settings.
pub(crate) const RESERVED_VARIABLES: &[&str] =
    &["TOOLWAY_DATA_DIR", "TOOLWAY_CONFIG", "TOOLWAY_GATEWAY", "TOOLWAY_TOKEN", "TOOLWAY_TOKEN_FILE"];

/// One of the standard streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutputStream {
    /// Whether a person reads it.
    pub(crate) is_terminal: bool,
    /// Whether colour may be used on it.
    pub(crate) colour: bool,
    /// How many columns it has, where that is known.
    pub(crate) width: Option<usize>,
    /// How many lines it shows, where that is known and what is shown can be changed.
    pub(crate) height: Option<usize>,
}

impl OutputStream {
    /// Standard output with the size that it has now, which a person may have changed.
    pub(crate) fn with_stdout_size(self) -> Self {
        self.with_size(usable_size(terminal_size::terminal_size_of(std::io::stdout())))
    }

    /// The same of standard error.
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

/// The env as they were when the program started.
#[derive(Debug, Default)]
pub(crate) struct ProcessEnvironment {
    variables: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    /// Whether a person can be asked.
    pub(crate) stdin_is_terminal: bool,
    /// Data goes there.
    pub(crate) stdout: OutputStream,
    /// Errors, notes and the log go there.
    pub(crate) stderr: OutputStream,
}

impl ProcessEnvironment {
    /// Asks for everything once.
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

    /// A variable that is set to something.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let (_, value) = self.variables.iter().find(|(known, _)| known.as_os_str() == name)?;
        Some(value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// All variables that may be settings, as they are.
    pub(crate) fn settings(&self) -> Vec<(OsString, OsString)> {
        let ours = |name: &OsStr| {
            name.to_str()
                .is_some_and(|name| name.starts_with(SETTING_PREFIX) && !RESERVED_VARIABLES.contains(&name))
        };
        self.variables.iter().filter(|(name, _)| ours(name)).cloned().collect()
    }

    /// All variables, for programs that are started.
    pub(crate) fn variables_map(&self) -> HashMap<OsString, OsString> {
        self.variables.iter().cloned().collect()
    }

    /// Where this platform keeps the data of programs, with our folder's name.
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

    /// The home folder.
    pub(crate) fn home(&self) -> Option<&PathBuf> {
        self.home.as_ref()
    }

    /// Where this platform's programs keep what a person sets.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        if cfg!(windows) {
            self.absolute_path("APPDATA")
        } else if cfg!(target_os = "macos") {
            Some(self.home.as_ref()?.join("Library/Application Support"))
        } else {
            self.absolute_path("XDG_CONFIG_HOME").or_else(|| Some(self.home.as_ref()?.join(".config")))
        }
    }

    /// A variable that holds a whole path.
    pub(crate) fn absolute_path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// Columns and lines of a terminal, where they are known.
fn usable_size(found: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<(usize, usize)> {
    let (terminal_size::Width(columns), terminal_size::Height(lines)) = found?;
    Some((usize::from(columns), usize::from(lines))).filter(|(columns, lines)| *columns > 0 && *lines > 0)
}

/// `NO_COLOR` set to anything but nothing forbids it, and so does a terminal that says it is a dumb one.
fn is_colour_allowed(variables: &[(OsString, OsString)]) -> bool {
    let value = |name: &str| variables.iter().find(|(known, _)| known.as_os_str() == name).map(|(_, it)| it);
    value("NO_COLOR").is_none_or(|it| it.is_empty()) && !is_dumb(variables)
}

/// Whether the terminal says that it can do nothing but show one line after the other.
fn is_dumb(variables: &[(OsString, OsString)]) -> bool {
    variables.iter().any(|(name, value)| name.as_os_str() == "TERM" && value.as_os_str() == "dumb")
}

#[cfg(test)]
impl ProcessEnvironment {
    /// Surroundings with these variables and this home folder, no terminal.
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
