//! Which rule decides, and why: for whoever writes rules.

use serde::Serialize;
use toolway_types::ToolId;

use super::definition::{Effect, PermissionState, RuleDefinition};
use super::{Approval, Policy};
use crate::caller::Caller;
use crate::spec::ToolSpec;

/// What the rules say of one tool for one caller.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// What becomes of a call.
    pub effect: Effect,
    /// The name of the rule that decides; none where it is the default, or the caller's role.
    pub rule: Option<String>,
    /// Why, in words.
    pub reason: String,
    /// What the rule says, limits among it.
    pub definition: Option<RuleDefinition>,
    /// Whether a person is asked before the call runs.
    pub asks: bool,
    /// Whether the caller may answer that.
    pub caller_may_answer: bool,
    /// Whether the tool counts as one that only reads.
    pub read_only: bool,
    /// The permissions that are checked here.
    pub permissions: Vec<PermissionExplanation>,
}

/// The state of one permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionExplanation {
    /// Its name.
    pub permission: String,
    /// Its state by the rules; answers that were given before come on top.
    pub state: PermissionState,
}

impl Policy {
    /// Says which rule decides over a call, and why.
    #[must_use]
    pub fn explain(&self, caller: &Caller, tool: &ToolId, spec: &ToolSpec) -> Explanation {
        let decision = self.decide(caller, tool, Some(spec));
        let rule = self.rule(decision);
        let reason = match rule {
            _ if !caller.principal.role.may_call() => {
                format!("the role {} may not call tools", caller.principal.role)
            }
            Some(rule) => {
                let place = decision.rule.map_or(0, |at| usize::from(at) + 1);
                format!("{:?} is the first rule that fits ({place} of {})", rule.name, self.rules.len())
            }
            None => format!("no rule of {} fits, so the default holds (policy.default)", self.rules.len()),
        };
        let approval = self.approval(decision);
        Explanation {
            effect: decision.effect,
            rule: rule.map(|rule| rule.name.clone()),
            reason,
            definition: rule.map(|rule| rule.definition.clone()),
            asks: approval != Approval::NotNeeded && decision.effect != Effect::Deny,
            caller_may_answer: approval == Approval::OwnerOrCaller,
            read_only: self.trusts(&tool.source) && spec.annotations().read_only_hint == Some(true),
            permissions: self
                .permissions(caller, tool, spec)
                .map(|(permission, state)| PermissionExplanation { permission: permission.to_owned(), state })
                .collect(),
        }
    }
}
