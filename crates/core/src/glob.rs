//! Patterns for tool ids: `pixel-8/*`, `*/read_*`, `builtin/{read,write}_file`.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use toolway_types::text::truncate;

mod char_patterns;

use char_patterns::CharPatterns;

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 1024;
/// Maximum length of a pattern in a message, in bytes.
const MAX_SHOWN_PATTERN: usize = 200;

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a pattern: {problem}")]
pub struct GlobError {
    /// Text of the pattern.
    pub pattern: String,
    /// Description of the problem.
    pub problem: String,
}

/// A list of patterns. A text matches if it matches one of them. `*` is any text, including slashes, `?` is
/// one character, `{a,b}` is one of several texts, `[a-z]` is one character of a range.
#[derive(Clone)]
pub struct GlobPatterns {
    patterns: Vec<String>,
    kind: GlobKind,
    set: GlobSet,
    char_patterns: Option<CharPatterns>,
}

/// Cases that need no pattern matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlobKind {
    /// One pattern matches any text.
    MatchAll,
    /// All patterns are literal.
    Literal,
    Other,
}

fn classify(patterns: &[String]) -> GlobKind {
    if patterns.iter().any(|pattern| pattern == "*") {
        GlobKind::MatchAll
    } else if patterns.iter().any(|pattern| pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])) {
        GlobKind::Other
    } else {
        GlobKind::Literal
    }
}

impl GlobPatterns {
    /// Compiles patterns.
    ///
    /// # Errors
    /// [`GlobError`] for the first invalid pattern.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, GlobError> {
        let mut texts = Vec::new();
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let bad = |problem: String| GlobError { pattern: truncate(pattern, MAX_SHOWN_PATTERN), problem };
            if pattern.is_empty() {
                return Err(bad("it is empty".to_owned()));
            }
            if pattern.len() > MAX_PATTERN {
                return Err(bad(format!(
                    "it is {} bytes long; at most {MAX_PATTERN} are allowed",
                    pattern.len()
                )));
            }
            let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(true).build();
            set.add(glob.map_err(|error| bad(error.kind().to_string()))?);
            texts.push(pattern.to_owned());
        }
        let all =
            |problem: String| GlobError { pattern: truncate(&texts.join(", "), MAX_SHOWN_PATTERN), problem };
        let set = set.build().map_err(|error| all(error.kind().to_string()))?;
        let by_char = CharPatterns::compile(&texts).map_err(|problem| all(problem.to_string()))?;
        Ok(Self { kind: classify(&texts), patterns: texts, set, char_patterns: by_char })
    }

    /// Creates an empty list, which matches nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self { patterns: Vec::new(), kind: GlobKind::Literal, set: GlobSet::empty(), char_patterns: None }
    }

    /// True if a text matches one of the patterns.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match self.kind {
            GlobKind::MatchAll => true,
            GlobKind::Literal => self.patterns.iter().any(|pattern| pattern == text),
            GlobKind::Other if self.char_patterns.is_none() || text.is_ascii() => self.set.is_match(text),
            GlobKind::Other => !self.matching_indices(text).is_empty(),
        }
    }

    /// Indices of all patterns that match a text.
    pub(crate) fn matching_indices(&self, text: &str) -> Vec<usize> {
        let mut found = self.set.matches(text);
        if let Some(by_char) = self.char_patterns.as_ref().filter(|_| !text.is_ascii()) {
            by_char.correct_matches(&mut found, text);
        }
        found
    }

    /// The patterns as written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl fmt::Debug for GlobPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GlobPatterns").field(&self.patterns).finish()
    }
}

#[cfg(test)]
mod tests;
