//! The tokens of one server in memory.

use std::sync::Arc;

use parking_lot::RwLock;
use tokio::time::Instant;

use crate::oauth::credentials::OauthCredentials;

/// The tokens of one server.
#[derive(Default)]
pub(super) struct ServerTokens {
    pub(super) cached: RwLock<CachedCredentials>,
    /// Held during a refresh or a login.
    pub(super) renewal_lock: tokio::sync::Mutex<Vec<Instant>>,
}

#[derive(Default)]
pub(super) struct CachedCredentials {
    pub(super) credentials: Option<Arc<OauthCredentials>>,
    pub(super) loaded_at: Option<Instant>,
    /// The number of changes of `credentials`.
    version: u64,
}

impl ServerTokens {
    /// The credentials, and the number of their changes.
    pub(super) fn current(&self) -> (Option<Arc<OauthCredentials>>, u64) {
        let kept = self.cached.read();
        (kept.credentials.clone(), kept.version)
    }

    pub(super) fn set(&self, credentials: Option<OauthCredentials>) {
        let mut kept = self.cached.write();
        kept.credentials = credentials.map(Arc::new);
        kept.loaded_at = Some(Instant::now());
        kept.version += 1;
    }
}
