//! The state of a token in use: its principal and its end.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolway_store::TokenRecord;
use toolway_types::{Clock, Principal, Role};

/// Maximum sleep of [`TokenState::wait_until_ended`], so that it notices changes of the wall clock.
const MAX_EXPIRY_SLEEP: Duration = Duration::from_secs(60);

/// Precision of the stored time of the last use.
const STORE_EVERY_MS: i64 = 1000;

/// The reason why a token is no longer valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenEndReason {
    /// It was revoked, or replaced by a new one.
    Revoked,
    /// Its lifetime has passed.
    Expired,
}

impl TokenEndReason {
    /// Returns the reason why a stored token is not valid, or `None` if it is valid.
    #[must_use]
    pub fn of(record: &TokenRecord, now_ms: i64) -> Option<Self> {
        // A revoked token stays revoked after its expiry.
        if record.revoked_ms.is_some() {
            Some(Self::Revoked)
        } else if record.expires_ms.is_some_and(|at| at <= now_ms) {
            Some(Self::Expired)
        } else {
            None
        }
    }

    /// Returns the error code for later requests with the token.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Revoked => "token_revoked",
            Self::Expired => "token_expired",
        }
    }

    /// Returns the close reason for sockets.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Revoked => "the token was revoked",
            Self::Expired => "the token has expired",
        }
    }
}

/// The device's description of itself at the time of pairing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceBinding {
    /// Id that is stable across restarts.
    pub id: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// Operating system and version.
    pub platform: Option<String>,
}

/// A token in use. A socket holds the state of its token and closes when the token
/// [ends](Self::wait_until_ended).
pub struct TokenState {
    /// The principal. Its id is the token's.
    pub principal: Arc<Principal>,
    /// Display name.
    pub label: String,
    /// Device that the token was created for.
    pub device: DeviceBinding,
    /// Creation time in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// Expiry in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
    pub(super) hash: [u8; 32],
    last_used_ms: AtomicI64,
    ended: OnceLock<TokenEndReason>,
    end_signal: CancellationToken,
    /// True if a task waits for its expiry.
    is_expiry_watched: AtomicBool,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for TokenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenState")
            .field("id", &self.principal.id)
            .field("role", &self.principal.role)
            .field("ended", &self.ended.get())
            .finish_non_exhaustive()
    }
}

impl TokenState {
    pub(super) fn new(record: &TokenRecord, clock: Arc<dyn Clock>) -> Self {
        let used = record.last_used_ms.unwrap_or(i64::MIN);
        Self {
            principal: Arc::new(Principal {
                id: record.id.as_str().into(),
                role: record.role,
                agent: record.agent.as_deref().map(Arc::from),
            }),
            label: record.label.clone(),
            device: DeviceBinding {
                id: record.device_id.clone(),
                name: record.device_name.clone(),
                platform: record.platform.clone(),
            },
            created_ms: record.created_ms,
            expires_ms: record.expires_ms,
            hash: record.hash,
            last_used_ms: AtomicI64::new(used),
            ended: OnceLock::new(),
            end_signal: CancellationToken::new(),
            is_expiry_watched: AtomicBool::new(false),
            clock,
        }
    }

    /// Returns the id of the token.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.principal.id.0
    }

    /// Returns the role of the token.
    #[must_use]
    pub fn role(&self) -> Role {
        self.principal.role
    }

    /// Returns the reason for the end, if the token has ended. An expired token stays expired, even if the
    /// clock is set back.
    #[must_use]
    pub fn end_reason(&self) -> Option<TokenEndReason> {
        if self.ended.get().is_none() && self.expires_ms.is_some_and(|at| at <= self.clock.now_ms()) {
            self.end(TokenEndReason::Expired);
        }
        self.ended.get().copied()
    }

    /// Waits until the token has ended.
    pub async fn wait_until_ended(&self) -> TokenEndReason {
        loop {
            if let Some(why) = self.end_reason() {
                return why;
            }
            let Some(at) = self.expires_ms else {
                self.end_signal.cancelled().await;
                continue;
            };
            let left = u64::try_from(at.saturating_sub(self.clock.now_ms())).unwrap_or_default();
            let nap = Duration::from_millis(left.max(1)).min(MAX_EXPIRY_SLEEP);
            // Few tokens expire, and each of their connections waits here.
            let _ = Box::pin(tokio::time::timeout(nap, self.end_signal.cancelled())).await;
        }
    }

    /// Runs `work` to its end, and cancels it when the token ends: nobody could use an answer from a person
    /// or a device after that. The work itself returns after `cancel`, so its result is never lost.
    pub async fn cancel_when_ended<T>(&self, cancel: &CancellationToken, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            done = &mut work => done,
            _ = self.wait_until_ended() => {
                cancel.cancel();
                work.await
            }
        }
    }

    /// Returns a token that is cancelled when this token ends. Must be called within the runtime.
    #[must_use]
    pub fn end_signal(self: &Arc<Self>) -> CancellationToken {
        // One task watches the clock for all waiters.
        if self.expires_ms.is_some() && !self.is_expiry_watched.swap(true, Ordering::Relaxed) {
            let state = Arc::clone(self);
            tokio::spawn(async move { state.wait_until_ended().await });
        }
        self.end_signal.clone()
    }

    /// Returns the time of the last use, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn last_used_ms(&self) -> Option<i64> {
        Some(self.last_used_ms.load(Ordering::Relaxed)).filter(|at| *at != i64::MIN)
    }

    /// Records a use. Returns the time if it should be stored.
    pub(super) fn touch(&self) -> Option<i64> {
        let now = self.clock.now_ms();
        let before = self.last_used_ms.load(Ordering::Relaxed);
        if now.saturating_sub(before) < STORE_EVERY_MS {
            return None;
        }
        self.last_used_ms.store(now, Ordering::Relaxed);
        Some(now)
    }

    /// Ends the token. Later reasons are ignored.
    pub(super) fn end(&self, why: TokenEndReason) {
        let _ = self.ended.set(why);
        self.end_signal.cancel();
    }
}
