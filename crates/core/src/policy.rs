//! Policy: who may use which tool, what waits for a person, and how much a principal may do. What may not be used
//! is neither listed nor callable, and looks as if it did not exist.
//!
//! Rules are the owner's ([`definition`]); of each list the first that fits a call decides. Decisions are cached
//! per caller and tool for as long as the rules stand.

mod cache;
mod compile;
pub mod definition;
mod explain;
mod index;
mod limits;
mod selector;

use toolway_types::{Slug, ToolId};

use crate::caller::Caller;
use crate::glob::Globs;
use crate::permission;
use crate::spec::ToolSpec;
use cache::{Cache, Fitting};
use definition::{ApprovalMode, ChangedTools, Effect, PermissionState, RuleDefinition};
use index::ToolIndex;
use selector::{Selector, Traits};

pub use compile::PolicyProblem;
pub use explain::{Explanation, PermissionExplanation};
pub(crate) use limits::Limiter;

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
    /// Whether this caller may list and call this tool. `spec` is none where its source is away: then a rule that
    /// depends on what the tool does is taken as the cautious one.
    #[must_use]
    pub fn may_use(&self, caller: &Caller, tool: &ToolId, spec: Option<&ToolSpec>) -> bool {
        self.decide(caller, tool, spec).effect != Effect::Deny
    }

    /// Whether there are rules that could deny something.
    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether a source's word on what its tools do is believed.
    #[must_use]
    pub fn trusts(&self, source: &Slug) -> bool {
        self.trusted.matches(source.as_str())
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
        self.cache
            .decision(caller, tool, traits, fitting, |fitting| self.look(fitting, &tool.to_string(), traits))
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
        let id = tool.to_string();
        let found = self.permissions.iter().find(|rule| {
            rule.permission.matches(permission)
                && rule.selector.fits_caller(caller)
                && rule.selector.fits_tool(&id, traits, true)
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
