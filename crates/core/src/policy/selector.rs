//! Compiled conditions of rules.

use toolway_types::Role;

use super::definition::RuleCondition;
use crate::caller::Caller;
use crate::glob::{GlobError, GlobPatterns};
use crate::spec::ToolSpec;

/// Traits of a tool, as far as its source is trusted. Unknown for a tool whose source is offline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolTraits {
    is_known: bool,
    pub(crate) read_only: bool,
    destructive: bool,
    open_world: bool,
}

impl ToolTraits {
    /// Traits with MCP's defaults: a tool without annotations writes, may destroy, and reaches beyond its
    /// source.
    pub(crate) fn of(spec: Option<&ToolSpec>, trusted: bool) -> Self {
        let Some(spec) = spec else {
            return Self { is_known: false, read_only: false, destructive: true, open_world: true };
        };
        let said = spec.annotations();
        let read_only = trusted && said.read_only_hint == Some(true);
        Self {
            is_known: true,
            read_only,
            destructive: !(read_only || (trusted && said.destructive_hint == Some(false))),
            open_world: !(trusted && said.open_world_hint == Some(false)),
        }
    }
}

/// A compiled condition.
#[derive(Debug, Clone)]
pub(crate) struct RuleSelector {
    principals: Option<GlobPatterns>,
    roles: Vec<Role>,
    agents: Option<GlobPatterns>,
    tools: Option<GlobPatterns>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    open_world: Option<bool>,
}

/// A problem in a condition: the field and a description.
pub(crate) type ConditionError = (&'static str, String);

impl RuleSelector {
    pub(crate) fn compile(when: &RuleCondition) -> Result<Self, ConditionError> {
        let globs = |field, patterns: &[String]| match patterns {
            [] => Ok(None),
            patterns => {
                GlobPatterns::new(patterns).map(Some).map_err(|bad: GlobError| (field, bad.to_string()))
            }
        };
        let roles = when.roles.iter().map(|role| role.parse::<Role>());
        Ok(Self {
            principals: globs("principals", &when.principals)?,
            roles: roles.collect::<Result<_, _>>().map_err(|unknown| ("roles", unknown.to_string()))?,
            agents: globs("agents", &when.agents)?,
            tools: globs("tools", &when.tools)?,
            read_only: when.read_only,
            destructive: when.destructive,
            open_world: when.open_world,
        })
    }

    /// True if the caller matches.
    pub(crate) fn matches_caller(&self, caller: &Caller) -> bool {
        let principal = &caller.principal;
        self.principals.as_ref().is_none_or(|globs| globs.matches(&principal.id.0))
            && (self.roles.is_empty() || self.roles.contains(&principal.role))
            && self
                .agents
                .as_ref()
                .is_none_or(|globs| caller.agent().is_some_and(|agent| globs.matches(agent)))
    }

    /// Patterns for tools; None if all tools match.
    pub(crate) fn tools(&self) -> Option<&GlobPatterns> {
        self.tools.as_ref()
    }

    /// True if the condition depends on the traits of a tool.
    pub(crate) fn uses_traits(&self) -> bool {
        self.read_only.is_some() || self.destructive.is_some() || self.open_world.is_some()
    }

    /// True if the tool matches. `unknown` is the result for unknown traits.
    pub(crate) fn matches_tool(&self, id: &str, traits: ToolTraits, unknown: bool) -> bool {
        self.matches_traits(traits, unknown) && self.tools.as_ref().is_none_or(|globs| globs.matches(id))
    }

    /// True if the traits match, regardless of the patterns.
    pub(crate) fn matches_traits(&self, traits: ToolTraits, unknown: bool) -> bool {
        let says = |wanted: Option<bool>, is: bool| match wanted {
            None => true,
            Some(_) if !traits.is_known => unknown,
            Some(wanted) => wanted == is,
        };
        says(self.read_only, traits.read_only)
            && says(self.destructive, traits.destructive)
            && says(self.open_world, traits.open_world)
    }
}
