//! Locks for the identities of sources.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};
use toolway_types::PrincipalId;

use super::identity::DeviceIdentity;

/// Number of locks.
const LOCKS: usize = 64;

/// A fixed number of locks. Equal identities share a lock; different ones rarely do.
#[derive(Debug)]
pub(super) struct IdentityLocks {
    hasher: RandomState,
    locks: [Mutex<()>; LOCKS],
}

impl Default for IdentityLocks {
    fn default() -> Self {
        Self { hasher: RandomState::new(), locks: std::array::from_fn(|_| Mutex::new(())) }
    }
}

impl IdentityLocks {
    /// Locks the identity of a connection: its identity within the token, or its chat session. `None` if it has neither,
    /// because its source is its own.
    pub(super) async fn lock(
        &self,
        token: &PrincipalId,
        identity: Option<&DeviceIdentity>,
        chat_session: Option<&Arc<str>>,
    ) -> Option<MutexGuard<'_, ()>> {
        if identity.is_none() && chat_session.is_none() {
            return None;
        }
        let hash = self.hasher.hash_one((token, identity, chat_session.filter(|_| identity.is_none())));
        let at = usize::try_from(hash % LOCKS as u64).unwrap_or_default();
        Some(self.locks.get(at)?.lock().await)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn only_equal_identities_of_one_token_wait_for_each_other() {
        let locks = IdentityLocks::default();
        let identity = |number: usize| DeviceIdentity::from_stored(&format!("id:{number}"));
        let (token, other) = (PrincipalId::from("t1"), PrincipalId::from("t2"));
        let held = locks.lock(&token, Some(&identity(0)), None).await;
        // Without the runtime's limit for one poll, which also lets a free lock wait.
        let is_free = |token, number| {
            let identity = identity(number);
            let locked = tokio::task::unconstrained(locks.lock(token, Some(&identity), None)).now_or_never();
            locked.is_some()
        };
        assert!(!is_free(&token, 0));
        // Different ones share a lock in one of 64 cases.
        assert!((1..1000).filter(|number| is_free(&token, *number)).count() > 900);
        assert!((1..1000).filter(|number| is_free(&other, *number)).count() > 900);
        assert!(locks.lock(&token, None, None).await.is_none());
        drop(held);
        assert!(is_free(&token, 0));
    }
}
