//! The catalogue for `find_tools`: the tools that the policy lets the caller list.

use std::sync::{Arc, Weak};

use toolway_core::{Caller, Engine, ToolSpec};
use toolway_tools::builtin::find_tools::ToolCatalogue;
use toolway_types::ToolId;

/// The tools of the engine that this tool is registered in.
pub(super) struct EngineCatalogue(Weak<Engine>);

impl EngineCatalogue {
    pub(super) fn of(engine: &Arc<Engine>) -> Self {
        Self(Arc::downgrade(engine))
    }
}

impl ToolCatalogue for EngineCatalogue {
    fn visit(&self, caller: &Caller, each: &mut dyn FnMut(&ToolId, &Arc<ToolSpec>)) {
        let Some(engine) = self.0.upgrade() else { return };
        let (policy, snapshot) = (engine.policy(), engine.registry().snapshot());
        for (id, tool) in snapshot.tools() {
            if policy.may_use(caller, &id, Some(tool.spec())) {
                each(&id, tool.spec());
            }
        }
    }
}
