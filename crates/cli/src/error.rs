//! Errors of commands. Each one says what was wrong and where, and has hints (`hint:`) about what to do.
//! [`crate::report`] prints them.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

/// Result of a command.
pub(crate) type CliResult<T = ()> = Result<T, CliError>;

/// Kind of failure, which selects the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitKind {
    /// The command failed.
    Failed,
    /// The command line is invalid.
    Usage,
    /// The reader of the output closed the pipe, so nothing is reported.
    ReaderGone,
}

/// One of several problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CliProblem {
    /// Problem and its location.
    pub(crate) message: String,
    /// Hint.
    pub(crate) hint: Option<String>,
}

/// Error of a command. Boxed inside, so that results stay small.
#[derive(Debug)]
pub(crate) struct CliError(Box<CliErrorDetails>);

#[derive(Debug)]
struct CliErrorDetails {
    exit: ExitKind,
    code: String,
    message: String,
    problems: Vec<CliProblem>,
    hints: Vec<String>,
    is_reported: bool,
}

impl CliError {
    /// Creates an error with exit code 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(CliErrorDetails {
            exit: ExitKind::Failed,
            code: "failed".to_owned(),
            message: message.into(),
            problems: Vec::new(),
            hints: Vec::new(),
            is_reported: false,
        }))
    }

    /// Creates an error for invalid usage, with exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let mut failure = Self::new(message).with_code("usage");
        failure.0.exit = ExitKind::Usage;
        failure
    }

    /// Creates an error that was already reported (as data on standard output).
    pub(crate) fn already_reported() -> Self {
        let mut failure = Self::new(String::new());
        failure.0.is_reported = true;
        failure
    }

    /// Creates an error for a failed file operation.
    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        let failure = Self::new(format!("cannot {doing} {}: {}", path.display(), io_error_message(error)))
            .with_code("io");
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                failure.with_hint("run this command as the owner of the file, or choose another path")
            }
            io::ErrorKind::StorageFull => failure.with_hint("free disk space and retry"),
            io::ErrorKind::NotFound => failure.with_hint("check the path"),
            io::ErrorKind::AlreadyExists => failure.with_hint("choose another file, or move this one"),
            _ => failure,
        }
    }

    /// Creates an error for a failed write to standard output.
    pub(crate) fn output(error: &io::Error) -> Self {
        let mut failure =
            Self::new(format!("cannot write the output: {}", io_error_message(error))).with_code("io");
        if error.kind() == io::ErrorKind::BrokenPipe {
            failure.0.exit = ExitKind::ReaderGone;
            failure.0.is_reported = true;
        }
        failure
    }

    /// Sets the code that programs use to recognize the error.
    pub(crate) fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = code.into();
        self
    }

    /// Adds a hint.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Adds a hint, if there is one.
    pub(crate) fn with_optional_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// Sets the list of problems, each with its own hint.
    pub(crate) fn with_problems(mut self, problems: Vec<CliProblem>) -> Self {
        self.0.problems = problems;
        self
    }

    /// Returns the message without hints.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the list of problems.
    pub(crate) fn problems(&self) -> &[CliProblem] {
        &self.0.problems
    }

    /// Returns all hints.
    pub(crate) fn hint_list(&self) -> &[String] {
        &self.0.hints
    }

    /// Returns all hints in one line.
    pub(crate) fn hints(&self) -> Option<String> {
        if self.0.hints.is_empty() { None } else { Some(self.0.hints.join("; ")) }
    }

    /// True if the error was already reported.
    pub(crate) fn is_reported(&self) -> bool {
        self.0.is_reported
    }

    /// Returns the code.
    pub(crate) fn code(&self) -> &str {
        &self.0.code
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.0.exit {
            ExitKind::Failed => ExitCode::from(1),
            ExitKind::Usage => ExitCode::from(2),
            ExitKind::ReaderGone => ExitCode::SUCCESS,
        }
    }

    /// Converts the error to one line of JSON, in the format of the REST API.
    pub(crate) fn to_json(&self) -> Value {
        let it = &self.0;
        let problem = |one: &CliProblem| match &one.hint {
            Some(hint) => json!({"message": one.message, "hint": hint}),
            None => json!({"message": one.message}),
        };
        let mut error = serde_json::Map::new();
        error.insert("code".to_owned(), json!(it.code));
        error.insert("message".to_owned(), json!(it.message));
        if let Some(hints) = self.hints() {
            error.insert("hint".to_owned(), json!(hints));
        }
        if !it.problems.is_empty() {
            error.insert("problems".to_owned(), it.problems.iter().map(problem).collect());
        }
        json!({ "error": error })
    }
}

/// Returns the system's message without the error number.
pub(crate) fn io_error_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests;
