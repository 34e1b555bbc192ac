//! What is wrong with a provider, for its developer: with its manifest ([`of_manifest`]), with what it lists
//! ([`of_provider`]), and with how it takes arguments ([`probe`]). Each finding says where, what, and what to do.
//!
//! Nothing here decides what a consumer does with a provider; the same fault may be shown on its row as well.

mod calls;
mod manifest;
mod provider;

use serde::Serialize;

pub use calls::{Probed, probe};
pub use manifest::of_manifest;
pub use provider::of_provider;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Something does not work.
    Error,
    /// Something works by luck, or not everywhere.
    Warning,
    /// Worth knowing.
    Note,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// Where: an element of the manifest, a tool, a method.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Findings as they come up.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, level: Level, place: &str, what: impl Into<String>, remedy: &str) {
        let remedy = Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty());
        self.0.push(Finding { level, place: place.to_owned(), what: what.into(), remedy });
    }

    fn error(&mut self, place: &str, what: impl Into<String>, remedy: &str) {
        self.add(Level::Error, place, what, remedy);
    }

    fn warning(&mut self, place: &str, what: impl Into<String>, remedy: &str) {
        self.add(Level::Warning, place, what, remedy);
    }

    fn note(&mut self, place: &str, what: impl Into<String>, remedy: &str) {
        self.add(Level::Note, place, what, remedy);
    }

    /// The worst first, otherwise in the order in which they came up.
    fn sorted(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| finding.level);
        self.0
    }
}

#[cfg(test)]
mod tests;
