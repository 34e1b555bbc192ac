//! One source as a snapshot has it: who registered for it, and what its tools are called.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{ExposedName, Slug, ToolName};

use super::SortedTools;
use crate::lease_id::LeaseId;
use crate::tool::Tool;

/// One source as a snapshot has it.
#[derive(Debug, Clone)]
pub struct SourceSnapshot {
    leases: Vec<(LeaseId, SortedTools)>,
    /// All leases' tools by name; of two with one name, the one registered last.
    tools: SortedTools,
    /// The few whose exposed name is not made by putting a prefix before the name: that name, and which of
    /// `tools` it is. By exposed name.
    hashed_names: Box<[(ExposedName, usize)]>,
    /// The tools it had when it was last here.
    known_names: Arc<[ToolName]>,
    /// Held shared by ordinary calls and alone by sequential ones; none where no tool is sequential.
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
    /// Its live tools by name.
    #[must_use]
    pub fn tools(&self) -> &SortedTools {
        &self.tools
    }

    /// The names of its tools: the live ones, or those it had when it was last here.
    #[must_use]
    pub fn known_names(&self) -> &[ToolName] {
        &self.known_names
    }

    /// Whether somebody holds a lease of it.
    #[must_use]
    pub fn is_online(&self) -> bool {
        !self.leases.is_empty()
    }

    /// Whether this lease is the only one of it.
    pub(super) fn has_only(&self, id: LeaseId) -> bool {
        matches!(self.leases.as_slice(), [(lease, _)] if *lease == id)
    }

    /// The live tool of this name.
    pub(super) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        find(&self.tools, name)
    }

    /// What one lease holds, by name; nothing where it is gone.
    #[must_use]
    pub fn tools_of(&self, lease: LeaseId) -> &[Arc<dyn Tool>] {
        self.leases.iter().find(|(id, _)| *id == lease).map_or(&[], |(_, tools)| tools)
    }

    /// The tool of this name that one lease holds.
    pub(super) fn tool_of(&self, lease: LeaseId, name: &str) -> Option<&Arc<dyn Tool>> {
        find(self.tools_of(lease), name)
    }

    /// The live tool whose exposed name is `exposed`; `bare` is what follows the prefix in it.
    pub(super) fn tool_by_full_name(&self, exposed: &str, bare: &str) -> Option<&Arc<dyn Tool>> {
        if let Ok(at) = self.hashed_names.binary_search_by(|(name, _)| name.as_str().cmp(exposed)) {
            return self.tools.get(self.hashed_names.get(at)?.1);
        }
        let at = position(&self.tools, bare)?;
        // Where the name was changed, what looks like its exposed name is none.
        let is_changed = self.hashed_names.iter().any(|(_, changed)| *changed == at);
        self.tools.get(at).filter(|_| !is_changed)
    }

    /// The name of a tool that it had when it was last here, by its exposed name.
    pub(super) fn known_name(&self, slug: &Slug, exposed: &str, bare: &str) -> Option<&ToolName> {
        let named = |name: &&ToolName| ExposedName::of(slug, name.as_str()).as_str() == exposed;
        if may_be_hashed(exposed) {
            return self.known_names.iter().find(named);
        }
        let at = self.known_names.binary_search_by(|name| name.as_str().cmp(bare)).ok()?;
        self.known_names.get(at).filter(named)
    }

    /// While it is away, says which tools it had.
    pub(super) fn declare(&mut self, mut known: Vec<ToolName>) {
        if !self.is_online() {
            known.sort();
            known.dedup();
            self.known_names = known.into();
        }
    }

    /// Until the lease registers something, what the source had keeps its names taken.
    pub(super) fn add_lease(&mut self, id: LeaseId) {
        self.leases.push((id, Arc::new([])));
    }

    /// Does nothing where the lease was forgotten.
    pub(super) fn set_lease(&mut self, slug: &Slug, id: LeaseId, tools: SortedTools) {
        let Some(at) = self.leases.iter().position(|(lease, _)| *lease == id) else { return };
        // The one that registered last answers for a name, so it moves to the end.
        self.leases.remove(at);
        self.leases.push((id, tools));
        self.merge_leases(slug);
        self.update_known_names();
    }

    pub(super) fn drop_lease(&mut self, slug: &Slug, id: LeaseId) {
        self.leases.retain(|(lease, _)| *lease != id);
        self.merge_leases(slug);
        // A device that comes back before it has left is here with nothing for a moment.
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
        let exposed = self.tools.iter().enumerate().map(|(at, tool)| {
            let name = tool.spec().name().as_str();
            (ExposedName::of(slug, name), at, name)
        });
        let changed = exposed.filter(|(exposed, _, name)| !is_unhashed(exposed, slug, name));
        let mut changed: Vec<_> = changed.map(|(exposed, at, _)| (exposed, at)).collect();
        changed.sort();
        self.hashed_names = changed.into();
        match self.tools.iter().any(|tool| tool.spec().is_sequential()) {
            true if self.barrier.is_none() => self.barrier = Some(Arc::default()),
            true => {}
            false => self.barrier = None,
        }
    }
}

/// Whether an exposed name ends as those do that had to be changed: with a mark and twelve digits.
fn may_be_hashed(exposed: &str) -> bool {
    let tail = exposed.len().checked_sub(14).and_then(|at| exposed.get(at..));
    tail.is_some_and(|tail| tail.starts_with("_x"))
}

/// Whether an exposed name is the name itself after its source's prefix.
fn is_unhashed(exposed: &ExposedName, slug: &Slug, name: &str) -> bool {
    let Some(prefix) = exposed.as_str().strip_suffix(name) else { return false };
    match slug.is_builtin() {
        true => prefix.is_empty(),
        false => prefix.strip_suffix("__") == Some(slug.as_str()),
    }
}

fn position(tools: &[Arc<dyn Tool>], name: &str) -> Option<usize> {
    tools.binary_search_by(|tool| tool.spec().name().as_str().cmp(name)).ok()
}

fn find<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> Option<&'a Arc<dyn Tool>> {
    tools.get(position(tools, name)?)
}
