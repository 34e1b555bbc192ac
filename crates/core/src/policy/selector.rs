//! Which calls a rule is for, compiled.

use toolway_types::Role;

use super::definition::RuleCondition;
use crate::caller::Caller;
use crate::glob::{GlobError, GlobPatterns};
use crate::spec::ToolSpec;

/// What a tool does, as far as its source is believed. Nothing is known of a tool that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolTraits {
    is_known: bool,
    pub(crate) read_only: bool,
    destructive: bool,
    open_world: bool,
}

impl ToolTraits {
    /// MCP's defaults: a tool that says nothing writes, may destroy, and reaches out.
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

/// Which calls a rule is for.
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

/// Why a `when` can't be used: the field, and what is wrong.
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

    /// Whether the caller is one of those it is for.
    pub(crate) fn matches_caller(&self, caller: &Caller) -> bool {
        let principal = &caller.principal;
        self.principals.as_ref().is_none_or(|globs| globs.matches(&principal.id.0))
            && (self.roles.is_empty() || self.roles.contains(&principal.role))
            && self
                .agents
                .as_ref()
                .is_none_or(|globs| caller.agent().is_some_and(|agent| globs.matches(agent)))
    }

    /// The patterns over tools; none where it is for all.
    pub(crate) fn tools(&self) -> Option<&GlobPatterns> {
        self.tools.as_ref()
    }

    /// Whether it matters to it what a tool does.
    pub(crate) fn uses_traits(&self) -> bool {
        self.read_only.is_some() || self.destructive.is_some() || self.open_world.is_some()
    }

    /// Whether the tool is one of those it is for. Where nothing is known of the tool, `unknown` says whether
    /// it may be.
    pub(crate) fn matches_tool(&self, id: &str, traits: ToolTraits, unknown: bool) -> bool {
        self.matches_traits(traits, unknown) && self.tools.as_ref().is_none_or(|globs| globs.matches(id))
    }

    /// The same but for its patterns over tools.
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
