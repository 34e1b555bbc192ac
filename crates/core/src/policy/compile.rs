//! From what the owner wrote to rules that can be asked. All that is wrong is said at once.

use std::sync::Arc;

use super::cache::Cache;
use super::definition::{
    ApprovalRuleDefinition, ApprovalSettings, PermissionRuleDefinition, PermissionSettings, PolicySettings,
    RuleDefinition,
};
use super::index::ToolIndex;
use super::selector::{BadWhen, Selector};
use super::{ApprovalRule, PermissionRule, Policy, Rule, Ruleset};
use crate::glob::Globs;

/// Most rules of each list.
const MAX_RULES: usize = 10_000;

/// A rule that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct PolicyProblem {
    /// Where it stands, as `policy.rules[2].when.tools`.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

#[derive(Default)]
struct Problems(Vec<PolicyProblem>);

impl Problems {
    fn note(&mut self, key: impl Into<String>, problem: impl Into<String>) {
        self.0.push(PolicyProblem { key: key.into(), problem: problem.into() });
    }

    fn note_when(&mut self, place: &str, (field, problem): BadWhen) {
        self.note(format!("{place}.when.{field}"), problem);
    }

    /// The rules of a list with their places, as many as are read.
    fn placed<'d, D>(
        &mut self,
        list: &'static str,
        rules: &'d [D],
    ) -> impl Iterator<Item = (String, &'d D)> + use<'d, D> {
        if rules.len() > MAX_RULES {
            self.note(list, format!("there are {} rules; at most {MAX_RULES} are read", rules.len()));
        }
        rules.iter().take(MAX_RULES).enumerate().map(move |(at, rule)| (format!("{list}[{at}]"), rule))
    }
}

impl Policy {
    /// Compiles what the owner wrote.
    ///
    /// # Errors
    /// Everything that is wrong, each with its place.
    pub fn compile(
        policy: &PolicySettings,
        approval: &ApprovalSettings,
        permissions: &PermissionSettings,
    ) -> Result<Self, Vec<PolicyProblem>> {
        let mut problems = Problems::default();
        let rules = policy_rules(&policy.rules, &mut problems);
        let approvals = approval_rules(&approval.rules, &mut problems);
        let states = permission_rules(&permissions.rules, &mut problems);
        let trusted = Globs::new(&policy.trusted_sources).unwrap_or_else(|bad| {
            problems.note("policy.trusted_sources", bad.to_string());
            Globs::none()
        });
        if !problems.0.is_empty() {
            return Err(problems.0);
        }
        let rules_by_tool = ToolIndex::of(rules.iter().map(|rule| &rule.selector));
        let approval_by_tool = ToolIndex::of(approvals.iter().map(|rule| &rule.selector));
        let (Some(rules_by_tool), Some(approval_by_tool)) = (rules_by_tool, approval_by_tool) else {
            problems.note("policy.rules", "the patterns of all rules together are too much");
            return Err(problems.0);
        };
        let ruleset = Ruleset {
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
        let asks_for_traits = ruleset.asks_for_traits();
        Ok(Self { ruleset: Arc::new(ruleset), agents: None, asks_for_traits, cache: Cache::default() })
    }
}

fn policy_rules(definitions: &[RuleDefinition], problems: &mut Problems) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (place, definition) in problems.placed("policy.rules", definitions) {
        for (field, limit) in [
            ("calls_per_minute", definition.calls_per_minute),
            ("calls_per_minute_per_tool", definition.calls_per_minute_per_tool),
            ("in_flight", definition.in_flight),
        ] {
            if limit == Some(0) {
                problems.note(format!("{place}.{field}"), "it is 0; write effect = \"deny\" instead");
            }
        }
        match Selector::compile(&definition.when) {
            Ok(selector) => {
                let name = definition.name.clone().unwrap_or(place);
                rules.push(Rule { name, selector, definition: definition.clone() });
            }
            Err(bad) => problems.note_when(&place, bad),
        }
    }
    let mut names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
    names.sort_unstable();
    for pair in names.windows(2) {
        if let [one, other] = pair
            && one == other
        {
            problems.note("policy.rules", format!("two rules have the name {one:?}"));
        }
    }
    rules
}

fn approval_rules(definitions: &[ApprovalRuleDefinition], problems: &mut Problems) -> Vec<ApprovalRule> {
    let mut rules = Vec::new();
    for (place, definition) in problems.placed("approval.rules", definitions) {
        let &ApprovalRuleDefinition { ref when, mode, caller_may_answer } = definition;
        match Selector::compile(when) {
            Ok(selector) => rules.push(ApprovalRule { selector, mode, caller_may_answer }),
            Err(bad) => problems.note_when(&place, bad),
        }
    }
    rules
}

fn permission_rules(
    definitions: &[PermissionRuleDefinition],
    problems: &mut Problems,
) -> Vec<PermissionRule> {
    let mut rules = Vec::new();
    for (place, definition) in problems.placed("permissions.rules", definitions) {
        let permission = Globs::new([&definition.permission])
            .map_err(|bad| problems.note(format!("{place}.permission"), bad.to_string()));
        let selector = Selector::compile(&definition.when).map_err(|bad| problems.note_when(&place, bad));
        if let (Ok(permission), Ok(selector)) = (permission, selector) {
            rules.push(PermissionRule { permission, selector, state: definition.state });
        }
    }
    rules
}
