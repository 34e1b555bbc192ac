//! Finished pages of tools. A list is asked for far more often than it changes, so what was written once is kept for as
//! long as neither the tools nor the rules are others.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_core::policy::Policy;
use toolway_core::{Engine, RegistrySnapshot};
use toolway_types::PrincipalId;

use super::client_scope::{ClientScope, EndpointScope};
use super::listing;
use crate::verbatim::VerbatimMarker;

/// Most pages that are kept.
const MAX_PAGES: usize = 64;
/// Most bytes in them.
const MAX_BYTES: usize = 32 << 20;

/// What one page is of.
struct ToolPageKey {
    snapshot: Arc<RegistrySnapshot>,
    policy: Arc<Policy>,
    principal: PrincipalId,
    agent: Option<Arc<str>>,
    scope: EndpointScope,
    allows_any_output_schema: bool,
    after: Option<String>,
}

/// A page as it goes out.
#[derive(Debug)]
pub(crate) struct RenderedToolPage {
    /// Its tools, marked; none where there are none.
    pub(crate) tools: Option<String>,
    /// Where the next one begins.
    pub(crate) next: Option<String>,
}

/// The pages that are kept, the last used last.
#[derive(Default)]
pub(crate) struct ToolPageCache(Mutex<VecDeque<(ToolPageKey, Arc<RenderedToolPage>)>>);

impl std::fmt::Debug for ToolPageCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolPageCache").field("kept", &self.0.lock().len()).finish()
    }
}

impl ToolPageKey {
    fn matches(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot)
            && Arc::ptr_eq(&self.policy, &other.policy)
            && self.principal == other.principal
            && self.agent == other.agent
            && self.scope == other.scope
            && self.allows_any_output_schema == other.allows_any_output_schema
            && self.after == other.after
    }
}

impl ToolPageCache {
    /// The page of a visitor's tools after the one with this id.
    pub(crate) fn page(
        &self,
        engine: &Engine,
        visitor: &ClientScope,
        after: Option<&str>,
        takes_any: bool,
        verbatim: &VerbatimMarker,
    ) -> Arc<RenderedToolPage> {
        let write = || {
            let page = listing::render_page(visitor, &visitor.visible_tools(engine), after, takes_any);
            let tools = (!page.tools.is_empty()).then(|| verbatim.mark_tool_list(&page.tools));
            Arc::new(RenderedToolPage { tools, next: page.next })
        };
        if !visitor.restrictions.is_unrestricted() {
            return write();
        }
        // Taken before the page is written: one that changes meanwhile is kept under what was before, and not found.
        let key = ToolPageKey {
            snapshot: engine.registry().snapshot(),
            policy: engine.policy(),
            principal: visitor.caller.principal.id.clone(),
            agent: visitor.caller.agent().cloned(),
            scope: visitor.scope.clone(),
            allows_any_output_schema: takes_any,
            after: after.map(str::to_owned),
        };
        {
            let mut kept = self.0.lock();
            if let Some(at) = kept.iter().position(|(known, _)| known.matches(&key))
                && let Some((known, written)) = kept.remove(at)
            {
                kept.push_back((known, Arc::clone(&written)));
                return written;
            }
        }
        let written = write();
        let mut kept = self.0.lock();
        kept.retain(|(known, _)| {
            Arc::ptr_eq(&known.snapshot, &key.snapshot) && Arc::ptr_eq(&known.policy, &key.policy)
        });
        kept.push_back((key, Arc::clone(&written)));
        let bytes = |kept: &VecDeque<(ToolPageKey, Arc<RenderedToolPage>)>| -> usize {
            kept.iter().filter_map(|(_, written)| written.tools.as_ref()).map(String::len).sum()
        };
        while kept.len() > MAX_PAGES || bytes(&kept) > MAX_BYTES {
            kept.pop_front();
        }
        written
    }
}
