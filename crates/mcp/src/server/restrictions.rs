//! What a client asked to be shown less of: reading tools alone, tools of some patterns alone. Bounds only ever take
//! away from what the client may use; nothing here grants anything.

use toolway_core::{GlobError, GlobPatterns, ToolSpec};
use toolway_types::ToolId;

/// Most patterns that a client may give.
pub const MAX_PATTERNS: usize = 256;
/// Longest pattern, in bytes.
pub const MAX_PATTERN: usize = 1024;

/// Why bounds can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolRestrictionsError {
    /// One of the patterns is none.
    #[error(transparent)]
    Pattern(#[from] GlobError),
    /// More than [`MAX_PATTERNS`].
    #[error("{0} patterns are more than the {MAX_PATTERNS} that may be given")]
    TooMany(usize),
    /// One is longer than [`MAX_PATTERN`].
    #[error("a pattern of {0} bytes is longer than the {MAX_PATTERN} that one may have")]
    TooLong(usize),
}

/// What is shown of all that a client may use. Without any bounds: all of it.
#[derive(Debug, Clone, Default)]
pub struct ToolRestrictions {
    /// Only tools that count as reading.
    read_only: bool,
    /// Only tools whose `source/tool` fits one of these, where there are any.
    patterns: Option<GlobPatterns>,
}

impl ToolRestrictions {
    /// Only what reads where `read_only` is said; only what fits one of `only`, where there are any.
    ///
    /// # Errors
    /// [`BadBounds`] says which pattern can't be used, or that there are too many.
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

    /// Whether they leave everything as it is.
    #[must_use]
    pub fn is_unrestricted(&self) -> bool {
        !self.read_only && self.patterns.is_none()
    }

    /// Whether a tool is within. That a tool only reads is its own word, which counts where its source is `trusted`
    /// (as the policy sees it), as it does in rules.
    #[must_use]
    pub fn matches(&self, id: &ToolId, spec: &ToolSpec, trusted: bool) -> bool {
        let reads = || trusted && spec.annotations().read_only_hint == Some(true);
        (!self.read_only || reads())
            && self.patterns.as_ref().is_none_or(|globs| globs.matches(&id.to_string()))
    }

    /// Whether a tool may be within whose source is away, so that nobody knows what it does.
    #[must_use]
    pub fn matches_disconnected(&self, id: &str) -> bool {
        !self.read_only && self.matches_name(id)
    }

    /// Whether `source/tool`, of which nothing more is known, may be within. What is not a tool (a prompt, a
    /// resource) has no say in whether it reads, since its kind can do nothing else.
    #[must_use]
    pub fn matches_name(&self, id: &str) -> bool {
        self.patterns.as_ref().is_none_or(|globs| globs.matches(id))
    }
}

#[cfg(test)]
mod tests;
