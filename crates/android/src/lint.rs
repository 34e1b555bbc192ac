//! What is wrong with a provider, for its developer: with its manifest ([`of_manifest`]), with what it lists
//! ([`of_provider`]), and with how it takes arguments ([`probe`]). Each finding says where, what, and what to do.
//!
//! Nothing here decides what a consumer does with a provider; the same fault may be shown on its row as well.

mod calls;
mod manifest;
mod provider;

use serde::Serialize;

pub use calls::{ProbeReport, probe};
pub use manifest::lint_manifest;
pub use provider::lint_provider;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LintLevel {
    /// Something does not work.
    Error,
    /// Something works by luck, or not everywhere.
    Warning,
    /// Worth knowing.
    Note,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// How bad it is.
    pub level: LintLevel,
    /// Where: an element of the manifest, a tool, a method.
    pub location: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Findings as they come up.
#[derive(Debug, Default)]
struct LintFindings(Vec<LintFinding>);

impl LintFindings {
    fn add(&mut self, level: LintLevel, location: &str, message: impl Into<String>, hint: &str) {
        let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        self.0.push(LintFinding { level, location: location.to_owned(), message: message.into(), hint });
    }

    fn error(&mut self, location: &str, message: impl Into<String>, hint: &str) {
        self.add(LintLevel::Error, location, message, hint);
    }

    fn warning(&mut self, location: &str, message: impl Into<String>, hint: &str) {
        self.add(LintLevel::Warning, location, message, hint);
    }

    fn note(&mut self, location: &str, message: impl Into<String>, hint: &str) {
        self.add(LintLevel::Note, location, message, hint);
    }

    /// The worst first, otherwise in the order in which they came up.
    fn sorted(mut self) -> Vec<LintFinding> {
        self.0.sort_by_key(|finding| finding.level);
        self.0
    }
}

#[cfg(test)]
mod tests;
