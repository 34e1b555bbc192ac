//! Cache of rendered tool pages. Lists are requested far more often than they change, so a page is reused while tools
//! and rules stay the same.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_core::policy::Policy;
use toolway_core::{Engine, RegistrySnapshot};
use toolway_types::PrincipalId;

use super::client_scope::{ClientScope, EndpointScope};
use super::listing::{self, ToolPage};

/// Maximum number of cached pages.
const MAX_PAGES: usize = 64;
/// Maximum total size of the cached pages, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// The key of a page.
struct ToolPageKey {
    snapshot: Arc<RegistrySnapshot>,
    policy: Arc<Policy>,
    principal: PrincipalId,
    agent: Option<Arc<str>>,
    scope: EndpointScope,
    allows_any_output_schema: bool,
    after: Option<String>,
}

/// The cached pages, most recently used last.
#[derive(Default)]
pub(crate) struct ToolPageCache(Mutex<VecDeque<(ToolPageKey, Arc<ToolPage>)>>);

impl std::fmt::Debug for ToolPageCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolPageCache").field("pages", &self.0.lock().len()).finish()
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
    /// Returns the page of the client's tools after the tool with this id.
    pub(crate) fn page(
        &self,
        engine: &Engine,
        scope: &ClientScope,
        after: Option<&str>,
        takes_any: bool,
    ) -> Arc<ToolPage> {
        let write = || Arc::new(listing::render_page(scope, &scope.visible_tools(engine), after, takes_any));
        if !scope.restrictions.is_unrestricted() {
            return write();
        }
        // Computed before rendering: a page that changes meanwhile is stored under the old key and never found.
        let key = ToolPageKey {
            snapshot: engine.registry().snapshot(),
            policy: engine.policy(),
            principal: scope.caller.principal.id.clone(),
            agent: scope.caller.agent().cloned(),
            scope: scope.scope.clone(),
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
        let bytes = |kept: &VecDeque<(ToolPageKey, Arc<ToolPage>)>| -> usize {
            kept.iter().map(|(_, written)| written.tools.len()).sum()
        };
        while kept.len() > MAX_PAGES || bytes(&kept) > MAX_BYTES {
            kept.pop_front();
        }
        written
    }
}
