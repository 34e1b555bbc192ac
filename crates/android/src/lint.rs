//! Problems of a provider, for its developer: in its manifest ([`lint_manifest`]), in its list of tools
//! ([`lint_provider`]), and in its handling of calls ([`probe`]). Each finding has a place, a description and
//! a remedy.
//!
//! Findings do not influence how a consumer treats a provider. The same problem may also be noted on the
//! provider.

mod authorization;
mod calls;
mod manifest;
mod probe_arguments;
mod provider;
mod tool_check;

use serde::Serialize;

pub use calls::{ProbeReport, probe};
pub use manifest::lint_manifest;
pub use provider::lint_provider;
pub use tool_check::{ToolCheck, ToolCheckResult};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LintLevel {
    /// Something does not work.
    Error,
    /// Something works by chance, or not everywhere.
    Warning,
    /// Useful information.
    Note,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// Severity.
    pub level: LintLevel,
    /// Place: an element of the manifest, a tool or a method.
    pub location: String,
    /// Description of the problem.
    pub message: String,
    /// Remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Collector of findings.
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

    /// Sorts the findings by severity, otherwise in order of discovery.
    fn sorted(mut self) -> Vec<LintFinding> {
        self.0.sort_by_key(|finding| finding.level);
        self.0
    }
}

#[cfg(test)]
mod tests;
