//! Patterns over tools' ids: `pixel-8/*`, `*/read_*`, `builtin/{read,write}_file`.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

mod by_char;

use by_char::ByChar;

/// A pattern that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a pattern: {problem}")]
pub struct BadGlob {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Several patterns; a text fits where it fits one of them. `*` stands for any text, slashes included, `?` for
/// one character, `{a,b}` for one of several, `[a-z]` for one of a range.
#[derive(Clone)]
pub struct Globs {
    patterns: Vec<String>,
    kind: Kind,
    set: GlobSet,
    by_char: Option<ByChar>,
}

/// What can be decided without looking for patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of them stands for any text.
    All,
    /// None of them stands for anything but itself.
    Literal,
    Other,
}

fn kind(patterns: &[String]) -> Kind {
    if patterns.iter().any(|pattern| pattern == "*") {
        Kind::All
    } else if patterns.iter().any(|pattern| pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])) {
        Kind::Other
    } else {
        Kind::Literal
    }
}

impl Globs {
    /// Compiles patterns.
    ///
    /// # Errors
    /// [`BadGlob`] names the first that can't be used.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, BadGlob> {
        let mut texts = Vec::new();
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let bad = |problem: String| BadGlob { pattern: pattern.to_owned(), problem };
            if pattern.is_empty() {
                return Err(bad("it is empty".to_owned()));
            }
            let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(true).build();
            set.add(glob.map_err(|error| bad(error.kind().to_string()))?);
            texts.push(pattern.to_owned());
        }
        let set = set
            .build()
            .map_err(|error| BadGlob { pattern: texts.join(", "), problem: error.kind().to_string() })?;
        let by_char = ByChar::of(&texts)
            .map_err(|problem| BadGlob { pattern: texts.join(", "), problem: problem.to_string() })?;
        Ok(Self { kind: kind(&texts), patterns: texts, set, by_char })
    }

    /// No pattern at all, which nothing fits.
    #[must_use]
    pub fn none() -> Self {
        Self { patterns: Vec::new(), kind: Kind::Literal, set: GlobSet::empty(), by_char: None }
    }

    /// Whether a text fits one of them.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match self.kind {
            Kind::All => true,
            Kind::Literal => self.patterns.iter().any(|pattern| pattern == text),
            Kind::Other if self.by_char.is_none() || text.is_ascii() => self.set.is_match(text),
            Kind::Other => !self.which(text).is_empty(),
        }
    }

    /// The places of all that a text fits.
    pub(crate) fn which(&self, text: &str) -> Vec<usize> {
        let mut found = self.set.matches(text);
        if let Some(by_char) = self.by_char.as_ref().filter(|_| !text.is_ascii()) {
            by_char.correct(&mut found, text);
        }
        found
    }

    /// The patterns as they were written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl fmt::Debug for Globs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Globs").field(&self.patterns).finish()
    }
}

#[cfg(test)]
mod tests;
