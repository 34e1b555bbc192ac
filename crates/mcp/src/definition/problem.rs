//! What is wrong in a file of definitions, for the person who wrote it.

use std::path::{Path, PathBuf};

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", path.display())]
pub struct DefinitionFileProblem {
    /// The file.
    pub path: PathBuf,
    /// The line in it, from 1; 1 where it is the whole file.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
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

/// What is wrong with one definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct DefinitionError {
    /// The field, as `url` or `headers.X-Key`; `name` for the name.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl DefinitionError {
    pub(super) fn new(field: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), hint: hint.into() }
    }
}

/// The line of a place in a text, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
