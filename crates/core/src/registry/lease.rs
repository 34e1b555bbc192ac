//! The lease, which owns a registration.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::{Slug, ToolName};

use super::{Registry, SortedTools, SourceRetention};
use crate::lease_id::LeaseId;
use crate::tool::Tool;

/// Owns the tools that it registered. Dropping it removes exactly these, never the tools of a newer lease.
#[derive(Debug)]
pub struct Lease {
    registry: Arc<Registry>,
    slug: Slug,
    id: LeaseId,
    retention: SourceRetention,
    tools: Mutex<SortedTools>,
}

impl Lease {
    pub(super) fn new(registry: Arc<Registry>, slug: Slug, id: LeaseId, keep: SourceRetention) -> Self {
        Self { registry, slug, id, retention: keep, tools: Mutex::new(Arc::new([])) }
    }

    /// Id of the lease.
    #[must_use]
    pub fn id(&self) -> LeaseId {
        self.id
    }

    /// Source of the registration.
    #[must_use]
    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    /// Current tools, sorted by name.
    #[must_use]
    pub fn tools(&self) -> SortedTools {
        self.tools.lock().clone()
    }

    /// Replaces all tools. If two have the same name, the later one wins.
    pub fn replace(&self, tools: Vec<Arc<dyn Tool>>) {
        self.edit(|list| {
            list.clear();
            list.extend(by_name(tools));
        });
    }

    /// Adds tools. A tool with an existing name replaces the earlier one.
    pub fn add(&self, tools: Vec<Arc<dyn Tool>>) {
        self.edit(|list| list.extend(by_name(tools)));
    }

    /// Removes tools. Unknown names are ignored.
    pub fn remove(&self, names: &[String]) {
        self.edit(|list| names.iter().for_each(|name| drop(list.remove(name.as_str()))));
    }

    fn edit(&self, edit: impl FnOnce(&mut BTreeMap<ToolName, Arc<dyn Tool>>)) {
        let before;
        {
            let mut tools = self.tools.lock();
            let mut list = by_name(tools.iter().cloned()).collect();
            edit(&mut list);
            before = std::mem::replace(&mut *tools, list.into_values().collect());
            self.registry.set_lease(&self.slug, self.id, tools.clone());
        }
        // Dropped without a lock, because dropping a tool may call the registry.
        drop(before);
    }
}

fn by_name(
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> impl Iterator<Item = (ToolName, Arc<dyn Tool>)> {
    tools.into_iter().map(|tool| (tool.spec().name().clone(), tool))
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.registry.drop_lease(&self.slug, self.id, self.retention);
    }
}

impl std::fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tool({})", self.spec().name())
    }
}
