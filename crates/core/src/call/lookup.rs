//! Resolves the name of a call to a tool. A tool outside the caller's policy looks like an unknown tool.

use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{ToolError, ToolId};

use crate::call_request::CallRequest;
use crate::engine::Engine;
use crate::policy::{Policy, PolicyDecision};
use crate::registry::{ToolLookup, suggestion_hint};
use crate::tool::Tool;

/// The tool of a call.
pub(crate) struct CallTarget {
    pub(crate) id: ToolId,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) barrier: Option<Arc<RwLock<()>>>,
    /// The policy for the whole call, and its decision.
    pub(crate) policy: Arc<Policy>,
    pub(crate) decision: PolicyDecision,
}

/// Reason why a call has no tool.
pub(super) struct TargetError {
    pub(super) error: ToolError,
    /// The rule or agent that hides the tool. The caller does not see it.
    pub(super) rule: Option<String>,
}

impl From<ToolError> for TargetError {
    fn from(error: ToolError) -> Self {
        Self { error, rule: None }
    }
}

pub(super) fn find_target(engine: &Engine, call: &CallRequest) -> Result<CallTarget, TargetError> {
    let policy = engine.policy.load_full();
    let may_use = |id: &ToolId, spec: Option<&_>| policy.may_use(&call.caller, id, spec);
    let refusal = || ToolError::tool_not_available(&call.name);
    match engine.registry.read().lookup(&call.name, &call.caller, may_use) {
        ToolLookup::Found(id, tool, barrier) => {
            let decision = policy.decide(&call.caller, &id, Some(tool.spec()));
            Ok(CallTarget { id, tool, barrier, policy, decision })
        }
        ToolLookup::Unknown => {
            let similar = engine.registry.read().similar_names(&call.name, may_use);
            let error = match suggestion_hint(&similar) {
                Some(hint) => refusal().with_hint(hint),
                None => refusal(),
            };
            Err(TargetError { error, rule: find_denying_rule(engine, &policy, call) })
        }
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            let hint = "Several sources have a tool of this name; use a full name";
            Err(refusal().with_hint(format!("{hint}: {}", names.join(", "))).into())
        }
        ToolLookup::Offline(id) => {
            let hint = format!("{} has a tool of this name, but is not connected", id.source);
            Err(refusal().with_hint(hint).into())
        }
    }
}

/// Finds the rule or agent that denies an existing tool to the caller.
fn find_denying_rule(engine: &Engine, policy: &Policy, call: &CallRequest) -> Option<String> {
    if !policy.may_deny() {
        return None;
    }
    match engine.registry.read().lookup(&call.name, &call.caller, |_, _| true) {
        ToolLookup::Found(id, tool, _) => {
            let decision = policy.decide(&call.caller, &id, Some(tool.spec()));
            policy.deciding_rule(decision, &call.caller)
        }
        _ => None,
    }
}
