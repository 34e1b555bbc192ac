//! The newest unwritten record of each idempotency key, so that a lookup finds records that are not yet in
//! the database.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_types::PrincipalId;

use super::QueuedCall;

/// Unwritten records by principal and key. Mostly empty, except while the database cannot be written to.
#[derive(Debug, Default)]
pub(super) struct UnwrittenKeys(HashMap<(PrincipalId, Arc<str>), QueuedCall>);

impl UnwrittenKeys {
    /// The newest record of a key.
    pub(super) fn get(&self, principal: &PrincipalId, key: &str) -> Option<QueuedCall> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&(principal.clone(), key.into())).cloned()
    }

    /// Adds a queued record. Of two calls with the same key, the one that started later counts.
    pub(super) fn remember(&mut self, record: &QueuedCall) {
        let opened = record.opened();
        let Some(key) = &opened.key else { return };
        let of = (opened.principal.clone(), Arc::clone(&key.key));
        let older = self.0.get(&of).is_none_or(|known| known.opened().started_ms <= opened.started_ms);
        if older {
            self.0.insert(of, record.clone());
        }
    }

    /// Removes a written record, unless the end of its call is still queued.
    pub(super) fn forget(&mut self, record: &QueuedCall) {
        if self.0.is_empty() {
            return;
        }
        let opened = record.opened();
        let Some(key) = &opened.key else { return };
        let of = (opened.principal.clone(), Arc::clone(&key.key));
        let same = |known: &QueuedCall| {
            known.id() == opened.id
                && matches!(
                    (known, record),
                    (QueuedCall::Opened(_), _) | (QueuedCall::Closed(_), QueuedCall::Closed(_))
                )
        };
        if self.0.get(&of).is_some_and(same) {
            self.0.remove(&of);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
