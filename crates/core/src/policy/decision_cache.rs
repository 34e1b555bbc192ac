//! Cache of decisions per caller and tool. It is dropped when the rules change.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use toolway_types::{PrincipalId, Role, ToolId};

use super::PolicyDecision;
use super::selector::ToolTraits;
use crate::caller::Caller;

/// Maximum number of cached callers.
const MAX_CALLERS: usize = 256;
/// Maximum number of cached decisions per caller.
const MAX_TOOLS_PER_CALLER: usize = 16_384;

/// The properties of a caller that rules depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CallerKey {
    principal: PrincipalId,
    role: Role,
    agent: Option<Arc<str>>,
}

/// Cached decisions of one caller.
#[derive(Debug)]
struct CallerDecisions {
    matching_rules: MatchingRules,
    decisions: RwLock<HashMap<ToolId, (ToolTraits, PolicyDecision)>>,
}

/// Rules that match a caller, for any tool.
#[derive(Debug)]
pub(super) struct MatchingRules {
    pub(super) rules: Vec<bool>,
    pub(super) approval: Vec<bool>,
}

#[derive(Debug, Default)]
pub(super) struct DecisionCache(RwLock<HashMap<CallerKey, Arc<CallerDecisions>>>);

impl DecisionCache {
    /// Returns the cached decision, or decides and caches.
    pub(super) fn get_or_decide(
        &self,
        caller: &Caller,
        tool: &ToolId,
        traits: ToolTraits,
        fitting: impl FnOnce() -> MatchingRules,
        decide: impl FnOnce(&MatchingRules) -> PolicyDecision,
    ) -> PolicyDecision {
        let of_caller = self.caller_entry(caller, fitting);
        if let Some((seen, decision)) = of_caller.decisions.read().get(tool)
            && *seen == traits
        {
            return *decision;
        }
        let decision = decide(&of_caller.matching_rules);
        let mut decisions = of_caller.decisions.write();
        if decisions.len() >= MAX_TOOLS_PER_CALLER {
            decisions.clear();
        }
        decisions.insert(tool.clone(), (traits, decision));
        decision
    }

    /// Number of cached callers, and the largest number of decisions of one caller.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        let callers = self.0.read();
        (callers.len(), callers.values().map(|it| it.decisions.read().len()).max().unwrap_or(0))
    }

    fn caller_entry(&self, caller: &Caller, fitting: impl FnOnce() -> MatchingRules) -> Arc<CallerDecisions> {
        let principal = &caller.principal;
        let who = CallerKey {
            principal: principal.id.clone(),
            role: principal.role,
            agent: caller.agent().cloned(),
        };
        if let Some(known) = self.0.read().get(&who) {
            return known.clone();
        }
        let made = Arc::new(CallerDecisions { matching_rules: fitting(), decisions: RwLock::default() });
        let mut callers = self.0.write();
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&who) {
            callers.clear();
        }
        callers.entry(who).or_insert(made).clone()
    }
}
