//! What a principal may see of an agent.

use serde_json::{Map, Value};
use toolway_agent::agents::{AgentOrigin, AgentView};
use toolway_types::Principal;

/// Fields that everybody may see who may talk to the agent.
const PUBLIC_FIELDS: [&str; 3] = ["name", "description", "model"];

/// An agent, as far as a principal may see it.
#[derive(Debug)]
pub(crate) struct VisibleAgent {
    /// The fields of its definition.
    pub(crate) definition: Map<String, Value>,
    /// Where it is defined: `built_in`, `database` or `file`.
    pub(crate) origin: &'static str,
    /// The file and the line in it.
    pub(crate) place: Option<(String, usize)>,
    /// Problems of the definition.
    pub(crate) problems: Vec<String>,
}

impl VisibleAgent {
    /// What this principal may see of an agent: the owner all of it, others the [`PUBLIC_FIELDS`]. A prompt may have
    /// secrets in it, and where the owner's files are is nobody else's business.
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
