//! Tools whose description or schema has changed since the owner accepted them. Another component compares
//! specs and sets the marks; calls of marked tools wait for the owner if the policy requires it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use toolway_types::{Slug, ToolId, ToolName};

/// Maximum number of marks per source. A source that exceeds it has renamed its tools at each registration;
/// from then on all of its tools count as changed.
const MAX_PER_SOURCE: usize = 32_768;

/// The set of changed tools.
#[derive(Debug, Default)]
pub struct ChangedTools {
    sources: RwLock<HashMap<Slug, SourceChanges>>,
    /// Number of sources with marks. Mostly 0, and then no lock is needed.
    count: AtomicUsize,
}

#[derive(Debug)]
enum SourceChanges {
    Tools(HashSet<ToolName>),
    All,
}

impl ChangedTools {
    /// Marks a tool as changed, or removes the mark.
    pub fn set(&self, tool: &ToolId, changed: bool) {
        let mut sources = self.sources.write();
        if changed {
            let of_source =
                sources.entry(tool.source.clone()).or_insert_with(|| SourceChanges::Tools(HashSet::new()));
            if let SourceChanges::Tools(tools) = of_source
                && tools.insert(tool.tool.clone())
                && tools.len() > MAX_PER_SOURCE
            {
                tracing::warn!(source = %tool.source, "too many tools have changed; all tools of this source now count as changed");
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

    /// True if a tool has changed.
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
