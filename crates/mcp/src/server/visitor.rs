//! Who calls over MCP, and which part of the gateway they look at.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolway_core::{Caller, Engine, Lookup, Tool, ToolSpec};
use toolway_types::{Slug, ToolId, ToolName};

use super::bounds::Bounds;

/// Which tools an endpoint shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All that the caller may call, under the names that are unique over all sources.
    Everything,
    /// Those of one source, under the names that it gave them, and what else it offers.
    Source(Slug),
}

/// A caller at an endpoint. Whatever lets callers in makes it.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// Who.
    pub caller: Caller,
    /// What they look at.
    pub scope: Scope,
    /// What they want to see of it at most.
    pub bounds: Arc<Bounds>,
    /// Cancelled when they may not come in any more: their calls and streams end with it.
    pub gone: CancellationToken,
}

/// A tool as one visitor sees it.
pub(crate) struct Seen {
    /// Its id, by which it is called.
    pub(crate) id: ToolId,
    /// The tool.
    pub(crate) tool: Arc<dyn Tool>,
}

/// What a name means.
pub(crate) enum Meant {
    /// A tool that is here.
    Here(Seen),
    /// One whose source is not connected.
    Away(ToolId),
}

impl Meant {
    /// The id of the tool.
    pub(crate) fn id(self) -> ToolId {
        match self {
            Self::Away(id) | Self::Here(Seen { id, .. }) => id,
        }
    }
}

/// What stands in rules for an upstream's resources, as if it were a tool of it.
pub const RESOURCES: &str = "mcp.resources";
/// What stands in rules for an upstream's prompts.
pub const PROMPTS: &str = "mcp.prompts";

impl Visitor {
    /// The tools, sorted by id.
    pub(crate) fn tools(&self, engine: &Engine) -> Vec<Seen> {
        let policy = engine.policy();
        let snapshot = engine.registry().snapshot();
        let is_here = |id: &ToolId| match &self.scope {
            Scope::Everything => true,
            Scope::Source(source) => id.source == *source,
        };
        snapshot
            .tools()
            .filter(|(id, _)| is_here(id))
            .filter(|(id, tool)| self.bounds.matches(id, tool.spec(), policy.trusts(&id.source)))
            .filter(|(id, tool)| policy.may_use(&self.caller, id, Some(tool.spec())))
            .map(|(id, tool)| Seen { id, tool: Arc::clone(tool) })
            .collect()
    }

    /// What a name means here. None where it means nothing, or nothing for this caller: the two look the same.
    pub(crate) fn tool(&self, engine: &Engine, name: &str) -> Option<Meant> {
        let policy = engine.policy();
        let snapshot = engine.registry().snapshot();
        let sees = |id: &ToolId, spec: Option<&ToolSpec>| {
            let is_within = match spec {
                Some(spec) => self.bounds.matches(id, spec, policy.trusts(&id.source)),
                None => self.bounds.matches_away(&id.to_string()),
            };
            is_within && policy.may_use(&self.caller, id, spec)
        };
        let full = match &self.scope {
            Scope::Everything => name.to_owned(),
            Scope::Source(source) => ToolId::new(source.clone(), name.parse().ok()?).exposed().to_string(),
        };
        match snapshot.lookup(&full, &self.caller, sees) {
            Lookup::Found(id, tool, _) => Some(Meant::Here(Seen { id, tool })),
            Lookup::Away(id) => Some(Meant::Away(id)),
            Lookup::Unknown | Lookup::Ambiguous(_) => None,
        }
    }

    /// A tool's name here.
    pub(crate) fn name(&self, id: &ToolId) -> String {
        match &self.scope {
            Scope::Everything => id.exposed().to_string(),
            Scope::Source(_) => id.tool.to_string(),
        }
    }

    /// Whether they may have what this upstream offers beyond tools: rules name it `source/mcp.resources` and
    /// `source/mcp.prompts`.
    pub(crate) fn may_have(&self, engine: &Engine, source: &Slug, what: &str) -> bool {
        let is_here = match &self.scope {
            Scope::Everything => true,
            Scope::Source(own) => own == source,
        };
        let Ok(name) = what.parse::<ToolName>() else { return false };
        let id = ToolId::new(source.clone(), name);
        is_here
            && self.bounds.matches_name(&id.to_string())
            && engine.policy().may_use(&self.caller, &id, None)
    }

    /// Whether another visitor is the same caller looking at the same part.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.caller.principal.id == other.caller.principal.id
            && self.caller.agent == other.caller.agent
            && self.scope == other.scope
    }
}
