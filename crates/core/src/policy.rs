//! Policy: which callers may use which tools, which calls need approval, and rate limits. A denied tool is
//! neither listed nor callable, and looks like a tool that does not exist.
//!
//! The owner writes the rules ([`definition`]). The first matching rule of each list wins. Decisions are
//! cached per caller and tool until the rules change. The scope of the caller's agent applies before the
//! rules ([`AgentScopes`]).

mod agent_scopes;
mod compiler;
mod decision_cache;
pub mod definition;
mod explanation;
mod rate_limits;
mod selector;
mod tool_index;

use std::sync::Arc;

use toolway_types::{Slug, ToolId};

use crate::caller::Caller;
use crate::glob::GlobPatterns;
use crate::permission;
use crate::spec::ToolSpec;
use agent_scopes::AgentScopeCheck;
use decision_cache::{DecisionCache, MatchingRules};
use definition::{ApprovalMode, ChangedToolAction, Effect, PermissionState, RuleDefinition};
use selector::{RuleSelector, ToolTraits};
use tool_index::ToolIndex;

pub use agent_scopes::{AgentScope, AgentScopes};
pub use compiler::PolicyProblem;
pub use explanation::{PermissionExplanation, PolicyExplanation};
pub(crate) use rate_limits::RateLimiter;

/// The compiled policy.
#[derive(Debug, Default)]
pub struct Policy {
    ruleset: Arc<RuleSet>,
    /// Scopes of agents. Without them, agents change nothing.
    agents: Option<Arc<AgentScopes>>,
    /// True if a decision depends on the traits of a tool.
    uses_traits: bool,
    cache: DecisionCache,
}

/// The owner's rules.
#[derive(Debug)]
struct RuleSet {
    default: Effect,
    trusted: GlobPatterns,
    changed_tools: ChangedToolAction,
    rules: Vec<PolicyRule>,
    default_approval: ApprovalMode,
    approval: Vec<ApprovalRule>,
    default_permission: PermissionState,
    permissions: Vec<PermissionRule>,
    rules_by_tool: ToolIndex,
    approval_by_tool: ToolIndex,
}

#[derive(Debug)]
struct PolicyRule {
    /// Name of the rule, or its position.
    name: String,
    selector: RuleSelector,
    definition: RuleDefinition,
}

#[derive(Debug)]
struct ApprovalRule {
    selector: RuleSelector,
    mode: ApprovalMode,
    caller_may_answer: bool,
}

#[derive(Debug)]
struct PermissionRule {
    permission: GlobPatterns,
    selector: RuleSelector,
    state: PermissionState,
}

/// Decision of the rules on one tool for one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PolicyDecision {
    pub(crate) effect: Effect,
    /// Index of the rule that decided; None for the default.
    rule: Option<u16>,
    /// Approval required by the approval settings and the agent, apart from the rule.
    approval: ApprovalRequirement,
    /// True if the tool is outside the scope of the caller's agent.
    is_outside_agent_scope: bool,
}

impl PolicyDecision {
    fn deny(outside: bool) -> Self {
        Self {
            effect: Effect::Deny,
            rule: None,
            approval: ApprovalRequirement::NotRequired,
            is_outside_agent_scope: outside,
        }
    }
}

/// Approval required for a call, and the right to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalRequirement {
    NotRequired,
    Owner,
    OwnerOrCaller,
}

impl ApprovalRequirement {
    fn required_from(caller_may_answer: bool) -> Self {
        if caller_may_answer { Self::OwnerOrCaller } else { Self::Owner }
    }
}

impl Default for RuleSet {
    /// Allows every tool to every caller whose role may call tools.
    fn default() -> Self {
        Self {
            default: Effect::Allow,
            trusted: GlobPatterns::empty(),
            changed_tools: ChangedToolAction::Flag,
            rules: Vec::new(),
            default_approval: ApprovalMode::Never,
            approval: Vec::new(),
            default_permission: PermissionState::Granted,
            permissions: Vec::new(),
            rules_by_tool: ToolIndex::default(),
            approval_by_tool: ToolIndex::default(),
        }
    }
}

impl RuleSet {
    /// True if a decision depends on the traits of a tool.
    fn uses_traits(&self) -> bool {
        let by_rule = self.rules.iter().any(|rule| rule.selector.uses_traits());
        let by_approval =
            |rule: &ApprovalRule| rule.selector.uses_traits() || rule.mode == ApprovalMode::Writes;
        by_rule || self.approval.iter().any(by_approval) || self.default_approval == ApprovalMode::Writes
    }

