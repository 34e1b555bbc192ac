//! Finds the rules whose patterns match a tool, in one pass over all patterns.

use super::selector::RuleSelector;
use crate::glob::GlobPatterns;

/// The tool patterns of a list of rules.
#[derive(Debug)]
pub(super) struct ToolIndex {
    patterns: GlobPatterns,
    /// Index of the rule of each pattern.
    rules: Vec<usize>,
    /// For each rule, true if it applies to all tools.
    for_all: Vec<bool>,
}

impl Default for ToolIndex {
    fn default() -> Self {
        Self { patterns: GlobPatterns::empty(), rules: Vec::new(), for_all: Vec::new() }
    }
}

impl ToolIndex {
    /// Builds the index from rules whose patterns are already compiled. None if the patterns together are too
    /// large.
    pub(super) fn build<'a>(selectors: impl Iterator<Item = &'a RuleSelector>) -> Option<Self> {
        let (mut patterns, mut rules, mut for_all) = (Vec::new(), Vec::new(), Vec::new());
        for (at, selector) in selectors.enumerate() {
            for_all.push(selector.tools().is_none());
            for pattern in selector.tools().into_iter().flat_map(GlobPatterns::patterns) {
                patterns.push(pattern.as_str());
                rules.push(at);
            }
        }
        Some(Self { patterns: GlobPatterns::new(patterns).ok()?, rules, for_all })
    }

    /// For each rule, true if the tool matches.
    pub(super) fn matching_rules(&self, id: &str) -> Vec<bool> {
        let mut fitting = self.for_all.clone();
        for pattern in self.patterns.matching_indices(id) {
            let rule = self.rules.get(pattern).and_then(|at| fitting.get_mut(*at));
            if let Some(rule) = rule {
                *rule = true;
            }
        }
        fitting
    }
}
