//! Explains which rule decides on a call, for owners who write rules.

use toolway_types::ToolId;

use super::definition::{Effect, PermissionState, RuleDefinition};
use super::{ApprovalRequirement, Policy, PolicyDecision};
use crate::caller::Caller;
use crate::spec::ToolSpec;

/// Explanation of the decision on one tool for one caller.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyExplanation {
    /// Effect on a call.
    pub effect: Effect,
    /// Name of the rule that decides; None if the default, the caller's role or its agent decides.
    pub rule: Option<String>,
    /// Reason for the decision, in plain text.
    pub reason: String,
    /// Definition of the rule, including its limits.
    pub definition: Option<RuleDefinition>,
    /// True if a person must approve the call.
    pub asks: bool,
    /// True if the caller may approve its own call.
    pub caller_may_answer: bool,
    /// True if the tool counts as read-only.
    pub read_only: bool,
    /// Permissions that the gateway checks.
    pub permissions: Vec<PermissionExplanation>,
}

/// The state of one permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionExplanation {
    /// Name of the permission.
    pub permission: String,
    /// State according to the rules, without earlier answers of persons.
    pub state: PermissionState,
}

impl Policy {
    /// Explains which rule decides on a call, and why.
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
                    "{:?} is the first matching rule ({place} of {})",
                    rule.name,
                    self.ruleset.rules.len()
                )
            }
            None => match self.ruleset.rules.len() {
                0 => "there are no rules; policy.default applies".to_owned(),
                1 => "the only rule does not match; policy.default applies".to_owned(),
                rules => format!("none of the {rules} rules matches; policy.default applies"),
            },
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

    /// Reason why the caller's agent may not use a tool.
    fn out_of_scope_reason(&self, caller: &Caller) -> String {
        let Some(agent) = caller.agent() else { return String::new() };
        match self.agents.as_ref().and_then(|agents| agents.get(agent)) {
            None => format!("the agent {agent:?} does not exist, so it may use no tools"),
            Some(scope) => match scope.patterns() {
                [] => format!("the agent {agent:?} may use no tools"),
                patterns => format!("the agent {agent:?} may only use {}", patterns.join(", ")),
            },
        }
    }

    /// True if only the caller's agent requires approval.
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
        // A copy without a cache, because this decision must not be cached.
        let without_agents = self.with_agents(None);
        let by_rules = without_agents.decide(caller, tool, Some(spec));
        self.approval_requirement(decision) != ApprovalRequirement::NotRequired
            && without_agents.approval_requirement(by_rules) == ApprovalRequirement::NotRequired
    }
}