    fn evaluate(
        &self,
        fitting: &MatchingRules,
        id: &str,
        traits: ToolTraits,
        agents: ApprovalMode,
    ) -> PolicyDecision {
        let for_tool = self.rules_by_tool.matching_rules(id);
        let both = fitting.rules.iter().zip(&for_tool).zip(&self.rules);
        let place = both.into_iter().position(|((for_caller, for_tool), rule)| {
            *for_caller
                && *for_tool
                && rule.selector.matches_traits(traits, rule.definition.effect == Effect::Deny)
        });
        let effect =
            place.and_then(|at| self.rules.get(at)).map_or(self.default, |rule| rule.definition.effect);
        let for_tool = self.approval_by_tool.matching_rules(id);
        let mut both = fitting.approval.iter().zip(&for_tool).zip(&self.approval);
        let approval = both
            .find(|((for_caller, for_tool), rule)| {
                **for_caller && **for_tool && rule.selector.matches_traits(traits, false)
            })
            .map(|(_, rule)| rule);
        let (mode, caller_may_answer) =
            approval.map_or((self.default_approval, false), |rule| (rule.mode, rule.caller_may_answer));
        let needed = match stricter(mode, agents) {
            ApprovalMode::Never => false,
            ApprovalMode::Writes => !traits.read_only,
            ApprovalMode::Always => true,
        };
        let approval = if needed {
            ApprovalRequirement::required_from(caller_may_answer)
        } else {
            ApprovalRequirement::NotRequired
        };
        PolicyDecision {
            effect,
            rule: place.and_then(|at| u16::try_from(at).ok()),
            approval,
            is_outside_agent_scope: false,
        }
    }
}

