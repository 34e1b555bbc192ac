//! `/api/agents`: agents.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::origin::DefinitionOrigin;

/// An agent. Only the owner sees its prompt, options, tools and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentDetail {
    /// The agent's definition; docs/agents.md lists the fields.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub definition: Map<String, Value>,
    /// The location of the definition. Only the owner sees path and line.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub origin: DefinitionOrigin,
    /// Problems of an active agent. Only for the owner.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub problems: Vec<String>,
}

/// The agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentList {
    /// By name.
    pub agents: Vec<AgentDetail>,
}
