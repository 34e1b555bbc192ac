//! The fields of an agent that a principal may see.

use serde_json::{Map, Value};
use toolway_agent::agents::{AgentOrigin, AgentView};
use toolway_types::Principal;

/// Fields that are visible to everybody who may use the agent.
const PUBLIC_FIELDS: [&str; 3] = ["name", "description", "model"];

/// An agent with the fields that a principal may see.
#[derive(Debug)]
pub(crate) struct VisibleAgent {
    /// Fields of the definition.
    pub(crate) definition: Map<String, Value>,
    /// Origin of the definition: `built_in`, `database` or `file`.
    pub(crate) origin: &'static str,
    /// File and line of the definition.
    pub(crate) place: Option<(String, usize)>,
    /// Problems of the definition.
    pub(crate) problems: Vec<String>,
}

impl VisibleAgent {
    /// Returns the part of an agent that this principal may see. The owner sees all of it, others only the
    /// [`PUBLIC_FIELDS`]: a prompt may contain secrets, and file locations are private to the owner.
    pub(crate) fn of(view: AgentView, principal: &Principal) -> Self {
        let mut definition = match serde_json::to_value(&*view.definition) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let (origin, mut place) = match view.origin {
            AgentOrigin::BuiltIn => ("built_in", None),
            AgentOrigin::Database => ("database", None),
            AgentOrigin::File { path, line } => ("file", Some((path.display().to_string(), line))),
        };
        let mut problems = view.problems;
        if !principal.role.is_owner() {
            definition.retain(|name, _| PUBLIC_FIELDS.contains(&name.as_str()));
            place = None;
            problems = Vec::new();
        }
        Self { definition, origin, place, problems }
    }
}

#[cfg(test)]
mod tests;
