//! What agents may use. An agent's scope comes before the rules: what is outside of it does not exist for calls in
//! its name, whoever makes them, but for the tools of the caller's own connection.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_types::ToolId;

use super::definition::ApprovalMode;
use crate::caller::Caller;
use crate::glob::{GlobError, GlobPatterns};

/// Patterns that stand for every tool.
const MATCH_ALL_PATTERNS: [&str; 2] = ["*", "*/*"];

/// What one agent may use, and which of its calls wait for a person.
#[derive(Debug, Clone)]
pub struct AgentScope {
    patterns: Vec<String>,
    /// Whether every tool is within.
    includes_all: bool,
    included: GlobPatterns,
    excluded: GlobPatterns,
    approval: ApprovalMode,
}

impl AgentScope {
    /// Every tool, none of whose calls waits by the agent's word.
    #[must_use]
    pub fn all_tools() -> Self {
        Self {
            patterns: vec!["*/*".to_owned()],
            includes_all: true,
            included: GlobPatterns::empty(),
            excluded: GlobPatterns::empty(),
            approval: ApprovalMode::Never,
        }
    }

    /// The tools whose `source/tool` fits one of the patterns, but for those that fit one that begins with `!`,
    /// wherever it stands. `approval` counts where it is stricter than the settings.
    ///
    /// # Errors
    /// [`BadGlob`] names the first pattern that can't be used.
    pub fn new<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
        approval: ApprovalMode,
    ) -> Result<Self, GlobError> {
        let patterns: Vec<String> = patterns.into_iter().map(|it| it.as_ref().to_owned()).collect();
        let (without, within): (Vec<&str>, Vec<&str>) =
            patterns.iter().map(String::as_str).partition(|pattern| pattern.starts_with('!'));
        let is_everything = without.is_empty() && within.iter().any(|it| MATCH_ALL_PATTERNS.contains(it));
        // As it was written, so that whoever wrote it finds it.
        let without = GlobPatterns::new(without.iter().filter_map(|it| it.strip_prefix('!')))
            .map_err(|bad| GlobError { pattern: format!("!{}", bad.pattern), ..bad })?;
        let within = GlobPatterns::new(within)?;
        Ok(Self { patterns, includes_all: is_everything, included: within, excluded: without, approval })
    }

    /// Whether a tool is within.
    #[must_use]
    pub fn includes(&self, tool: &ToolId) -> bool {
        if self.includes_all {
            return true;
        }
        let id = tool.to_string();
        self.included.matches(&id) && !self.excluded.matches(&id)
    }

    /// The patterns as they were written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// The scopes of all agents, by name. An agent that is not among them may use nothing.
#[derive(Debug, Default)]
pub struct AgentScopes(HashMap<Arc<str>, AgentScope>);

impl FromIterator<(Arc<str>, AgentScope)> for AgentScopes {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, AgentScope)>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl AgentScopes {
    /// The scope of an agent; none where there is no such agent.
    #[must_use]
    pub fn get(&self, agent: &str) -> Option<&AgentScope> {
        self.0.get(agent)
    }

    /// Whether it matters to any of them what a tool does.
    pub(super) fn use_traits(&self) -> bool {
        self.0.values().any(|scope| scope.approval == ApprovalMode::Writes)
    }
}

/// What a caller's agent says of one of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentScopeCheck {
    /// The tool is outside of its scope, or there is no such agent.
    OutOfScope,
    /// It may be used, and this is which calls wait.
    InScope(ApprovalMode),
}

impl AgentScopeCheck {
    /// Where agents are not told of, or the caller has none.
    pub(super) const UNRESTRICTED: Self = Self::InScope(ApprovalMode::Never);

    pub(super) fn check(scopes: Option<&AgentScopes>, caller: &Caller, tool: &ToolId) -> Self {
        let (Some(scopes), Some(agent)) = (scopes, caller.agent()) else { return Self::UNRESTRICTED };
        // Also a token that is bound to an agent that is gone may use nothing, its own tools neither.
        let Some(scope) = scopes.get(agent) else { return Self::OutOfScope };
        let is_own = || caller.registration.as_ref().is_some_and(|own| own.source == tool.source);
        match is_own() || scope.includes(tool) {
            true => Self::InScope(scope.approval),
            false => Self::OutOfScope,
        }
    }
}

#[cfg(test)]
mod tests;
