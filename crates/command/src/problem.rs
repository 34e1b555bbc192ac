//! The error of a definition.

/// A definition is invalid. The text says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionProblem(pub String);
