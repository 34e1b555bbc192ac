//! Which rule decides, and why: for whoever writes rules.

use toolway_types::ToolId;

use super::definition::{Effect, PermissionState, RuleDefinition};
use super::{ApprovalRequirement, Policy, PolicyDecision};
use crate::caller::Caller;
use crate::spec::ToolSpec;

/// What the rules say of one tool for one caller.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyExplanation {
    /// What becomes of a call.
    pub effect: Effect,
    /// The name of the rule that decides; none where it is the default, the caller's role or its agent.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionExplanation {
    /// Its name.
    pub permission: String,
    /// Its state by the rules; answers that were given before come on top.
    pub state: PermissionState,
}

impl Policy {
    /// Says which rule decides over a call, and why.
    #[must_use]
    pub fn explain(&self, caller: &Caller, tool: &ToolId, spec: &ToolSpec) -> PolicyExplanation {
        let decision = self.decide(caller, tool, Some(spec));
        let rule = self.rule(decision);
        let mut reason = match rule {
            _ if !caller.principal.role.may_call() => {
                format!("the role {} may not call tools", caller.principal.role)
            }
            _ if decision.is_outside_agent_scope => self.out_of_scope_reason(caller),
            Some(rule) => {
                let place = decision.rule.map_or(0, |at| usize::from(at) + 1);
                format!(
                    "{:?} is the first rule that fits ({place} of {})",
                    rule.name,
                    self.ruleset.rules.len()
                )
            }
            None => {
                let rules = self.ruleset.rules.len();
                format!("no rule of {rules} fits, so the default holds (policy.default)")
            }
        };
        let approval = self.approval_requirement(decision);
        if let Some(agent) =
            caller.agent().filter(|_| self.is_approval_by_agent(decision, caller, tool, spec))
        {
            reason.push_str(&format!("; calls of the agent {agent:?} wait for approval"));
        }
        PolicyExplanation {
            effect: decision.effect,
            rule: rule.map(|rule| rule.name.clone()),
            reason,
            definition: rule.map(|rule| rule.definition.clone()),
            asks: approval != ApprovalRequirement::NotRequired && decision.effect != Effect::Deny,
            caller_may_answer: approval == ApprovalRequirement::OwnerOrCaller,
            read_only: self.is_trusted(&tool.source) && spec.annotations().read_only_hint == Some(true),
            permissions: self
                .permission_states(caller, tool, spec)
                .map(|(permission, state)| PermissionExplanation { permission: permission.to_owned(), state })
                .collect(),
        }
    }

    /// Why a caller's agent keeps a tool from it.
    fn out_of_scope_reason(&self, caller: &Caller) -> String {
        let Some(agent) = caller.agent() else { return String::new() };
        match self.agents.as_ref().and_then(|agents| agents.get(agent)) {
            None => format!("there is no agent {agent:?}, so nothing may be used in its name"),
            Some(scope) => match scope.patterns() {
                [] => format!("the agent {agent:?} may use no tools"),
                patterns => format!("the agent {agent:?} may only use {}", patterns.join(", ")),
            },
        }
    }

    /// Whether it is the caller's agent alone that has a person asked.
    fn is_approval_by_agent(
        &self,
        decision: PolicyDecision,
        caller: &Caller,
        tool: &ToolId,
        spec: &ToolSpec,
    ) -> bool {
        if self.agents.is_none() || decision.effect == Effect::Deny {
            return false;
        }
        // Without a cache of its own, so that nothing is remembered that does not hold.
        let without_agents = self.with_agents(None);
        let by_rules = without_agents.decide(caller, tool, Some(spec));
        self.approval_requirement(decision) != ApprovalRequirement::NotRequired
            && without_agents.approval_requirement(by_rules) == ApprovalRequirement::NotRequired
    }
}
