//! Locations of definitions, and problems in files.

use serde::{Deserialize, Serialize};

/// The location of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DefinitionOrigin {
    /// `built_in`, `database`, `file` or `settings`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub kind: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub path: Option<String>,
    /// The line in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub line: Option<usize>,
}

impl DefinitionOrigin {
    /// A definition that is in no file.
    #[must_use]
    pub fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), path: None, line: None }
    }
}

/// A problem in a file of the owner's. The gateway keeps the previous version of the file active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileProblem {
    /// The file.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub path: String,
    /// The line in the file.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub line: usize,
    /// The problem.
    pub message: String,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hint: Option<String>,
}
