//! Resolves the name of a call to a tool. A tool outside the caller's policy looks like an unknown tool.

use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{ToolError, ToolId};

use crate::call_request::CallRequest;
use crate::engine::Engine;
use crate::policy::{Policy, PolicyDecision};
use crate::registry::ToolLookup;
use crate::tool::Tool;

/// The tool that a call is for.
pub(crate) struct CallTarget {
    pub(crate) id: ToolId,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) barrier: Option<Arc<RwLock<()>>>,
    /// The rules that hold for the whole of the call, and what they say.
    pub(crate) policy: Arc<Policy>,
    pub(crate) decision: PolicyDecision,
}

/// Why there is no tool for a call.
pub(super) struct TargetError {
    pub(super) error: ToolError,
    /// The rule, or the agent, that keeps the tool from the caller, who is not told.
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
            Err(TargetError { error: refusal(), rule: find_denying_rule(engine, &policy, call) })
        }
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            let hint = match names.len() {
                1 => "Give the full name",
                _ => "Several sources have a tool of this name; say which",
            };
            Err(refusal().with_hint(format!("{hint}: {}", names.join(", "))).into())
        }
        ToolLookup::Offline(id) => {
            let hint = format!("{} has a tool of this name, but is not connected", id.source);
            Err(refusal().with_hint(hint).into())
        }
    }
}

/// The rule, or the agent, that denies a tool to the caller, where the name leads to one that is there.
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
