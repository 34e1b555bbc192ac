//! What a name means to a caller (rule 3 of the protocol).

use std::sync::Arc;

use tokio::sync::RwLock;
use toolway_types::{Slug, ToolId};

use super::{Snapshot, SourceView};
use crate::caller::{Caller, OwnTools};
use crate::spec::ToolSpec;
use crate::tool::Tool;

/// The source of the tools that come with Toolway: their full names have no prefix.
const BUILTIN: &str = "builtin";
/// The source of tools that the owner defines.
const OWNER_MADE: &str = "own";
/// How many of the tools that share a name a refusal lists.
const MAX_LISTED: usize = 16;

/// What a name led to.
#[derive(Debug)]
pub enum Lookup {
    /// A tool.
    Found(ToolId, Arc<dyn Tool>, Option<Arc<RwLock<()>>>),
    /// Nothing of that name.
    Unknown,
    /// Not clear without the source: the ids of those that it may be.
    Ambiguous(Vec<ToolId>),
    /// Its only source is away.
    Away(ToolId),
}

/// What a full name stands for.
enum Full<'a> {
    Live(&'a Slug, &'a SourceView, &'a Arc<dyn Tool>),
    Away(ToolId),
}

impl Lookup {
    fn found(slug: &Slug, source: &SourceView, tool: &Arc<dyn Tool>) -> Self {
        let id = ToolId::new(slug.clone(), tool.spec().name().clone());
        Self::Found(id, tool.clone(), source.barrier.clone())
    }
}

impl Snapshot {
    /// The tool that a caller means by a name: an exact full name first, its source here or away; then a bare
    /// name on the caller's own connection; then a bare name that only one known source has. `may_use` says
    /// which tools exist for this caller; of one that is away there is no spec.
    #[must_use]
    pub fn lookup(
        &self,
        name: &str,
        caller: &Caller,
        may_use: impl Fn(&ToolId, Option<&ToolSpec>) -> bool,
    ) -> Lookup {
        let own = caller.own.as_ref();
        let found = match self.by_full_name(name) {
            Some(Full::Live(slug, source, tool)) => {
                // On a caller's own connection its own registration answers, elsewhere the newest.
                let own = own.filter(|own| own.source == *slug);
                let own = own.and_then(|own| source.tool_of(own.lease, tool.spec().name().as_str()));
                Lookup::found(slug, source, own.unwrap_or(tool))
            }
            Some(Full::Away(id)) => Lookup::Away(id),
            None => match own.and_then(|own| self.by_own_name(name, own)) {
                Some(found) => found,
                None => return self.by_unique_name(name, may_use),
            },
        };
        match &found {
            Lookup::Found(id, tool, _) if !may_use(id, Some(tool.spec())) => Lookup::Unknown,
            Lookup::Away(id) if !may_use(id, None) => Lookup::Unknown,
            _ => found,
        }
    }

    fn by_full_name(&self, name: &str) -> Option<Full<'_>> {
        if let Some((slug, source)) = self.sources.get_key_value(BUILTIN)
            && let Some(tool) = source.exposed(name, name)
        {
            return Some(Full::Live(slug, source, tool));
        }
        let (slug, bare) = name.split_once("__")?;
        let (slug, source) = self.sources.get_key_value(slug).filter(|(slug, _)| !slug.is_builtin())?;
        if let Some(tool) = source.exposed(name, bare) {
            return Some(Full::Live(slug, source, tool));
        }
        source.known_as(slug, name, bare).map(|known| Full::Away(ToolId::new(slug.clone(), known.clone())))
    }

    /// A bare name of the caller's own connection, unless a tool that the owner made has it too.
    fn by_own_name(&self, name: &str, own: &OwnTools) -> Option<Lookup> {
        if self.sources.get(OWNER_MADE).is_some_and(|source| source.tool(name).is_some()) {
            return None;
        }
        let (slug, source) = self.sources.get_key_value(&own.source)?;
        let tool = source.tool_of(own.lease, name)?;
        Some(Lookup::found(slug, source, tool))
    }

    fn by_unique_name(&self, name: &str, may_use: impl Fn(&ToolId, Option<&ToolSpec>) -> bool) -> Lookup {
        let Some((bare, slugs)) = self.by_bare_name.get_key_value(name) else { return Lookup::Unknown };
        let ids = slugs.iter().map(|slug| ToolId::new(slug.clone(), bare.clone()));
        let spec_of = |id: &ToolId| self.sources.get(&id.source).and_then(|source| source.tool(name));
        let mine = ids.filter(|id| may_use(id, spec_of(id).map(|tool| &**tool.spec())));
        let mut ids: Vec<_> = mine.take(MAX_LISTED).collect();
        if ids.is_empty() {
            return Lookup::Unknown;
        }
        // A tool may be called what the full name of another source's was, or will be: it is not taken for it.
        if ids.len() > 1 || looks_full(name) {
            return Lookup::Ambiguous(ids);
        }
        let id = ids.swap_remove(0);
        let source = self.sources.get_key_value(&id.source);
        match source.and_then(|(slug, source)| Some((slug, source, source.tool(name)?))) {
            Some((slug, source, tool)) => Lookup::found(slug, source, tool),
            None => Lookup::Away(id),
        }
    }
}

/// Whether a name has the form of a full one.
fn looks_full(name: &str) -> bool {
    name.split_once("__").is_some_and(|(slug, _)| slug.parse::<Slug>().is_ok())
}
