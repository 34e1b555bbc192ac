//! Tools whose description or schema is not what the owner last saw. Whoever compares specs says which; calls of
//! them wait for the owner where the policy wants that.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use toolway_types::ToolId;

/// The tools that have changed.
#[derive(Debug, Default)]
pub struct ChangedTools {
    tools: RwLock<HashSet<ToolId>>,
    /// How many there are: most of the time none, and then nothing is locked.
    count: AtomicUsize,
}

impl ChangedTools {
    /// Marks a tool as changed, or takes the mark away.
    pub fn set(&self, tool: &ToolId, changed: bool) {
        let mut tools = self.tools.write();
        if changed {
            tools.insert(tool.clone());
        } else {
            tools.remove(tool);
        }
        self.count.store(tools.len(), Ordering::Release);
    }

    /// Whether a tool has changed.
    #[must_use]
    pub fn contains(&self, tool: &ToolId) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.tools.read().contains(tool)
    }
}
