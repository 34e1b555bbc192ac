//! Step one: which tool a caller means by a name. What it may not use does not exist for it.

use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{ToolError, ToolId};

use crate::engine::{Call, Engine};
use crate::registry::Lookup;
use crate::tool::Tool;

/// The tool that a call is for.
pub(crate) struct Target {
    pub(crate) id: ToolId,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) barrier: Option<Arc<RwLock<()>>>,
}

pub(super) fn target(engine: &Engine, call: &Call) -> Result<Target, ToolError> {
    let may_use = |id: &ToolId| engine.access.may_use(&call.caller, id);
    let refusal = || ToolError::not_available(&call.name);
    match engine.registry.read().lookup(&call.name, &call.caller, may_use) {
        Lookup::Found(id, tool, barrier) => Ok(Target { id, tool, barrier }),
        Lookup::Unknown => Err(refusal()),
        Lookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.exposed().to_string()).collect();
            let hint = match names.len() {
                1 => "Give the full name",
                _ => "Several sources have a tool of this name; say which",
            };
            Err(refusal().with_hint(format!("{hint}: {}", names.join(", "))))
        }
        Lookup::Away(id) => {
            Err(refusal().with_hint(format!("{} has a tool of this name, but is not connected", id.source)))
        }
    }
}
