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

type Decisions = RwLock<HashMap<ToolId, (Traits, Decision)>>;

#[derive(Debug, Default)]
pub(super) struct Cache(RwLock<HashMap<Who, Arc<Decisions>>>);

impl Cache {
    /// What was decided, or is now.
    pub(super) fn decision(
        &self,
        caller: &Caller,
        tool: &ToolId,
        traits: Traits,
        decide: impl FnOnce() -> Decision,
    ) -> Decision {
        let decisions = self.of(caller);
        if let Some((seen, decision)) = decisions.read().get(tool)
            && *seen == traits
        {
            return *decision;
        }
        let decision = decide();
        let mut decisions = decisions.write();
        if decisions.len() >= TOOLS {
            decisions.clear();
        }
        decisions.insert(tool.clone(), (traits, decision));
        decision
    }

    fn of(&self, caller: &Caller) -> Arc<Decisions> {
        let principal = &caller.principal;
        let who =
            Who { principal: principal.id.clone(), role: principal.role, agent: caller.agent().cloned() };
        if let Some(decisions) = self.0.read().get(&who) {
            return decisions.clone();
        }
        let mut callers = self.0.write();
        if callers.len() >= CALLERS && !callers.contains_key(&who) {
            callers.clear();
        }
        callers.entry(who).or_default().clone()
    }
}
