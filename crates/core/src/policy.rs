//! Policy: who may use which tool, what waits for a person, and how much a principal may do. What may not be used
//! is neither listed nor callable, and looks as if it did not exist.
//!
//! Rules are the owner's ([`definition`]); of each list the first that fits a call decides. Decisions are cached
//! per caller and tool for as long as the rules stand. Before them comes what a caller's agent may use
//! ([`AgentScopes`]).

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

/// All the rules that hold.
#[derive(Debug, Default)]
pub struct Policy {
    ruleset: Arc<RuleSet>,
    /// What agents may use; none where nobody says, and then agents change nothing.
    agents: Option<Arc<AgentScopes>>,
    /// Whether it matters to a decision what a tool does.
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
    /// Its name, or its place.
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

/// What the rules say of one tool for one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PolicyDecision {
    pub(crate) effect: Effect,
    /// The rule that decided; none where the default did.
    rule: Option<u16>,
    /// What the approval settings and the agent say, apart from the rule.
    approval: ApprovalRequirement,
    /// Whether the caller's agent keeps the tool from it.
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

/// Whether a person is asked, and who may answer.
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
    /// Every tool for everyone whose role may call tools.
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
    /// Whether it matters to a decision what a tool does.
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

/// The one of the two that has more calls wait.
fn stricter(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode {
    match (one, other) {
        (ApprovalMode::Always, _) | (_, ApprovalMode::Always) => ApprovalMode::Always,
        (ApprovalMode::Writes, _) | (_, ApprovalMode::Writes) => ApprovalMode::Writes,
        (ApprovalMode::Never, ApprovalMode::Never) => ApprovalMode::Never,
    }
}

impl Policy {
    /// Whether this caller may list and call this tool. `spec` is none where its source is away: then a rule that
    /// depends on what the tool does is taken as the cautious one.
    #[must_use]
    pub fn may_use(&self, caller: &Caller, tool: &ToolId, spec: Option<&ToolSpec>) -> bool {
        self.decide(caller, tool, spec).effect != Effect::Deny
    }

    /// These rules, with what agents may use. What was decided before is forgotten.
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

    /// Whether there is anything that could deny something.
    pub(crate) fn may_deny(&self) -> bool {
        !self.ruleset.rules.is_empty() || self.agents.is_some()
    }

    /// Whether a source's word on what its tools do is believed.
    #[must_use]
    pub fn is_trusted(&self, source: &Slug) -> bool {
        self.ruleset.trusted.matches(source.as_str())
    }

    /// Whether a tool that has changed waits for the owner.
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

    /// What the rules say. `agents` is which calls wait by the word of the caller's agent.
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
        // Of one caller, whose agent is a part of it, there is one such mode for as long as this lives.
        let look = |fitting: &MatchingRules| rules.evaluate(fitting, &tool.to_string(), traits, agents);
        self.cache.get_or_decide(caller, tool, traits, fitting, look)
    }

    fn rule(&self, decision: PolicyDecision) -> Option<&PolicyRule> {
        decision.rule.and_then(|at| self.ruleset.rules.get(usize::from(at)))
    }

    /// What decided: a rule by its name, or the caller's agent.
    pub(crate) fn deciding_rule(&self, decision: PolicyDecision, caller: &Caller) -> Option<String> {
        match (decision.is_outside_agent_scope, caller.agent()) {
            (true, Some(agent)) => Some(format!("agent:{agent}")),
            _ => self.rule_name(decision).map(str::to_owned),
        }
    }

    /// The name of the rule that decided.
    pub(crate) fn rule_name(&self, decision: PolicyDecision) -> Option<&str> {
        self.rule(decision).map(|rule| rule.name.as_str())
    }

    /// Whether a person is asked, by the rule or by the approval settings. Where both ask, whoever may answer
    /// the stricter.
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

    /// The state of a permission that is checked here.
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

    /// The permissions of a tool that are checked here, and their states.
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
