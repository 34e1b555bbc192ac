//! Restrictions that a client requested: only tools that read, or only tools that match patterns. They only hide
//! tools; they never grant access.

use toolway_core::{GlobError, GlobPatterns, ToolSpec};
use toolway_types::ToolId;

/// Maximum number of patterns.
pub const MAX_PATTERNS: usize = 256;
/// Maximum length of a pattern, in bytes.
pub const MAX_PATTERN: usize = 1024;

/// The reason why restrictions are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolRestrictionsError {
    /// A pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] GlobError),
    /// There are more than [`MAX_PATTERNS`].
    #[error("{0} patterns are too many; at most {MAX_PATTERNS} are allowed")]
    TooMany(usize),
    /// A pattern is longer than [`MAX_PATTERN`].
    #[error("a pattern of {0} bytes is too long; at most {MAX_PATTERN} are allowed")]
    TooLong(usize),
}

/// A filter on the tools that a client may use. The default shows all of them.
#[derive(Debug, Clone, Default)]
pub struct ToolRestrictions {
    /// Show only read-only tools.
    read_only: bool,
    /// Show only tools whose `source/tool` matches a pattern, if there are patterns.
    patterns: Option<GlobPatterns>,
}

impl ToolRestrictions {
    /// Parses restrictions: `read_only` shows only read-only tools, `only` shows only tools that match one of its
    /// patterns, if there are any.
    ///
    /// # Errors
    /// [`ToolRestrictionsError`] for an invalid pattern or too many patterns.
    pub fn parse<S: AsRef<str>>(read_only: bool, only: &[S]) -> Result<Self, ToolRestrictionsError> {
        if only.len() > MAX_PATTERNS {
            return Err(ToolRestrictionsError::TooMany(only.len()));
        }
        if let Some(long) = only.iter().map(|it| it.as_ref().len()).find(|length| *length > MAX_PATTERN) {
            return Err(ToolRestrictionsError::TooLong(long));
        }
        let only = if only.is_empty() { None } else { Some(GlobPatterns::new(only)?) };
        Ok(Self { read_only, patterns: only })
    }

    /// Returns true if nothing is hidden.
    #[must_use]
    pub fn is_unrestricted(&self) -> bool {
        !self.read_only && self.patterns.is_none()
    }

    /// Returns true if a tool is shown. A tool's own claim to be read-only counts if its source is `trusted` by the
    /// policy, as in rules.
    #[must_use]
    pub fn matches(&self, id: &ToolId, spec: &ToolSpec, trusted: bool) -> bool {
        let reads = || trusted && spec.annotations().read_only_hint == Some(true);
        (!self.read_only || reads())
            && self.patterns.as_ref().is_none_or(|globs| globs.matches(&id.to_string()))
    }

    /// Returns true if a tool of a disconnected source may be shown, although its properties are unknown.
    #[must_use]
    pub fn matches_disconnected(&self, id: &str) -> bool {
        !self.read_only && self.matches_name(id)
    }

    /// Returns true if `source/tool` may be shown. Prompts and resources count as read-only by their kind.
    #[must_use]
    pub fn matches_name(&self, id: &str) -> bool {
        self.patterns.as_ref().is_none_or(|globs| globs.matches(id))
    }
}

#[cfg(test)]
mod tests;
