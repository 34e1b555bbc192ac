//! A snapshot of the registry. Clones share all unchanged parts.

use std::sync::Arc;

use imbl::{HashMap, OrdMap, OrdSet};
use toolway_types::{Slug, ToolId, ToolName};

use super::{SortedTools, SourceRetention, SourceSnapshot};
use crate::lease_id::LeaseId;
use crate::tool::Tool;

/// An immutable snapshot of the registry.
#[derive(Debug, Clone, Default)]
pub struct RegistrySnapshot {
    pub(super) sources: OrdMap<Slug, Arc<SourceSnapshot>>,
    /// Sources that have, or had when last online, a tool with this name.
    pub(super) by_bare_name: HashMap<ToolName, OrdSet<Slug>>,
}

impl RegistrySnapshot {
    /// All sources, by slug.
    pub fn sources(&self) -> impl Iterator<Item = (&Slug, &SourceSnapshot)> {
        self.sources.iter().map(|(slug, source)| (slug, source.as_ref()))
    }

    /// Finds a source.
    #[must_use]
    pub fn source(&self, slug: &Slug) -> Option<&SourceSnapshot> {
        self.sources.get(slug).map(Arc::as_ref)
    }

    /// All live tools, sorted by source and name, so that equal sets have the same order.
    pub fn tools(&self) -> impl Iterator<Item = (ToolId, &Arc<dyn Tool>)> {
        self.sources.iter().flat_map(|(slug, source)| {
            let id = |tool: &Arc<dyn Tool>| ToolId::new(slug.clone(), tool.spec().name().clone());
            source.tools().iter().map(move |tool| (id(tool), tool))
        })
    }

    pub(super) fn declare(&mut self, slug: &Slug, known: Vec<ToolName>) {
        self.edit(slug, |source| source.declare(known));
    }

    pub(super) fn forget(&mut self, slug: &Slug) {
        if let Some(gone) = self.sources.remove(slug) {
            self.remove_names(slug, gone.known_names(), &[]);
        }
    }

    pub(super) fn add_lease(&mut self, slug: &Slug, id: LeaseId) {
        self.edit(slug, |source| source.add_lease(id));
    }

    pub(super) fn set_lease(&mut self, slug: &Slug, id: LeaseId, tools: SortedTools) {
        if self.sources.contains_key(slug) {
            self.edit(slug, |source| source.set_lease(slug, id, tools));
        }
    }

    pub(super) fn drop_lease(&mut self, slug: &Slug, id: LeaseId, keep: SourceRetention) {
        match self.sources.get(slug) {
            None => {}
            Some(source) if source.has_only(id) && keep == SourceRetention::Nothing => self.forget(slug),
            Some(_) => self.edit(slug, |source| source.drop_lease(slug, id)),
        }
    }

    fn edit(&mut self, slug: &Slug, edit: impl FnOnce(&mut SourceSnapshot)) {
        let before = self.sources.get(slug).cloned().unwrap_or_default();
        let mut after = SourceSnapshot::clone(&before);
        edit(&mut after);
        self.remove_names(slug, before.known_names(), after.known_names());
        for name in after.known_names() {
            if before.known_names().binary_search(name).is_err() {
                self.by_bare_name.entry(name.clone()).or_default().insert(slug.clone());
            }
        }
        self.sources.insert(slug.clone(), Arc::new(after));
    }

    /// Removes names from the index that are in `before` but not in `after`.
    fn remove_names(&mut self, slug: &Slug, before: &[ToolName], after: &[ToolName]) {
        for name in before {
            if after.binary_search(name).is_ok() {
                continue;
            }
            let emptied = self.by_bare_name.get_mut(name).is_some_and(|slugs| {
                slugs.remove(slug);
                slugs.is_empty()
            });
            if emptied {
                self.by_bare_name.remove(name);
            }
        }
    }
}
