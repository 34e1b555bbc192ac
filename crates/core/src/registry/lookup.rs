//! Resolution of tool names for a caller (docs/protocol.md, "Names").

use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{Slug, ToolId};

use super::{RegistrySnapshot, SourceSnapshot};
use crate::caller::{Caller, CallerRegistration};
use crate::spec::ToolSpec;
use crate::tool::Tool;

/// Source of the built-in tools, whose full names have no prefix.
const BUILTIN: &str = "builtin";
/// Source of the tools defined by the owner.
pub(super) const OWN: &str = "own";
/// Maximum number of tools listed for an ambiguous name.
const MAX_LISTED: usize = 16;

/// Result of looking up a name.
#[derive(Debug)]
pub enum ToolLookup {
    /// The name is one tool.
    Found(ToolId, Arc<dyn Tool>, Option<Arc<RwLock<()>>>),
    /// No tool has the name.
    Unknown,
    /// Several sources have the name; these are the possible tools.
    Ambiguous(Vec<ToolId>),
    /// The only source with the name is offline.
    Offline(ToolId),
}

/// Result of looking up a full name or an id.
enum ExactMatch<'a> {
    Live(&'a Slug, &'a SourceSnapshot, &'a Arc<dyn Tool>),
    Offline(ToolId),
}

impl ToolLookup {
    fn found(slug: &Slug, source: &SourceSnapshot, tool: &Arc<dyn Tool>) -> Self {
        let id = ToolId::new(slug.clone(), tool.spec().name().clone());
        Self::Found(id, tool.clone(), source.barrier.clone())
    }
}

impl RegistrySnapshot {
    /// Looks up the tool that a caller means. An exact full name has priority, then an exact id, whether the
    /// source is online or offline; then a bare name on the caller's own connection; then a bare name that
    /// only one known source has. `may_use` tells which tools exist for this caller; an offline tool has no spec.
    #[must_use]
    pub fn lookup(
        &self,
        name: &str,
        caller: &Caller,
        may_use: impl Fn(&ToolId, Option<&ToolSpec>) -> bool,
    ) -> ToolLookup {
        let own = caller.registration.as_ref();
        let found = match self.find_by_full_name(name).or_else(|| self.find_by_id(name)) {
            Some(ExactMatch::Live(slug, source, tool)) => {
                // On the caller's own connection its own registration answers, otherwise the newest.
                let own = own.filter(|own| own.source == *slug);
                let own = own.and_then(|own| source.tool_of(own.lease, tool.spec().name().as_str()));
                ToolLookup::found(slug, source, own.unwrap_or(tool))
            }
            Some(ExactMatch::Offline(id)) => ToolLookup::Offline(id),
            None => match own.and_then(|own| self.find_in_registration(name, own)) {
                Some(found) => found,
                None => return self.find_by_unique_name(name, may_use),
            },
        };
        match &found {
            ToolLookup::Found(id, tool, _) if !may_use(id, Some(tool.spec())) => ToolLookup::Unknown,
            ToolLookup::Offline(id) if !may_use(id, None) => ToolLookup::Unknown,
            _ => found,
        }
    }

    fn find_by_full_name(&self, name: &str) -> Option<ExactMatch<'_>> {
        if let Some((slug, source)) = self.sources.get_key_value(BUILTIN)
            && let Some(tool) = source.tool_by_full_name(name, name)
        {
            return Some(ExactMatch::Live(slug, source, tool));
        }
        let (slug, bare) = name.split_once("__")?;
        let (slug, source) = self.sources.get_key_value(slug).filter(|(slug, _)| !slug.is_builtin())?;
        if let Some(tool) = source.tool_by_full_name(name, bare) {
            return Some(ExactMatch::Live(slug, source, tool));
        }
        source
            .known_name(slug, name, bare)
            .map(|known| ExactMatch::Offline(ToolId::new(slug.clone(), known.clone())))
    }

    fn find_by_id(&self, name: &str) -> Option<ExactMatch<'_>> {
        let (slug, bare) = name.split_once('/')?;
        let (slug, source) = self.sources.get_key_value(slug)?;
        if let Some(tool) = source.tool(bare) {
            return Some(ExactMatch::Live(slug, source, tool));
        }
        // Built-in tools are never offline.
        let at = source.known_names().binary_search_by(|known| known.as_str().cmp(bare)).ok()?;
        let known = source.known_names().get(at).filter(|_| !slug.is_builtin())?;
        Some(ExactMatch::Offline(ToolId::new(slug.clone(), known.clone())))
    }

    /// Finds a bare name on the caller's own connection, unless an owner-defined tool also has it.
    fn find_in_registration(&self, name: &str, own: &CallerRegistration) -> Option<ToolLookup> {
        if self.sources.get(OWN).is_some_and(|source| source.tool(name).is_some()) {
            return None;
        }
        let (slug, source) = self.sources.get_key_value(&own.source)?;
        let tool = source.tool_of(own.lease, name)?;
        Some(ToolLookup::found(slug, source, tool))
    }

    fn find_by_unique_name(
        &self,
        name: &str,
        may_use: impl Fn(&ToolId, Option<&ToolSpec>) -> bool,
    ) -> ToolLookup {
        // The name of a tool may have the form of another source's full name or id. It must neither be mistaken for
        // it, nor be suggested to a caller who asked for that other tool.
        if has_source_prefix(name) {
            return ToolLookup::Unknown;
        }
        let Some((bare, slugs)) = self.by_bare_name.get_key_value(name) else { return ToolLookup::Unknown };
        let ids = slugs.iter().map(|slug| ToolId::new(slug.clone(), bare.clone()));
        let spec_of = |id: &ToolId| self.sources.get(&id.source).and_then(|source| source.tool(name));
        let mine = ids.filter(|id| may_use(id, spec_of(id).map(|tool| &**tool.spec())));
        let mut ids: Vec<_> = mine.take(MAX_LISTED).collect();
        if ids.is_empty() {
            return ToolLookup::Unknown;
        }
        if ids.len() > 1 {
            return ToolLookup::Ambiguous(ids);
        }
        let id = ids.swap_remove(0);
        let source = self.sources.get_key_value(&id.source);
        match source.and_then(|(slug, source)| Some((slug, source, source.tool(name)?))) {
            Some((slug, source, tool)) => ToolLookup::found(slug, source, tool),
            None => ToolLookup::Offline(id),
        }
    }
}

/// True if a name has the form of a full name or an id.
fn has_source_prefix(name: &str) -> bool {
    ["__", "/"]
        .iter()
        .filter_map(|separator| name.split_once(separator))
        .any(|(slug, _)| slug.parse::<Slug>().is_ok())
}
