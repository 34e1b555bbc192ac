//! What was decided before, per caller and tool. It lives as long as the rules that it was decided by.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use toolway_types::{PrincipalId, Role, ToolId};

use super::Decision;
use super::selector::Traits;
use crate::caller::Caller;

/// Callers whose decisions are remembered.
const CALLERS: usize = 256;
/// Decisions that are remembered of one caller.
const TOOLS: usize = 16_384;

/// What rules look at in a caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Who {
    principal: PrincipalId,
    role: Role,
    agent: Option<Arc<str>>,
}

/// What is remembered of one caller.
#[derive(Debug)]
struct OfCaller {
    fitting: Fitting,
    decisions: RwLock<HashMap<ToolId, (Traits, Decision)>>,
}

/// Which rules are for a caller, whatever the tool.
#[derive(Debug)]
pub(super) struct Fitting {
    pub(super) rules: Vec<bool>,
    pub(super) approval: Vec<bool>,
}

#[derive(Debug, Default)]
pub(super) struct Cache(RwLock<HashMap<Who, Arc<OfCaller>>>);

impl Cache {
    /// What was decided, or is now.
    pub(super) fn decision(
        &self,
        caller: &Caller,
        tool: &ToolId,
        traits: Traits,
        fitting: impl FnOnce() -> Fitting,
        decide: impl FnOnce(&Fitting) -> Decision,
    ) -> Decision {
        let of_caller = self.of(caller, fitting);
        if let Some((seen, decision)) = of_caller.decisions.read().get(tool)
            && *seen == traits
        {
            return *decision;
        }
        let decision = decide(&of_caller.fitting);
        let mut decisions = of_caller.decisions.write();
        if decisions.len() >= TOOLS {
            decisions.clear();
        }
        decisions.insert(tool.clone(), (traits, decision));
        decision
    }

    /// Of how many callers decisions are remembered, and how many of the one with most.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        let callers = self.0.read();
        (callers.len(), callers.values().map(|it| it.decisions.read().len()).max().unwrap_or(0))
    }

    fn of(&self, caller: &Caller, fitting: impl FnOnce() -> Fitting) -> Arc<OfCaller> {
        let principal = &caller.principal;
        let who =
            Who { principal: principal.id.clone(), role: principal.role, agent: caller.agent().cloned() };
        if let Some(known) = self.0.read().get(&who) {
            return known.clone();
        }
        let made = Arc::new(OfCaller { fitting: fitting(), decisions: RwLock::default() });
        let mut callers = self.0.write();
        if callers.len() >= CALLERS && !callers.contains_key(&who) {
            callers.clear();
        }
        callers.entry(who).or_insert(made).clone()
    }
}
