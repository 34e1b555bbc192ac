//! Errors as a person or a program reads them. Every one says what went wrong, where, and in a line that
//! starts with `hint:` what to do about it. [`crate::report`] prints them.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

/// What a command gives back.
pub(crate) type CliResult<T = ()> = Result<T, CliError>;

/// With which code the program ends when it does not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitKind {
    /// Asked rightly, but it did not work.
    Failed,
    /// Asked wrongly.
    Usage,
    /// Whoever read the output has gone, so there is nobody to tell.
    ReaderGone,
}

/// One of several things that are wrong at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CliProblem {
    /// What is wrong and where.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// Why a command ends badly. Boxed inside, so that results stay small.
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
    /// It did not work.
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

    /// It was asked in a way that can't be meant.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let mut failure = Self::new(message).with_code("usage");
        failure.0.exit = ExitKind::Usage;
        failure
    }

    /// It did not work, and that has been said already (as data, on standard output).
    pub(crate) fn already_reported() -> Self {
        let mut failure = Self::new(String::new());
        failure.0.is_reported = true;
        failure
    }

    /// The system refused something about a file.
    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        let failure = Self::new(format!("cannot {doing} {}: {}", path.display(), io_error_message(error)))
            .with_code("io");
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                failure.with_hint("run this as the user whom it belongs to, or name another place")
            }
            io::ErrorKind::StorageFull => failure.with_hint("make room on the disk and try again"),
            io::ErrorKind::NotFound => failure.with_hint("check the path"),
            io::ErrorKind::AlreadyExists => failure.with_hint("name another file, or move this one away"),
            _ => failure,
        }
    }

    /// Standard output refused what was written.
    pub(crate) fn output(error: &io::Error) -> Self {
        let mut failure =
            Self::new(format!("cannot write the output: {}", io_error_message(error))).with_code("io");
        if error.kind() == io::ErrorKind::BrokenPipe {
            failure.0.exit = ExitKind::ReaderGone;
            failure.0.is_reported = true;
        }
        failure
    }

    /// The word by which programs tell this failure from others.
    pub(crate) fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = code.into();
        self
    }

    /// What to do about it; more than one may be said.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// The same where there is one.
    pub(crate) fn with_optional_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// All that is wrong, each with its own hint.
    pub(crate) fn with_problems(mut self, problems: Vec<CliProblem>) -> Self {
        self.0.problems = problems;
        self
    }

    /// What went wrong, to be part of a larger message.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// All that is wrong, where it is more than one thing.
    pub(crate) fn problems(&self) -> &[CliProblem] {
        &self.0.problems
    }

    /// What to do about it, one hint after another.
    pub(crate) fn hint_list(&self) -> &[String] {
        &self.0.hints
    }

    /// What to do about it, in one line.
    pub(crate) fn hints(&self) -> Option<String> {
        if self.0.hints.is_empty() { None } else { Some(self.0.hints.join("; ")) }
    }

    /// Whether it has been said already.
    pub(crate) fn is_reported(&self) -> bool {
        self.0.is_reported
    }

    /// The word for programs.
    pub(crate) fn code(&self) -> &str {
        &self.0.code
    }

    /// With which code the program ends.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.0.exit {
            ExitKind::Failed => ExitCode::from(1),
            ExitKind::Usage => ExitCode::from(2),
            ExitKind::ReaderGone => ExitCode::SUCCESS,
        }
    }

    /// For a program: the form of the REST API's errors, in one line.
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

/// What the system says, without its number.
pub(crate) fn io_error_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests;
