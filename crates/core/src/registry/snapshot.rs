//! One state of the registry. Cloning shares all but what changes next.

use std::sync::Arc;

use imbl::{HashMap, OrdMap, OrdSet};
use tokio::sync::RwLock;
use toolway_types::{ExposedName, Slug, ToolId, ToolName};

use super::{Keep, LeaseId, ToolList};
use crate::caller::{Caller, OwnTools};
use crate::tool::Tool;

/// One immutable state of the registry.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    sources: OrdMap<Slug, Arc<SourceView>>,
    /// Which sources have, or had when last here, a tool of this name.
    by_bare_name: HashMap<ToolName, OrdSet<Slug>>,
}

/// One source as a snapshot has it.
#[derive(Debug, Clone)]
pub struct SourceView {
    leases: Vec<(LeaseId, ToolList)>,
    /// All leases' tools by name; of two with one name, the one registered last.
    tools: ToolList,
    /// The tools it had when it was last here.
    known: Arc<[ToolName]>,
    /// Held shared by ordinary calls and alone by sequential ones; none where no tool is sequential.
    pub(crate) barrier: Option<Arc<RwLock<()>>>,
}

/// What a name led to.
#[derive(Debug)]
pub enum Lookup {
    /// A tool.
    Found(ToolId, Arc<dyn Tool>, Option<Arc<RwLock<()>>>),
    /// Nothing of that name.
    Unknown,
    /// Several tools: their ids.
    Ambiguous(Vec<ToolId>),
    /// Its only source is away.
    Away(ToolId),
}

impl Default for SourceView {
    fn default() -> Self {
        Self { leases: Vec::new(), tools: Arc::new([]), known: Arc::new([]), barrier: None }
    }
}

impl SourceView {
    /// Its live tools by name.
    #[must_use]
    pub fn tools(&self) -> &ToolList {
        &self.tools
    }

    /// The names of its tools: the live ones, or those it had when it was last here.
    #[must_use]
    pub fn known(&self) -> &[ToolName] {
        &self.known
    }

    /// Whether somebody holds a lease of it.
    #[must_use]
    pub fn is_here(&self) -> bool {
        !self.leases.is_empty()
    }

    fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        find(&self.tools, name)
    }

    /// The live tool whose exposed name this is.
    fn exposed(&self, slug: &Slug, exposed: &str, bare: &str) -> Option<&Arc<dyn Tool>> {
        if let Some(tool) = self.tool(bare)
            && ExposedName::of(slug, bare).as_str() == exposed
        {
            return Some(tool);
        }
        // A changed name can't be turned back, so the few that were changed are tried.
        self.tools.iter().find(|tool| ExposedName::of(slug, tool.spec().name().as_str()).as_str() == exposed)
    }

    fn merge(&mut self) {
        self.tools = match self.leases.as_slice() {
            [] => Arc::new([]),
            [(_, only)] => only.clone(),
            several => {
                let mut merged = std::collections::BTreeMap::new();
                for (_, tools) in several {
                    merged.extend(tools.iter().map(|tool| (tool.spec().name().clone(), tool.clone())));
                }
                merged.into_values().collect()
            }
        };
        if self.is_here() {
            self.known = self.tools.iter().map(|tool| tool.spec().name().clone()).collect();
        }
        let sequential = self.tools.iter().any(|tool| tool.spec().is_sequential());
        match (&self.barrier, sequential) {
            (None, true) => self.barrier = Some(Arc::default()),
            (Some(_), false) => self.barrier = None,
            _ => {}
        }
    }
}

fn find<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> Option<&'a Arc<dyn Tool>> {
    let at = tools.binary_search_by(|tool| tool.spec().name().as_str().cmp(name)).ok()?;
    tools.get(at)
}

impl Snapshot {
    /// All sources, by slug.
    pub fn sources(&self) -> impl Iterator<Item = (&Slug, &SourceView)> {
        self.sources.iter().map(|(slug, source)| (slug, source.as_ref()))
    }

    /// One source.
    #[must_use]
    pub fn source(&self, slug: &Slug) -> Option<&SourceView> {
        self.sources.get(slug).map(Arc::as_ref)
    }

    /// All live tools, sorted by source and name: the same set gives the same order.
    pub fn tools(&self) -> impl Iterator<Item = (ToolId, &Arc<dyn Tool>)> {
        self.sources.iter().flat_map(|(slug, source)| {
            let id = |tool: &Arc<dyn Tool>| ToolId::new(slug.clone(), tool.spec().name().clone());
            source.tools.iter().map(move |tool| (id(tool), tool))
        })
    }

    /// The tool that a caller means by a name (rule 3 of the protocol): an exact full name first, then a
    /// bare name on the caller's own connection, then a bare name that only one known source has.
    /// `may_use` says which tools exist for this caller.
    #[must_use]
    pub fn lookup(&self, name: &str, caller: &Caller, may_use: impl Fn(&ToolId) -> bool) -> Lookup {
        if let Some((id, source, tool)) = self.by_full_name(name) {
            return if may_use(&id) {
                Lookup::Found(id, tool.clone(), source.barrier.clone())
            } else {
                Lookup::Unknown
            };
        }
        if let Some((id, source, tool)) = caller.own.as_ref().and_then(|own| self.by_own_name(name, own)) {
            return Lookup::Found(id, tool.clone(), source.barrier.clone());
        }
        self.by_unique_name(name, may_use)
    }

