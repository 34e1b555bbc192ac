//! Step one: which tool a caller means by a name. What it may not use does not exist for it.

use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{ToolError, ToolId};

use crate::engine::{Call, Engine};
use crate::policy::{Decision, Policy};
use crate::registry::Lookup;
use crate::tool::Tool;

/// The tool that a call is for.
pub(crate) struct Target {
    pub(crate) id: ToolId,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) barrier: Option<Arc<RwLock<()>>>,
    /// The rules that hold for the whole of the call, and what they say.
    pub(crate) policy: Arc<Policy>,
    pub(crate) decision: Decision,
}

/// Why there is no tool for a call.
pub(super) struct NoTarget {
    pub(super) error: ToolError,
    /// The rule, or the agent, that keeps the tool from the caller, who is not told.
    pub(super) rule: Option<String>,
}

impl From<ToolError> for NoTarget {
    fn from(error: ToolError) -> Self {
        Self { error, rule: None }
    }
}

pub(super) fn target(engine: &Engine, call: &Call) -> Result<Target, NoTarget> {
    let policy = engine.policy.load_full();
    let may_use = |id: &ToolId, spec: Option<&_>| policy.may_use(&call.caller, id, spec);
    let refusal = || ToolError::not_available(&call.name);
    match engine.registry.read().lookup(&call.name, &call.caller, may_use) {
        Lookup::Found(id, tool, barrier) => {
            let decision = policy.decide(&call.caller, &id, Some(tool.spec()));
            Ok(Target { id, tool, barrier, policy, decision })
        }
        Lookup::Unknown => Err(NoTarget { error: refusal(), rule: denying_rule(engine, &policy, call) }),
        Lookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.exposed().to_string()).collect();
            let hint = match names.len() {
                1 => "Give the full name",
                _ => "Several sources have a tool of this name; say which",
            };
            Err(refusal().with_hint(format!("{hint}: {}", names.join(", "))).into())
        }
        Lookup::Away(id) => {
            let hint = format!("{} has a tool of this name, but is not connected", id.source);
            Err(refusal().with_hint(hint).into())
        }
    }
}

/// The rule, or the agent, that denies a tool to the caller, where the name leads to one that is there.
fn denying_rule(engine: &Engine, policy: &Policy, call: &Call) -> Option<String> {
    if !policy.may_deny() {
        return None;
    }
    match engine.registry.read().lookup(&call.name, &call.caller, |_, _| true) {
        Lookup::Found(id, tool, _) => {
            let decision = policy.decide(&call.caller, &id, Some(tool.spec()));
            policy.decided_by(decision, &call.caller)
        }
        _ => None,
    }
}
