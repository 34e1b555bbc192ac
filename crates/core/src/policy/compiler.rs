//! Compiles the owner's settings to rules. All problems are reported at once.

use std::sync::Arc;

use super::decision_cache::DecisionCache;
use super::definition::{
    ApprovalRuleDefinition, ApprovalSettings, PermissionRuleDefinition, PermissionSettings, PolicySettings,
    RuleDefinition,
};
use super::selector::{ConditionError, RuleSelector};
use super::tool_index::ToolIndex;
use super::{ApprovalRule, PermissionRule, Policy, PolicyRule, RuleSet};
use crate::glob::GlobPatterns;

/// Maximum number of rules per list.
const MAX_RULES: usize = 10_000;

/// An invalid rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct PolicyProblem {
    /// Name of the setting, such as `policy.rules[2].when.tools`.
    pub key: String,
    /// Description of the problem.
    pub problem: String,
}

#[derive(Default)]
struct PolicyProblems(Vec<PolicyProblem>);

impl PolicyProblems {
    fn add(&mut self, key: impl Into<String>, problem: impl Into<String>) {
        self.0.push(PolicyProblem { key: key.into(), problem: problem.into() });
    }

    fn add_condition_error(&mut self, place: &str, (field, problem): ConditionError) {
        self.add(format!("{place}.when.{field}"), problem);
    }

    /// The rules of a list with their positions, up to the maximum number.
    fn with_places<'d, D>(
        &mut self,
        list: &'static str,
        rules: &'d [D],
    ) -> impl Iterator<Item = (String, &'d D)> + use<'d, D> {
        if rules.len() > MAX_RULES {
            self.add(list, format!("there are {} rules; at most {MAX_RULES} are allowed", rules.len()));
        }
        rules.iter().take(MAX_RULES).enumerate().map(move |(at, rule)| (format!("{list}[{at}]"), rule))
    }
}

impl Policy {
    /// Compiles the owner's settings.
    ///
    /// # Errors
    /// All problems with their positions.
    pub fn compile(
        policy: &PolicySettings,
        approval: &ApprovalSettings,
        permissions: &PermissionSettings,
    ) -> Result<Self, Vec<PolicyProblem>> {
        let mut problems = PolicyProblems::default();
        let rules = compile_policy_rules(&policy.rules, &mut problems);
        let approvals = compile_approval_rules(&approval.rules, &mut problems);
        let states = compile_permission_rules(&permissions.rules, &mut problems);
        let trusted = GlobPatterns::new(&policy.trusted_sources).unwrap_or_else(|bad| {
            problems.add("policy.trusted_sources", bad.to_string());
            GlobPatterns::empty()
        });
        if !problems.0.is_empty() {
            return Err(problems.0);
        }
        let rules_by_tool = ToolIndex::build(rules.iter().map(|rule| &rule.selector));
        let approval_by_tool = ToolIndex::build(approvals.iter().map(|rule| &rule.selector));
        let (Some(rules_by_tool), Some(approval_by_tool)) = (rules_by_tool, approval_by_tool) else {
            problems.add("policy.rules", "the patterns of all rules together are too large");
            return Err(problems.0);
        };
        let ruleset = RuleSet {
            default: policy.default,
            trusted,
            changed_tools: policy.changed_tools,
            rules,
            default_approval: approval.default,
            approval: approvals,
            default_permission: permissions.default,
            permissions: states,
            rules_by_tool,
            approval_by_tool,
        };
        let asks_for_traits = ruleset.uses_traits();
        Ok(Self {
            ruleset: Arc::new(ruleset),
            agents: None,
            uses_traits: asks_for_traits,
            cache: DecisionCache::default(),
        })
    }
}

fn compile_policy_rules(definitions: &[RuleDefinition], problems: &mut PolicyProblems) -> Vec<PolicyRule> {
    let mut rules = Vec::new();
    for (place, definition) in problems.with_places("policy.rules", definitions) {
        for (field, limit) in [
            ("calls_per_minute", definition.calls_per_minute),
            ("calls_per_minute_per_tool", definition.calls_per_minute_per_tool),
            ("in_flight", definition.in_flight),
        ] {
            if limit == Some(0) {
                problems.add(format!("{place}.{field}"), "it is 0; write effect = \"deny\" instead");
            }
        }
        match RuleSelector::compile(&definition.when) {
            Ok(selector) => {
                let name = definition.name.clone().unwrap_or(place);
                rules.push(PolicyRule { name, selector, definition: definition.clone() });
            }
            Err(bad) => problems.add_condition_error(&place, bad),
        }
    }
    let mut names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
    names.sort_unstable();
    for pair in names.windows(2) {
        if let [one, other] = pair
            && one == other
        {
            problems.add("policy.rules", format!("two rules have the name {one:?}"));
        }
    }
    rules
}

fn compile_approval_rules(
    definitions: &[ApprovalRuleDefinition],
    problems: &mut PolicyProblems,
) -> Vec<ApprovalRule> {
    let mut rules = Vec::new();
    for (place, definition) in problems.with_places("approval.rules", definitions) {
        let &ApprovalRuleDefinition { ref when, mode, caller_may_answer } = definition;
        match RuleSelector::compile(when) {
            Ok(selector) => rules.push(ApprovalRule { selector, mode, caller_may_answer }),
            Err(bad) => problems.add_condition_error(&place, bad),
        }
    }
    rules
}

fn compile_permission_rules(
    definitions: &[PermissionRuleDefinition],
    problems: &mut PolicyProblems,
) -> Vec<PermissionRule> {
    let mut rules = Vec::new();
    for (place, definition) in problems.with_places("permissions.rules", definitions) {
        let permission = GlobPatterns::new([&definition.permission])
            .map_err(|bad| problems.add(format!("{place}.permission"), bad.to_string()));
        let selector =
            RuleSelector::compile(&definition.when).map_err(|bad| problems.add_condition_error(&place, bad));
        if let (Ok(permission), Ok(selector)) = (permission, selector) {
            rules.push(PermissionRule { permission, selector, state: definition.state });
        }
    }
    rules
}
