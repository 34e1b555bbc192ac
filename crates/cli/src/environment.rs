//! What the surroundings say: variables, the home folder, the terminal. The only place that asks for them;
//! everything else is handed this.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::PathBuf;

/// How the variables that concern this program start.
pub(crate) const PREFIX: &str = "TOOLWAY_";
/// Variables with that start which are no settings.
pub(crate) const NOT_SETTINGS: &[&str] =
    &["TOOLWAY_DATA_DIR", "TOOLWAY_CONFIG", "TOOLWAY_GATEWAY", "TOOLWAY_TOKEN", "TOOLWAY_TOKEN_FILE"];

/// One of the standard streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// Whether a person reads it.
    pub(crate) is_terminal: bool,
    /// Whether colour may be used on it.
    pub(crate) colour: bool,
    /// How many columns it has, where that is known.
    pub(crate) width: Option<usize>,
}

/// The surroundings as they were when the program started.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    variables: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    /// Whether a person can be asked.
    pub(crate) stdin_is_terminal: bool,
    /// Data goes there.
    pub(crate) stdout: Stream,
    /// Errors, notes and the log go there.
    pub(crate) stderr: Stream,
}

impl Environment {
    /// Asks for everything once.
    pub(crate) fn read() -> Self {
        let variables: Vec<_> = std::env::vars_os().collect();
        let colour = colour_allowed(&variables);
        let stream = |is_terminal: bool, width: Option<usize>| Stream {
            is_terminal,
            colour: is_terminal && colour,
            width: if is_terminal { width } else { None },
        };
        let width = |size: Option<(terminal_size::Width, terminal_size::Height)>| {
            size.map(|(terminal_size::Width(columns), _)| usize::from(columns)).filter(|columns| *columns > 0)
        };
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        Self {
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout: stream(stdout.is_terminal(), width(terminal_size::terminal_size_of(&stdout))),
            stderr: stream(stderr.is_terminal(), width(terminal_size::terminal_size_of(&stderr))),
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
            name.to_str().is_some_and(|name| name.starts_with(PREFIX) && !NOT_SETTINGS.contains(&name))
        };
        self.variables.iter().filter(|(name, _)| ours(name)).cloned().collect()
    }

    /// All variables, for programs that are started.
    pub(crate) fn all(&self) -> HashMap<OsString, OsString> {
        self.variables.iter().cloned().collect()
    }

    /// Where this platform keeps the data of programs, with our folder's name.
    pub(crate) fn default_data_dir(&self) -> Option<PathBuf> {
        let base = if cfg!(windows) {
            self.absolute("LOCALAPPDATA")?
        } else if cfg!(target_os = "macos") {
            self.home.as_ref()?.join("Library/Application Support")
        } else {
            self.absolute("XDG_DATA_HOME").or_else(|| Some(self.home.as_ref()?.join(".local/share")))?
        };
        Some(base.join("toolway"))
    }

    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// `NO_COLOR` set to anything but nothing forbids it, and so does a terminal that says it is a dumb one.
fn colour_allowed(variables: &[(OsString, OsString)]) -> bool {
    let value = |name: &str| variables.iter().find(|(known, _)| known.as_os_str() == name).map(|(_, it)| it);
    value("NO_COLOR").is_none_or(|it| it.is_empty()) && value("TERM").is_none_or(|it| it != "dumb")
}

#[cfg(test)]
impl Environment {
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
