//! Policy: who may use which tool, what waits for a person, and how much a principal may do. What may not be used
//! is neither listed nor callable, and looks as if it did not exist.
//!
//! Rules are the owner's ([`definition`]); of each list the first that fits a call decides. Decisions are cached
//! per caller and tool for as long as the rules stand.

mod cache;
pub mod definition;
mod explain;
mod index;
mod limits;
mod selector;

use toolway_types::ToolId;

use crate::caller::Caller;
use crate::glob::Globs;
use crate::permission;
use crate::spec::ToolSpec;
use cache::{Cache, Fitting};
use definition::{
    ApprovalMode, ApprovalSettings, ChangedTools, Effect, PermissionSettings, PermissionState,
    PolicySettings, RuleDefinition,
};
use index::ToolIndex;
use selector::{Selector, Traits, is_trusted, with_text};

pub use explain::{Explanation, PermissionExplanation};
pub(crate) use limits::Limiter;

/// A rule that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct PolicyProblem {
    /// Where it stands, as `policy.rules[2].when.tools`.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

/// All the rules that hold.
#[derive(Debug)]
pub struct Policy {
    default: Effect,
    trusted: Globs,
    changed_tools: ChangedTools,
    rules: Vec<Rule>,
    default_approval: ApprovalMode,
    approval: Vec<ApprovalRule>,
    default_permission: PermissionState,
    permissions: Vec<PermissionRule>,
    rules_by_tool: ToolIndex,
    approval_by_tool: ToolIndex,
    /// Whether it matters to a decision what a tool does.
    asks_for_traits: bool,
    cache: Cache,
}

#[derive(Debug)]
struct Rule {
    /// Its name, or its place.
    name: String,
    selector: Selector,
    definition: RuleDefinition,
}

#[derive(Debug)]
struct ApprovalRule {
    selector: Selector,
    mode: ApprovalMode,
    caller_may_answer: bool,
}

#[derive(Debug)]
struct PermissionRule {
    permission: Globs,
    selector: Selector,
    state: PermissionState,
}

/// What the rules say of one tool for one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) effect: Effect,
    /// The rule that decided; none where the default did.
    rule: Option<u16>,
    /// What the approval settings say, apart from the rule.
    approval: Approval,
}

/// Whether a person is asked, and who may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    NotNeeded,
    Owner,
    OwnerOrCaller,
}

impl Approval {
    fn needed(caller_may_answer: bool) -> Self {
        if caller_may_answer { Self::OwnerOrCaller } else { Self::Owner }
    }
}

/// Most rules of each list.
const MAX_RULES: usize = 10_000;

