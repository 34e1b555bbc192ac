//! The scope of an MCP client: the caller, the endpoint, and the tools that both allow.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolway_core::{Caller, Engine, Tool, ToolLookup, ToolSpec};
use toolway_types::{Slug, ToolId, ToolName};

use super::restrictions::ToolRestrictions;

/// The tools that an endpoint shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EndpointScope {
    /// All tools that the caller may call, under their full names.
    Everything,
    /// The tools and other features of one source, under the names that the source gave them.
    Source(Slug),
}

/// A caller at an endpoint. Created by the gateway after authentication.
#[derive(Debug, Clone)]
pub struct ClientScope {
    /// The caller.
    pub caller: Caller,
    /// The endpoint.
    pub scope: EndpointScope,
    /// Restrictions that the client requested.
    pub restrictions: Arc<ToolRestrictions>,
    /// Cancelled when the caller loses access. Calls and streams then end.
    pub revoked: CancellationToken,
}

/// A tool that is visible in this scope.
pub(crate) struct VisibleTool {
    /// The id for calls.
    pub(crate) id: ToolId,
    /// The tool.
    pub(crate) tool: Arc<dyn Tool>,
}

/// The result of resolving a name.
pub(crate) enum ResolvedTool {
    /// A tool of a connected source.
    Connected(VisibleTool),
    /// A tool of a disconnected source.
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

/// The name of an upstream's resources in policy rules, as if they were a tool.
pub const RESOURCES_FEATURE: &str = "mcp.resources";
/// The name of an upstream's prompts in policy rules.
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

    /// Resolves a name in this scope. `None` if it is unknown or forbidden: the caller can't tell these apart.
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

    /// The name of a tool in this scope.
    pub(crate) fn exposed_name(&self, id: &ToolId) -> String {
        match &self.scope {
            EndpointScope::Everything => id.full_name().to_string(),
            EndpointScope::Source(_) => id.tool.to_string(),
        }
    }

    /// Returns true if the caller may use a feature of this upstream. Rules name it `source/mcp.resources` or
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

    /// Returns true if both scopes have the same caller and the same endpoint.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.caller.principal.id == other.caller.principal.id
            && self.caller.agent == other.caller.agent
            && self.scope == other.scope
    }
}