/// The stricter of two approval modes.
fn stricter(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode {
    match (one, other) {
        (ApprovalMode::Always, _) | (_, ApprovalMode::Always) => ApprovalMode::Always,
        (ApprovalMode::Writes, _) | (_, ApprovalMode::Writes) => ApprovalMode::Writes,
        (ApprovalMode::Never, ApprovalMode::Never) => ApprovalMode::Never,
    }
}

impl Policy {
    /// True if the caller may list and call the tool. `spec` is None while the source is offline; a rule that
    /// depends on traits then decides the cautious way.
    #[must_use]
    pub fn may_use(&self, caller: &Caller, tool: &ToolId, spec: Option<&ToolSpec>) -> bool {
        self.decide(caller, tool, spec).effect != Effect::Deny
    }

    /// Creates the same policy with the scopes of agents, and an empty cache.
    pub(crate) fn with_agents(&self, agents: Option<Arc<AgentScopes>>) -> Self {
        let asks_for_traits =
            self.ruleset.uses_traits() || agents.as_ref().is_some_and(|agents| agents.use_traits());
        Self {
            ruleset: Arc::clone(&self.ruleset),
            agents,
            uses_traits: asks_for_traits,
            cache: DecisionCache::default(),
        }
    }

    /// Time zone of the caller's agent, if it has one.
    pub(crate) fn agent_time_zone(&self, caller: &Caller) -> Option<Arc<str>> {
        self.agents.as_ref()?.time_zone(caller.agent()?).cloned()
    }

    /// True if the policy can deny anything.
    pub(crate) fn may_deny(&self) -> bool {
        !self.ruleset.rules.is_empty() || self.agents.is_some()
    }

    /// True if the annotations of a source are trusted.
    #[must_use]
    pub fn is_trusted(&self, source: &Slug) -> bool {
        self.ruleset.trusted.matches(source.as_str())
    }

    /// True if a changed tool needs the owner's approval.
    #[must_use]
    pub fn asks_for_changed_tools(&self) -> bool {
        self.ruleset.changed_tools == ChangedToolAction::Ask
    }

    pub(crate) fn decide(&self, caller: &Caller, tool: &ToolId, spec: Option<&ToolSpec>) -> PolicyDecision {
        if !caller.principal.role.may_call() {
            return PolicyDecision::deny(false);
        }
        match AgentScopeCheck::check(self.agents.as_deref(), caller, tool) {
            AgentScopeCheck::OutOfScope => PolicyDecision::deny(true),
            AgentScopeCheck::InScope(approval) => self.decide_by_rules(caller, tool, spec, approval),
        }
    }

    /// Decision of the rules. `agents` is the approval mode of the caller's agent.
    fn decide_by_rules(
        &self,
        caller: &Caller,
        tool: &ToolId,
        spec: Option<&ToolSpec>,
        agents: ApprovalMode,
    ) -> PolicyDecision {
        let rules = &*self.ruleset;
        let mode = stricter(rules.default_approval, agents);
        if rules.rules.is_empty() && rules.approval.is_empty() && mode != ApprovalMode::Writes {
            let approval = match mode {
                ApprovalMode::Always => ApprovalRequirement::Owner,
                _ => ApprovalRequirement::NotRequired,
            };
            return PolicyDecision {
                effect: rules.default,
                rule: None,
                approval,
                is_outside_agent_scope: false,
            };
        }
        let traits = match self.uses_traits {
            true => ToolTraits::of(spec, self.is_trusted(&tool.source)),
            false => ToolTraits::of(None, false),
        };
        let fitting = || MatchingRules {
            rules: rules.rules.iter().map(|rule| rule.selector.matches_caller(caller)).collect(),
            approval: rules.approval.iter().map(|rule| rule.selector.matches_caller(caller)).collect(),
        };
        // The mode is constant per caller, because its agent is part of the key and the scopes do not change
        // in this policy.
        let look = |fitting: &MatchingRules| rules.evaluate(fitting, &tool.to_string(), traits, agents);
        self.cache.get_or_decide(caller, tool, traits, fitting, look)
    }

    fn rule(&self, decision: PolicyDecision) -> Option<&PolicyRule> {
        decision.rule.and_then(|at| self.ruleset.rules.get(usize::from(at)))
    }

    /// Name of the rule that decided, or the caller's agent.
    pub(crate) fn deciding_rule(&self, decision: PolicyDecision, caller: &Caller) -> Option<String> {
        match (decision.is_outside_agent_scope, caller.agent()) {
            (true, Some(agent)) => Some(format!("agent:{agent}")),
            _ => self.rule_name(decision).map(str::to_owned),
        }
    }

    /// Name of the rule that decided.
    pub(crate) fn rule_name(&self, decision: PolicyDecision) -> Option<&str> {
        self.rule(decision).map(|rule| rule.name.as_str())
    }

    /// Approval required by the rule or the approval settings. If both require it, the stricter right to
    /// answer applies.
    pub(crate) fn approval_requirement(&self, decision: PolicyDecision) -> ApprovalRequirement {
        let by_rule = match decision.effect {
            Effect::Ask => ApprovalRequirement::required_from(
                self.rule(decision).is_some_and(|rule| rule.definition.caller_may_answer),
            ),
            _ => ApprovalRequirement::NotRequired,
        };
        match (by_rule, decision.approval) {
            (ApprovalRequirement::NotRequired, other) | (other, ApprovalRequirement::NotRequired) => other,
            (ApprovalRequirement::OwnerOrCaller, ApprovalRequirement::OwnerOrCaller) => {
                ApprovalRequirement::OwnerOrCaller
            }
            _ => ApprovalRequirement::Owner,
        }
    }

    /// State of a permission that the gateway checks.
    pub(crate) fn permission_state(
        &self,
        permission: &str,
        caller: &Caller,
        tool: &ToolId,
        spec: &ToolSpec,
    ) -> PermissionState {
        let rules = &*self.ruleset;
        if rules.permissions.is_empty() {
            return rules.default_permission;
        }
        let traits = ToolTraits::of(Some(spec), self.is_trusted(&tool.source));
        let id = tool.to_string();
        let found = rules.permissions.iter().find(|rule| {
            rule.permission.matches(permission)
                && rule.selector.matches_caller(caller)
                && rule.selector.matches_tool(&id, traits, true)
        });
        found.map_or(rules.default_permission, |rule| rule.state)
    }

    /// Permissions of a tool that the gateway checks, with their states.
    pub(crate) fn permission_states<'s>(
        &'s self,
        caller: &'s Caller,
        tool: &'s ToolId,
        spec: &'s ToolSpec,
    ) -> impl Iterator<Item = (&'s str, PermissionState)> {
        permission::gateway_permissions(tool, spec)
            .map(move |permission| (permission, self.permission_state(permission, caller, tool, spec)))
    }
}

#[cfg(test)]
mod tests;
