//! The tokens of one server in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, RwLock};
use secrecy::ExposeSecret as _;
use tokio::time::Instant;

use super::failed_attempts::FailedAttempts;
use crate::oauth::credentials::OauthCredentials;
use crate::oauth::dpop::DpopBinding;

/// The tokens of one server.
#[derive(Default)]
pub(super) struct ServerTokens {
    pub(super) cached: RwLock<CachedCredentials>,
    /// Held during a refresh or a login.
    pub(super) renewal_lock: tokio::sync::Mutex<Vec<Instant>>,
    /// True if the settings need no person, as far as they are known.
    is_unattended: AtomicBool,
    /// The failed requests for tokens without a person.
    pub(super) failed: Mutex<FailedAttempts>,
}

#[derive(Default)]
pub(super) struct CachedCredentials {
    pub(super) credentials: Option<Arc<OauthCredentials>>,
    pub(super) loaded_at: Option<Instant>,
    /// The key that the tokens are bound to.
    dpop: Option<Arc<DpopBinding>>,
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
        let key = credentials.as_ref().and_then(|it| it.dpop_key.as_ref());
        // The nonces stay with their key.
        let is_same = |dpop: &Arc<DpopBinding>| {
            key.is_some_and(|key| key.expose_secret() == dpop.text().expose_secret())
        };
        if !kept.dpop.as_ref().is_some_and(is_same) {
            kept.dpop = key.and_then(DpopBinding::parse).map(Arc::new);
        }
        kept.credentials = credentials.map(Arc::new);
        kept.loaded_at = Some(Instant::now());
        kept.version += 1;
    }

    /// The key that the tokens are bound to, if they are.
    pub(super) fn dpop(&self) -> Option<Arc<DpopBinding>> {
        self.cached.read().dpop.clone()
    }

    pub(super) fn set_unattended(&self, is_unattended: bool) {
        self.is_unattended.store(is_unattended, Ordering::Relaxed);
    }

    /// Returns true if the server's tokens need no person, as far as this is known.
    pub(super) fn is_unattended(&self) -> bool {
        self.is_unattended.load(Ordering::Relaxed)
            || self.cached.read().credentials.as_ref().is_some_and(|it| it.is_unattended())
    }

    /// Forgets credentials that were issued without a person. They are loaded and compared with the settings again.
    pub(super) fn forget_unattended(&self) {
        let mut kept = self.cached.write();
        if kept.credentials.as_ref().is_some_and(|it| it.is_unattended()) {
            kept.credentials = None;
            kept.loaded_at = None;
            kept.version += 1;
        }
    }
}
