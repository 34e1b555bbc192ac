//! Who calls over MCP, and which part of the gateway they look at.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolway_core::{Caller, Engine, Tool, ToolLookup, ToolSpec};
use toolway_types::{Slug, ToolId, ToolName};

use super::restrictions::ToolRestrictions;

/// Which tools an endpoint shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EndpointScope {
    /// All that the caller may call, under the names that are unique over all sources.
    Everything,
    /// Those of one source, under the names that it gave them, and what else it offers.
    Source(Slug),
}

/// A caller at an endpoint. Whatever lets callers in makes it.
#[derive(Debug, Clone)]
pub struct ClientScope {
    /// Who.
    pub caller: Caller,
    /// What they look at.
    pub scope: EndpointScope,
    /// What they want to see of it at most.
    pub restrictions: Arc<ToolRestrictions>,
    /// Cancelled when they may not come in any more: their calls and streams end with it.
    pub revoked: CancellationToken,
}

/// A tool as one visitor sees it.
pub(crate) struct VisibleTool {
    /// Its id, by which it is called.
    pub(crate) id: ToolId,
    /// The tool.
    pub(crate) tool: Arc<dyn Tool>,
}

/// What a name means.
pub(crate) enum ResolvedTool {
    /// A tool that is here.
    Connected(VisibleTool),
    /// One whose source is not connected.
    Disconnected(ToolId),
}

impl ResolvedTool {
    /// The id of the tool.
    pub(crate) fn into_id(self) -> ToolId {
        match self {
            Self::Disconnected(id) | Self::Connected(VisibleTool { id, .. }) => id,
        }
    }
}

/// What stands in rules for an upstream's resources, as if it were a tool of it.
pub const RESOURCES_FEATURE: &str = "mcp.resources";
/// What stands in rules for an upstream's prompts.
pub const PROMPTS_FEATURE: &str = "mcp.prompts";

impl ClientScope {
    /// The tools, sorted by id.
    pub(crate) fn visible_tools(&self, engine: &Engine) -> Vec<VisibleTool> {
        let policy = engine.policy();
        let snapshot = engine.registry().snapshot();
        let is_here = |id: &ToolId| match &self.scope {
            EndpointScope::Everything => true,
            EndpointScope::Source(source) => id.source == *source,
        };
        snapshot
            .tools()
            .filter(|(id, _)| is_here(id))
            .filter(|(id, tool)| self.restrictions.matches(id, tool.spec(), policy.is_trusted(&id.source)))
            .filter(|(id, tool)| policy.may_use(&self.caller, id, Some(tool.spec())))
            .map(|(id, tool)| VisibleTool { id, tool: Arc::clone(tool) })
            .collect()
    }

    /// What a name means here. None where it means nothing, or nothing for this caller: the two look the same.
    pub(crate) fn resolve_tool(&self, engine: &Engine, name: &str) -> Option<ResolvedTool> {
        let policy = engine.policy();
        let snapshot = engine.registry().snapshot();
        let sees = |id: &ToolId, spec: Option<&ToolSpec>| {
            let is_within = match spec {
                Some(spec) => self.restrictions.matches(id, spec, policy.is_trusted(&id.source)),
                None => self.restrictions.matches_disconnected(&id.to_string()),
            };
            is_within && policy.may_use(&self.caller, id, spec)
        };
        let full = match &self.scope {
            EndpointScope::Everything => name.to_owned(),
            EndpointScope::Source(source) => {
                ToolId::new(source.clone(), name.parse().ok()?).full_name().to_string()
            }
        };
        match snapshot.lookup(&full, &self.caller, sees) {
            ToolLookup::Found(id, tool, _) => Some(ResolvedTool::Connected(VisibleTool { id, tool })),
            ToolLookup::Offline(id) => Some(ResolvedTool::Disconnected(id)),
            ToolLookup::Unknown | ToolLookup::Ambiguous(_) => None,
        }
    }

    /// A tool's name here.
    pub(crate) fn exposed_name(&self, id: &ToolId) -> String {
        match &self.scope {
            EndpointScope::Everything => id.full_name().to_string(),
            EndpointScope::Source(_) => id.tool.to_string(),
        }
    }

    /// Whether they may have what this upstream offers beyond tools: rules name it `source/mcp.resources` and
    /// `source/mcp.prompts`.
    pub(crate) fn can_use_feature(&self, engine: &Engine, source: &Slug, what: &str) -> bool {
        let is_here = match &self.scope {
            EndpointScope::Everything => true,
            EndpointScope::Source(own) => own == source,
        };
        let Ok(name) = what.parse::<ToolName>() else { return false };
        let id = ToolId::new(source.clone(), name);
        is_here
            && self.restrictions.matches_name(&id.to_string())
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
