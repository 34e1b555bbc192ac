//! What agents may use. An agent's scope comes before the rules: what is outside of it does not exist for calls in
//! its name, whoever makes them, but for the tools of the caller's own connection.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_types::ToolId;

use super::definition::ApprovalMode;
use crate::caller::Caller;
use crate::glob::{BadGlob, Globs};

/// Patterns that stand for every tool.
const EVERYTHING: [&str; 2] = ["*", "*/*"];

/// What one agent may use, and which of its calls wait for a person.
#[derive(Debug, Clone)]
pub struct AgentScope {
    patterns: Vec<String>,
    /// Whether every tool is within.
    is_everything: bool,
    within: Globs,
    without: Globs,
    approval: ApprovalMode,
}

impl AgentScope {
    /// Every tool, none of whose calls waits by the agent's word.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            patterns: vec!["*/*".to_owned()],
            is_everything: true,
            within: Globs::none(),
            without: Globs::none(),
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
    ) -> Result<Self, BadGlob> {
        let patterns: Vec<String> = patterns.into_iter().map(|it| it.as_ref().to_owned()).collect();
        let (without, within): (Vec<&str>, Vec<&str>) =
            patterns.iter().map(String::as_str).partition(|pattern| pattern.starts_with('!'));
        let is_everything = without.is_empty() && within.iter().any(|it| EVERYTHING.contains(it));
        // As it was written, so that whoever wrote it finds it.
        let without = Globs::new(without.iter().filter_map(|it| it.strip_prefix('!')))
            .map_err(|bad| BadGlob { pattern: format!("!{}", bad.pattern), ..bad })?;
        let within = Globs::new(within)?;
        Ok(Self { patterns, is_everything, within, without, approval })
    }

    /// Whether a tool is within.
    #[must_use]
    pub fn includes(&self, tool: &ToolId) -> bool {
        if self.is_everything {
            return true;
        }
        let id = tool.to_string();
        self.within.matches(&id) && !self.without.matches(&id)
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
    pub(super) fn ask_for_traits(&self) -> bool {
        self.0.values().any(|scope| scope.approval == ApprovalMode::Writes)
    }
}

/// What a caller's agent says of one of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByAgent {
    /// The tool is outside of its scope, or there is no such agent.
    Outside,
    /// It may be used, and this is which calls wait.
    Within(ApprovalMode),
}

impl ByAgent {
    /// Where agents are not told of, or the caller has none.
    pub(super) const NOTHING: Self = Self::Within(ApprovalMode::Never);

    pub(super) fn of(scopes: Option<&AgentScopes>, caller: &Caller, tool: &ToolId) -> Self {
        let (Some(scopes), Some(agent)) = (scopes, caller.agent()) else { return Self::NOTHING };
        // Also a token that is bound to an agent that is gone may use nothing, its own tools neither.
        let Some(scope) = scopes.get(agent) else { return Self::Outside };
        let is_own = || caller.own.as_ref().is_some_and(|own| own.source == tool.source);
        match is_own() || scope.includes(tool) {
            true => Self::Within(scope.approval),
            false => Self::Outside,
        }
    }
}

#[cfg(test)]
mod tests;
