//! The owner of a registration.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::{Slug, ToolName};

use super::{Registry, SortedTools, SourceRetention};
use crate::lease_id::LeaseId;
use crate::tool::Tool;

/// Owns what it registered. Dropping it removes exactly that, never a newer lease's tools.
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

    /// Its id.
    #[must_use]
    pub fn id(&self) -> LeaseId {
        self.id
    }

    /// The source it registers for.
    #[must_use]
    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    /// What it holds now, by name.
    #[must_use]
    pub fn tools(&self) -> SortedTools {
        self.tools.lock().clone()
    }

    /// Swaps the whole list. Where two tools have one name, the later one stays.
    pub fn replace(&self, tools: Vec<Arc<dyn Tool>>) {
        self.edit(|list| {
            list.clear();
            list.extend(by_name(tools));
        });
    }

    /// Adds tools; one of a name already there takes its place.
    pub fn add(&self, tools: Vec<Arc<dyn Tool>>) {
        self.edit(|list| list.extend(by_name(tools)));
    }

    /// Takes tools back; unknown names do nothing.
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
        // Dropped where no lock is held: a tool may come back to the registry then.
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
