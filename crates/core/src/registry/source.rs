//! A source in a snapshot: its leases and its tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{ExposedName, Slug, ToolName};

use super::SortedTools;
use crate::lease_id::LeaseId;
use crate::tool::Tool;

/// A source in a snapshot.
#[derive(Debug, Clone)]
pub struct SourceSnapshot {
    leases: Vec<(LeaseId, SortedTools)>,
    /// Tools of all leases by name. If two have the same name, the one registered last.
    tools: SortedTools,
    /// The few tools whose exposed name is not simply prefix and name, by exposed name, with their index in
    /// `tools`.
    hashed_names: Box<[(ExposedName, usize)]>,
    /// Names of the tools when the source was last online.
    known_names: Arc<[ToolName]>,
    /// Barrier of the source: shared by ordinary calls, exclusive for sequential ones. None if no tool is
    /// sequential.
    pub(crate) barrier: Option<Arc<RwLock<()>>>,
}

impl Default for SourceSnapshot {
    fn default() -> Self {
        Self {
            leases: Vec::new(),
            tools: Arc::new([]),
            hashed_names: Box::new([]),
            known_names: Arc::new([]),
            barrier: None,
        }
    }
}

impl SourceSnapshot {
    /// Live tools by name.
    #[must_use]
    pub fn tools(&self) -> &SortedTools {
        &self.tools
    }

    /// Names of the tools: the live ones, or those of the last time online.
    #[must_use]
    pub fn known_names(&self) -> &[ToolName] {
        &self.known_names
    }

    /// True if the source has a lease.
    #[must_use]
    pub fn is_online(&self) -> bool {
        !self.leases.is_empty()
    }

    /// True if this is the only lease of the source.
    pub(super) fn has_only(&self, id: LeaseId) -> bool {
        matches!(self.leases.as_slice(), [(lease, _)] if *lease == id)
    }

    /// Finds a live tool by name.
    pub(super) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        find(&self.tools, name)
    }

    /// Tools of one lease, by name; empty if the lease is gone.
    #[must_use]
    pub fn tools_of(&self, lease: LeaseId) -> &[Arc<dyn Tool>] {
        self.leases.iter().find(|(id, _)| *id == lease).map_or(&[], |(_, tools)| tools)
    }

    /// Finds a tool of one lease by name.
    pub(super) fn tool_of(&self, lease: LeaseId, name: &str) -> Option<&Arc<dyn Tool>> {
        find(self.tools_of(lease), name)
    }

    /// Finds a live tool by its exposed name. `bare` is the part after the prefix.
    pub(super) fn tool_by_full_name(&self, exposed: &str, bare: &str) -> Option<&Arc<dyn Tool>> {
        if let Ok(at) = self.hashed_names.binary_search_by(|(name, _)| name.as_str().cmp(exposed)) {
            return self.tools.get(self.hashed_names.get(at)?.1);
        }
        let at = position(&self.tools, bare)?;
        // A tool whose exposed name was changed cannot be found by the unchanged one.
        let is_changed = self.hashed_names.iter().any(|(_, changed)| *changed == at);
        self.tools.get(at).filter(|_| !is_changed)
    }

    /// Finds the name of a tool from the last time online by its exposed name.
    pub(super) fn known_name(&self, slug: &Slug, exposed: &str, bare: &str) -> Option<&ToolName> {
        let named = |name: &&ToolName| ExposedName::of(slug, name.as_str()).as_str() == exposed;
        if may_be_hashed(exposed) {
            return self.known_names.iter().find(named);
        }
        let at = self.known_names.binary_search_by(|name| name.as_str().cmp(bare)).ok()?;
        self.known_names.get(at).filter(named)
    }

    /// Declares the tools of an offline source.
    pub(super) fn declare(&mut self, mut known: Vec<ToolName>) {
        if !self.is_online() {
            known.sort();
            known.dedup();
            self.known_names = known.into();
        }
    }

    /// Adds a lease. Until it registers tools, the known names stay reserved.
    pub(super) fn add_lease(&mut self, id: LeaseId) {
        self.leases.push((id, Arc::new([])));
    }

    /// Sets the tools of a lease. Does nothing if the source was forgotten.
    pub(super) fn set_lease(&mut self, slug: &Slug, id: LeaseId, tools: SortedTools) {
        let Some(at) = self.leases.iter().position(|(lease, _)| *lease == id) else { return };
        // The lease that registered last answers for a name, so it moves to the end.
        self.leases.remove(at);
        self.leases.push((id, tools));
        self.merge_leases(slug);
        self.update_known_names();
    }

    pub(super) fn drop_lease(&mut self, slug: &Slug, id: LeaseId) {
        self.leases.retain(|(lease, _)| *lease != id);
        self.merge_leases(slug);
        // A device that reconnects before its old connection ends has no tools for a moment.
        if !self.tools.is_empty() {
            self.update_known_names();
        }
    }

    fn update_known_names(&mut self) {
        self.known_names = self.tools.iter().map(|tool| tool.spec().name().clone()).collect();
    }

    fn merge_leases(&mut self, slug: &Slug) {
        self.tools = match self.leases.as_slice() {
            [] => Arc::new([]),
            [(_, only)] => only.clone(),
            several => {
                let mut merged = BTreeMap::new();
                for (_, tools) in several {
                    merged.extend(tools.iter().map(|tool| (tool.spec().name().clone(), tool.clone())));
                }
                merged.into_values().collect()
            }
        };
        let changed = self.tools.iter().enumerate().filter_map(|(at, tool)| {
            let name = tool.spec().name().as_str();
            (!ExposedName::is_plain(slug, name)).then(|| (ExposedName::of(slug, name), at))
        });
        let mut changed: Vec<_> = changed.collect();
        changed.sort();
        self.hashed_names = changed.into();
        match self.tools.iter().any(|tool| tool.spec().is_sequential()) {
            true if self.barrier.is_none() => self.barrier = Some(Arc::default()),
            true => {}
            false => self.barrier = None,
        }
    }
}

/// True if an exposed name may end in a hash.
fn may_be_hashed(exposed: &str) -> bool {
    let tail = exposed.len().checked_sub(14).and_then(|at| exposed.get(at..));
    tail.is_some_and(|tail| tail.starts_with("_x"))
}

fn position(tools: &[Arc<dyn Tool>], name: &str) -> Option<usize> {
    tools.binary_search_by(|tool| tool.spec().name().as_str().cmp(name)).ok()
}

fn find<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> Option<&'a Arc<dyn Tool>> {
    tools.get(position(tools, name)?)
}
