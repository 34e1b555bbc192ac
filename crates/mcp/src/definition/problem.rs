//! Errors in a file of definitions, for the person who wrote it.

use std::path::{Path, PathBuf};

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", path.display())]
pub struct DefinitionFileProblem {
    /// The file.
    pub path: PathBuf,
    /// The line in the file, from 1; 1 if the error concerns the whole file.
    pub line: usize,
    /// The error message.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl DefinitionFileProblem {
    pub(super) fn new(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into(), hint: None }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// An error in one definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct DefinitionError {
    /// The field, for example `url` or `headers.X-Key`; `name` for the server's name.
    pub field: String,
    /// The error message.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl DefinitionError {
    pub(super) fn new(field: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), hint: hint.into() }
    }
}

/// The line of an offset in a text, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