    fn by_full_name(&self, name: &str) -> Option<(ToolId, &SourceView, &Arc<dyn Tool>)> {
        let builtin = Slug::builtin();
        let (slug, bare) = match name.split_once("__") {
            Some((slug, bare)) => (slug.parse().ok()?, bare),
            None => (builtin, name),
        };
        let source = self.sources.get(&slug)?;
        let tool = source.exposed(&slug, name, bare)?;
        Some((ToolId::new(slug, tool.spec().name().clone()), source, tool))
    }

    /// A bare name of the caller's own connection, unless a tool that the owner made has it too.
    fn by_own_name(&self, name: &str, own: &OwnTools) -> Option<(ToolId, &SourceView, &Arc<dyn Tool>)> {
        let owner_made = self.sources.get(OWNER_MADE).is_some_and(|source| source.tool(name).is_some());
        let source = self.sources.get(&own.source).filter(|_| !owner_made)?;
        let (_, tools) = source.leases.iter().find(|(id, _)| *id == own.lease)?;
        let tool = find(tools, name)?;
        Some((ToolId::new(own.source.clone(), tool.spec().name().clone()), source.as_ref(), tool))
    }

    fn by_unique_name(&self, name: &str, may_use: impl Fn(&ToolId) -> bool) -> Lookup {
        let Some((bare, slugs)) = self.by_bare_name.get_key_value(name) else { return Lookup::Unknown };
        let usable = |slug: &&Slug| may_use(&ToolId::new((*slug).clone(), bare.clone()));
        let mut usable = slugs.iter().filter(usable);
        let Some(slug) = usable.next() else { return Lookup::Unknown };
        let id = ToolId::new(slug.clone(), bare.clone());
        let others: Vec<_> =
            usable.map(|slug| ToolId::new(slug.clone(), bare.clone())).take(MAX_AMBIGUOUS).collect();
        if !others.is_empty() {
            return Lookup::Ambiguous(std::iter::once(id).chain(others).collect());
        }
        let source = self.sources.get(slug);
        match source.and_then(|source| Some((source, source.tool(name)?))) {
            Some((source, tool)) => Lookup::Found(id, tool.clone(), source.barrier.clone()),
            None => Lookup::Away(id),
        }
    }

    pub(super) fn declare(&mut self, slug: &Slug, known: Vec<ToolName>) {
        self.edit(slug, |source| {
            if !source.is_here() {
                let mut known = known;
                known.sort();
                known.dedup();
                source.known = known.into();
            }
        });
    }

    pub(super) fn forget(&mut self, slug: &Slug) {
        if let Some(gone) = self.sources.remove(slug) {
            self.unlist(slug, &gone.known, &[]);
        }
    }

    pub(super) fn add_lease(&mut self, slug: &Slug, id: LeaseId) {
        let known = self.sources.get(slug).map(|source| source.known.clone());
        self.edit(slug, |source| {
            source.leases.push((id, Arc::new([])));
            // Until it registers, what it had keeps its names taken.
            if let (1, Some(known)) = (source.leases.len(), known) {
                source.known = known;
            }
        });
    }

    pub(super) fn set_lease(&mut self, slug: &Slug, id: LeaseId, tools: ToolList) {
        if !self.sources.contains_key(slug) {
            return;
        }
        self.edit(slug, |source| {
            let Some(at) = source.leases.iter().position(|(lease, _)| *lease == id) else { return };
            // The one that registered last answers for a name, so it moves to the end.
            source.leases.remove(at);
            source.leases.push((id, tools));
            source.merge();
        });
    }

    pub(super) fn drop_lease(&mut self, slug: &Slug, id: LeaseId, keep: Keep) {
        let Some(source) = self.sources.get(slug) else { return };
        let last = matches!(source.leases.as_slice(), [(lease, _)] if *lease == id);
        if last && keep == Keep::Nothing {
            return self.forget(slug);
        }
        self.edit(slug, |source| {
            source.leases.retain(|(lease, _)| *lease != id);
            source.merge();
        });
    }

    fn edit(&mut self, slug: &Slug, edit: impl FnOnce(&mut SourceView)) {
        let before = self.sources.get(slug).cloned().unwrap_or_default();
        let mut after = SourceView::clone(&before);
        edit(&mut after);
        self.unlist(slug, &before.known, &after.known);
        for name in after.known.iter() {
            if before.known.binary_search(name).is_err() {
                self.by_bare_name.entry(name.clone()).or_default().insert(slug.clone());
            }
        }
        self.sources.insert(slug.clone(), Arc::new(after));
    }

    /// Takes the names that are in `before` but not in `after` out of the index.
    fn unlist(&mut self, slug: &Slug, before: &[ToolName], after: &[ToolName]) {
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

/// The source of tools that the owner defines.
const OWNER_MADE: &str = "own";

/// How many of the tools that share a name a refusal lists, beside the first.
const MAX_AMBIGUOUS: usize = 15;
