//! Problems in a definition, described for the person who wrote it.

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
