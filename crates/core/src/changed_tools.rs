//! Tools whose description or schema is not what the owner last saw. Whoever compares specs says which; calls of
//! them wait for the owner where the policy wants that.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use toolway_types::{Slug, ToolId, ToolName};

/// Marks that are kept of one source. One that has had more has had a new name for each tool each time it
/// registered them; from then on all of its tools count as changed.
const MAX_PER_SOURCE: usize = 32_768;

/// The tools that have changed.
#[derive(Debug, Default)]
pub struct ChangedTools {
    sources: RwLock<HashMap<Slug, SourceChanges>>,
    /// How many sources have any: most of the time none, and then nothing is locked.
    count: AtomicUsize,
}

#[derive(Debug)]
enum SourceChanges {
    Tools(HashSet<ToolName>),
    All,
}

impl ChangedTools {
    /// Marks a tool as changed, or takes the mark away.
    pub fn set(&self, tool: &ToolId, changed: bool) {
        let mut sources = self.sources.write();
        if changed {
            let of_source =
                sources.entry(tool.source.clone()).or_insert_with(|| SourceChanges::Tools(HashSet::new()));
            if let SourceChanges::Tools(tools) = of_source
                && tools.insert(tool.tool.clone())
                && tools.len() > MAX_PER_SOURCE
            {
                tracing::warn!(source = %tool.source, "so many tools have changed that all count as changed");
                *of_source = SourceChanges::All;
            }
        } else if let Some(SourceChanges::Tools(tools)) = sources.get_mut(&tool.source)
            && tools.remove(&tool.tool)
            && tools.is_empty()
        {
            sources.remove(&tool.source);
        }
        self.count.store(sources.len(), Ordering::Release);
    }

    /// Whether a tool has changed.
    #[must_use]
    pub fn contains(&self, tool: &ToolId) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && match self.sources.read().get(&tool.source) {
                None => false,
                Some(SourceChanges::All) => true,
                Some(SourceChanges::Tools(tools)) => tools.contains(&tool.tool),
            }
    }
}

#[cfg(test)]
mod tests;