impl Default for Policy {
    /// Every tool for everyone whose role may call tools.
    fn default() -> Self {
        Self {
            default: Effect::Allow,
            trusted: Globs::none(),
            changed_tools: ChangedTools::Flag,
            rules: Vec::new(),
            default_approval: ApprovalMode::Never,
            approval: Vec::new(),
            default_permission: PermissionState::Granted,
            permissions: Vec::new(),
            rules_by_tool: ToolIndex::default(),
            approval_by_tool: ToolIndex::default(),
            asks_for_traits: false,
            cache: Cache::default(),
        }
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
        let mut problems = Vec::new();
        let mut note = |key: String, problem: String| problems.push(PolicyProblem { key, problem });
        for (key, count) in [
            ("policy.rules", policy.rules.len()),
            ("approval.rules", approval.rules.len()),
            ("permissions.rules", permissions.rules.len()),
        ] {
            if count > MAX_RULES {
                note(key.to_owned(), format!("there are {count} rules; at most {MAX_RULES} are read"));
            }
        }
        let mut rules = Vec::new();
        for (at, definition) in policy.rules.iter().enumerate().take(MAX_RULES) {
            let place = format!("policy.rules[{at}]");
            for (field, limit) in [
                ("calls_per_minute", definition.calls_per_minute),
                ("calls_per_minute_per_tool", definition.calls_per_minute_per_tool),
                ("in_flight", definition.in_flight),
            ] {
                if limit == Some(0) {
                    note(format!("{place}.{field}"), "it is 0; write effect = \"deny\" instead".to_owned());
                }
            }
            let name = definition.name.clone().unwrap_or_else(|| place.clone());
            match Selector::compile(&definition.when) {
                Ok(selector) => rules.push(Rule { name, selector, definition: definition.clone() }),
                Err((field, problem)) => note(format!("{place}.when.{field}"), problem),
            }
        }
        let mut names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            if let [one, other] = pair
                && one == other
            {
                note("policy.rules".to_owned(), format!("two rules have the name {one:?}"));
            }
        }
        let mut approvals = Vec::new();
        for (at, rule) in approval.rules.iter().enumerate().take(MAX_RULES) {
            match Selector::compile(&rule.when) {
                Ok(selector) => approvals.push(ApprovalRule {
                    selector,
                    mode: rule.mode,
                    caller_may_answer: rule.caller_may_answer,
                }),
                Err((field, problem)) => note(format!("approval.rules[{at}].when.{field}"), problem),
            }
        }
        let mut states = Vec::new();
        for (at, rule) in permissions.rules.iter().enumerate().take(MAX_RULES) {
            let permission = Globs::new([&rule.permission])
                .map_err(|bad| note(format!("permissions.rules[{at}].permission"), bad.to_string()));
            let selector = Selector::compile(&rule.when).map_err(|(field, problem)| {
                note(format!("permissions.rules[{at}].when.{field}"), problem);
            });
            if let (Ok(permission), Ok(selector)) = (permission, selector) {
                states.push(PermissionRule { permission, selector, state: rule.state });
            }
        }
        let trusted = Globs::new(&policy.trusted_sources).unwrap_or_else(|bad| {
            note("policy.trusted_sources".to_owned(), bad.to_string());
            Globs::none()
        });
        let indexes = (
            ToolIndex::of(rules.iter().map(|rule| &rule.selector)),
            ToolIndex::of(approvals.iter().map(|rule| &rule.selector)),
        );
        let (Some(rules_by_tool), Some(approval_by_tool), []) = (indexes.0, indexes.1, problems.as_slice())
        else {
            if problems.is_empty() {
                let problem = "the patterns of all rules together are too much".to_owned();
                problems.push(PolicyProblem { key: "policy.rules".to_owned(), problem });
            }
            return Err(problems);
        };
        let asks_for_traits = rules.iter().any(|rule| rule.selector.asks_for_traits())
            || approvals
                .iter()
                .any(|rule| rule.selector.asks_for_traits() || rule.mode == ApprovalMode::Writes)
            || approval.default == ApprovalMode::Writes;
        Ok(Self {
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
            asks_for_traits,
            cache: Cache::default(),
        })
    }

    /// Whether this caller may list and call this tool. `spec` is none where its source is away: then a rule that
    /// depends on what the tool does is taken as the cautious one.
    #[must_use]
    pub fn may_use(&self, caller: &Caller, tool: &ToolId, spec: Option<&ToolSpec>) -> bool {
        self.decide(caller, tool, spec).effect != Effect::Deny
    }

    /// Whether a source's word on what its tools do is believed.
    #[must_use]
    pub fn trusts(&self, source: &toolway_types::Slug) -> bool {
        is_trusted(&self.trusted, source)
    }

    /// Whether a tool that has changed waits for the owner.
    #[must_use]
    pub fn holds_changed_tools(&self) -> bool {
        self.changed_tools == ChangedTools::Ask
    }

    pub(crate) fn decide(&self, caller: &Caller, tool: &ToolId, spec: Option<&ToolSpec>) -> Decision {
        if !caller.principal.role.may_call() {
            return Decision { effect: Effect::Deny, rule: None, approval: Approval::NotNeeded };
        }
        if self.rules.is_empty() && self.approval.is_empty() && self.default_approval != ApprovalMode::Writes
        {
            let approval = match self.default_approval {
                ApprovalMode::Always => Approval::Owner,
                _ => Approval::NotNeeded,
            };
            return Decision { effect: self.default, rule: None, approval };
        }
        let traits = match self.asks_for_traits {
            true => Traits::of(spec, self.trusts(&tool.source)),
            false => Traits::of(None, false),
        };
        let fitting = || Fitting {
            rules: self.rules.iter().map(|rule| rule.selector.fits_caller(caller)).collect(),
            approval: self.approval.iter().map(|rule| rule.selector.fits_caller(caller)).collect(),
        };
        self.cache.decision(caller, tool, traits, fitting, |fitting| {
            with_text(tool, |id| self.look(fitting, id, traits))
        })
    }

    fn look(&self, fitting: &Fitting, id: &str, traits: Traits) -> Decision {
        let for_tool = self.rules_by_tool.fitting(id);
        let both = fitting.rules.iter().zip(&for_tool).zip(&self.rules);
        let place = both.into_iter().position(|((for_caller, for_tool), rule)| {
            *for_caller
                && *for_tool
                && rule.selector.fits_traits(traits, rule.definition.effect == Effect::Deny)
        });
        let effect =
            place.and_then(|at| self.rules.get(at)).map_or(self.default, |rule| rule.definition.effect);
        let for_tool = self.approval_by_tool.fitting(id);
        let mut both = fitting.approval.iter().zip(&for_tool).zip(&self.approval);
        let approval = both
            .find(|((for_caller, for_tool), rule)| {
                **for_caller && **for_tool && rule.selector.fits_traits(traits, false)
            })
            .map(|(_, rule)| rule);
        let (mode, caller_may_answer) =
            approval.map_or((self.default_approval, false), |rule| (rule.mode, rule.caller_may_answer));
        let needed = match mode {
            ApprovalMode::Never => false,
            ApprovalMode::Writes => !traits.read_only,
            ApprovalMode::Always => true,
        };
        let approval = if needed { Approval::needed(caller_may_answer) } else { Approval::NotNeeded };
        Decision { effect, rule: place.and_then(|at| u16::try_from(at).ok()), approval }
    }

    fn rule(&self, decision: Decision) -> Option<&Rule> {
        decision.rule.and_then(|at| self.rules.get(usize::from(at)))
    }

    /// The name of the rule that decided.
    pub(crate) fn rule_name(&self, decision: Decision) -> Option<&str> {
        self.rule(decision).map(|rule| rule.name.as_str())
    }

    /// Whether a person is asked, by the rule or by the approval settings. Where both ask, whoever may answer
    /// the stricter.
    pub(crate) fn approval(&self, decision: Decision) -> Approval {
        let by_rule = match decision.effect {
            Effect::Ask => {
                Approval::needed(self.rule(decision).is_some_and(|rule| rule.definition.caller_may_answer))
            }
            _ => Approval::NotNeeded,
        };
        match (by_rule, decision.approval) {
            (Approval::NotNeeded, other) | (other, Approval::NotNeeded) => other,
            (Approval::OwnerOrCaller, Approval::OwnerOrCaller) => Approval::OwnerOrCaller,
            _ => Approval::Owner,
        }
    }

    /// The state of a permission that is checked here.
    pub(crate) fn permission(
        &self,
        permission: &str,
        caller: &Caller,
        tool: &ToolId,
        spec: &ToolSpec,
    ) -> PermissionState {
        if self.permissions.is_empty() {
            return self.default_permission;
        }
        let traits = Traits::of(Some(spec), self.trusts(&tool.source));
        let found = with_text(tool, |id| {
            self.permissions.iter().find(|rule| {
                rule.permission.matches(permission)
                    && rule.selector.fits_caller(caller)
                    && rule.selector.fits_tool(id, traits, true)
            })
        });
        found.map_or(self.default_permission, |rule| rule.state)
    }

    /// The permissions of a tool that are checked here, and their states.
    pub(crate) fn permissions<'s>(
        &'s self,
        caller: &'s Caller,
        tool: &'s ToolId,
        spec: &'s ToolSpec,
    ) -> impl Iterator<Item = (&'s str, PermissionState)> {
        permission::checked_here(tool, spec)
            .map(move |permission| (permission, self.permission(permission, caller, tool, spec)))
    }
}

#[cfg(test)]
mod tests;
