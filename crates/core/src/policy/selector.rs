//! Which calls a rule is for, compiled.

use toolway_types::Role;

use super::definition::When;
use crate::caller::Caller;
use crate::glob::{BadGlob, Globs};
use crate::spec::ToolSpec;

/// What a tool does, as far as its source is believed. Nothing is known of a tool that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    known: bool,
    pub(crate) read_only: bool,
    destructive: bool,
    open_world: bool,
}

impl Traits {
    /// MCP's defaults: a tool that says nothing writes, may destroy, and reaches out.
    pub(crate) fn of(spec: Option<&ToolSpec>, trusted: bool) -> Self {
        let Some(spec) = spec else {
            return Self { known: false, read_only: false, destructive: true, open_world: true };
        };
        let said = spec.annotations();
        let read_only = trusted && said.read_only_hint == Some(true);
        Self {
            known: true,
            read_only,
            destructive: !(read_only || (trusted && said.destructive_hint == Some(false))),
            open_world: !(trusted && said.open_world_hint == Some(false)),
        }
    }
}

/// Which calls a rule is for.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    principals: Option<Globs>,
    roles: Vec<Role>,
    agents: Option<Globs>,
    tools: Option<Globs>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    open_world: Option<bool>,
}

/// Why a `when` can't be used: the field, and what is wrong.
pub(crate) type BadWhen = (&'static str, String);

impl Selector {
    pub(crate) fn compile(when: &When) -> Result<Self, BadWhen> {
        let globs = |field, patterns: &[String]| match patterns {
            [] => Ok(None),
            patterns => Globs::new(patterns).map(Some).map_err(|bad: BadGlob| (field, bad.to_string())),
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
    pub(crate) fn fits_caller(&self, caller: &Caller) -> bool {
        let principal = &caller.principal;
        self.principals.as_ref().is_none_or(|globs| globs.matches(&principal.id.0))
            && (self.roles.is_empty() || self.roles.contains(&principal.role))
            && self
                .agents
                .as_ref()
                .is_none_or(|globs| caller.agent().is_some_and(|agent| globs.matches(agent)))
    }

    /// The patterns over tools; none where it is for all.
    pub(crate) fn tools(&self) -> Option<&Globs> {
        self.tools.as_ref()
    }

    /// Whether it matters to it what a tool does.
    pub(crate) fn asks_for_traits(&self) -> bool {
        self.read_only.is_some() || self.destructive.is_some() || self.open_world.is_some()
    }

    /// Whether the tool is one of those it is for. Where nothing is known of the tool, `unknown` says whether
    /// it may be.
    pub(crate) fn fits_tool(&self, id: &str, traits: Traits, unknown: bool) -> bool {
        self.fits_traits(traits, unknown) && self.tools.as_ref().is_none_or(|globs| globs.matches(id))
    }

    /// The same but for its patterns over tools.
    pub(crate) fn fits_traits(&self, traits: Traits, unknown: bool) -> bool {
        let says = |wanted: Option<bool>, is: bool| match wanted {
            None => true,
            Some(_) if !traits.known => unknown,
            Some(wanted) => wanted == is,
        };
        says(self.read_only, traits.read_only)
            && says(self.destructive, traits.destructive)
            && says(self.open_world, traits.open_world)
    }
}
