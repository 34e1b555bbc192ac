//! Scopes of agents. They apply before the rules: a tool outside the scope does not exist for calls of the
//! agent, for any caller. This includes the tools of the caller's own connection.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_types::ToolId;

use super::definition::ApprovalMode;
use crate::caller::Caller;
use crate::glob::{GlobError, GlobPatterns};

/// Patterns that match every tool.
const MATCH_ALL_PATTERNS: [&str; 2] = ["*", "*/*"];

/// Tools that one agent may use, its approval mode and its time zone.
#[derive(Debug, Clone)]
pub struct AgentScope {
    patterns: Vec<String>,
    /// True if every tool is included.
    includes_all: bool,
    included: GlobPatterns,
    excluded: GlobPatterns,
    approval: ApprovalMode,
    time_zone: Option<Arc<str>>,
}

impl AgentScope {
    /// Creates a scope of all tools that requires no approval.
    #[must_use]
    pub fn all_tools() -> Self {
        Self {
            patterns: vec!["*/*".to_owned()],
            includes_all: true,
            included: GlobPatterns::empty(),
            excluded: GlobPatterns::empty(),
            approval: ApprovalMode::Never,
            time_zone: None,
        }
    }

    /// Creates a scope of the tools whose `source/tool` matches one of the patterns. Patterns that begin with
    /// `!` exclude tools, in any position. `approval` applies if it is stricter than the settings.
    ///
    /// # Errors
    /// [`GlobError`] for the first invalid pattern.
    pub fn new<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
        approval: ApprovalMode,
    ) -> Result<Self, GlobError> {
        let patterns: Vec<String> = patterns.into_iter().map(|it| it.as_ref().to_owned()).collect();
        let (without, within): (Vec<&str>, Vec<&str>) =
            patterns.iter().map(String::as_str).partition(|pattern| pattern.starts_with('!'));
        let is_everything = without.is_empty() && within.iter().any(|it| MATCH_ALL_PATTERNS.contains(it));
        // Reports the pattern as it was written, with its `!`.
        let without = GlobPatterns::new(without.iter().filter_map(|it| it.strip_prefix('!')))
            .map_err(|bad| GlobError { pattern: format!("!{}", bad.pattern), ..bad })?;
        let within = GlobPatterns::new(within)?;
        Ok(Self {
            patterns,
            includes_all: is_everything,
            included: within,
            excluded: without,
            approval,
            time_zone: None,
        })
    }

    /// Sets the time zone for calls of the agent whose entry point knows none.
    #[must_use]
    pub fn with_time_zone(self, time_zone: Option<Arc<str>>) -> Self {
        Self { time_zone, ..self }
    }

    /// True if the scope includes a tool.
    #[must_use]
    pub fn includes(&self, tool: &ToolId) -> bool {
        if self.includes_all {
            return true;
        }
        let id = tool.to_string();
        self.included.matches(&id) && !self.excluded.matches(&id)
    }

    /// The patterns as written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// The scopes of all agents, by name. An agent without a scope may use no tool.
#[derive(Debug, Default)]
pub struct AgentScopes(HashMap<Arc<str>, AgentScope>);

impl FromIterator<(Arc<str>, AgentScope)> for AgentScopes {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, AgentScope)>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl AgentScopes {
    /// The scope of an agent; None if the agent does not exist.
    #[must_use]
    pub fn get(&self, agent: &str) -> Option<&AgentScope> {
        self.0.get(agent)
    }

    /// The time zone of an agent, if it has one.
    pub(super) fn time_zone(&self, agent: &str) -> Option<&Arc<str>> {
        self.0.get(agent)?.time_zone.as_ref()
    }

    /// True if a scope depends on the traits of a tool.
    pub(super) fn use_traits(&self) -> bool {
        self.0.values().any(|scope| scope.approval == ApprovalMode::Writes)
    }
}

/// Result of checking a call against the scope of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentScopeCheck {
    /// The tool is outside the scope, or the agent does not exist.
    OutOfScope,
    /// The tool may be used with this approval mode.
    InScope(ApprovalMode),
}

impl AgentScopeCheck {
    /// Result without scopes, or for a caller without an agent.
    pub(super) const UNRESTRICTED: Self = Self::InScope(ApprovalMode::Never);

    pub(super) fn check(scopes: Option<&AgentScopes>, caller: &Caller, tool: &ToolId) -> Self {
        let (Some(scopes), Some(agent)) = (scopes, caller.agent()) else { return Self::UNRESTRICTED };
        // A token bound to a removed agent may use no tool, not even those of its own connection.
        match scopes.get(agent) {
            Some(scope) if scope.includes(tool) => Self::InScope(scope.approval),
            _ => Self::OutOfScope,
        }
    }
}

#[cfg(test)]
mod tests;
