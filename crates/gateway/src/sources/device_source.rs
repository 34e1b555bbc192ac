//! One source of tools: a device that the owner knows, connected or not.

use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::{PrincipalId, Slug};

use super::app_provider_report::AppProviderReport;
use super::device_session::{DeviceSession, WeakDeviceSession};
use super::identity::DeviceIdentity;

/// A source. Its slug never changes and is never reused.
#[derive(Debug)]
pub(crate) struct DeviceSource {
    slug: Slug,
    /// The token that created it; no other token can join it.
    token: PrincipalId,
    /// Identity by which later connections join it; `None` if it belongs to a single connection and is not
    /// stored.
    identity: Option<DeviceIdentity>,
    /// Chat session of the connection, if the source has no identity. A later connection of the session takes the
    /// place of this one.
    chat_session: Option<Arc<str>>,
    state: Mutex<DeviceSourceState>,
    sessions: Mutex<SourceSessions>,
    /// Last report on the apps whose tools it bridges.
    app_providers: Mutex<Option<Arc<AppProviderReport>>>,
    /// Locked while one of its connections registers, so that their tools together stay within the limit.
    pub(crate) registration_lock: tokio::sync::Mutex<()>,
}

/// The sessions of a source.
#[derive(Debug, Default)]
struct SourceSessions {
    /// The session of its `/ws/device` sockets.
    device: Option<Arc<DeviceSession>>,
    /// The sessions of its `/ws/chat` sockets.
    chat: Vec<WeakDeviceSession>,
}

/// The mutable fields of a source.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceSourceState {
    /// Display name: the device's own at first, or the owner's choice.
    pub(crate) label: String,
    /// Operating system and version.
    pub(crate) platform: Option<String>,
    /// Version of the device program.
    pub(crate) app_version: Option<String>,
    /// Time of the first connection, in milliseconds since the Unix epoch.
    pub(crate) created_ms: i64,
    /// Time at which it was last connected.
    pub(crate) last_seen_ms: i64,
}

/// The presence of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DevicePresence {
    Online,
    /// Recently disconnected; its tools and calls wait for it.
    Reconnecting,
    Offline,
}

impl DevicePresence {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Reconnecting => "reconnecting",
            Self::Offline => "offline",
        }
    }
}

impl DeviceSource {
    pub(crate) fn new(
        slug: Slug,
        token: PrincipalId,
        identity: Option<DeviceIdentity>,
        chat_session: Option<Arc<str>>,
        state: DeviceSourceState,
    ) -> Arc<Self> {
        Arc::new(Self {
            slug,
            token,
            chat_session: chat_session.filter(|_| identity.is_none()),
            identity,
            state: Mutex::new(state),
            sessions: Mutex::default(),
            app_providers: Mutex::default(),
            registration_lock: Default::default(),
        })
    }

    pub(crate) fn slug(&self) -> &Slug {
        &self.slug
    }

    pub(crate) fn token(&self) -> &PrincipalId {
        &self.token
    }

    pub(crate) fn identity(&self) -> Option<&DeviceIdentity> {
        self.identity.as_ref()
    }

    pub(crate) fn chat_session(&self) -> Option<&Arc<str>> {
        self.chat_session.as_ref()
    }

    /// Returns a copy of the mutable fields.
    pub(crate) fn state(&self) -> DeviceSourceState {
        self.state.lock().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut DeviceSourceState)) {
        change(&mut self.state.lock());
    }

    /// Returns the last report on its apps.
    pub(crate) fn app_providers(&self) -> Option<Arc<AppProviderReport>> {
        self.app_providers.lock().clone()
    }

    /// Replaces the report on its apps.
    pub(crate) fn set_app_providers(&self, report: Arc<AppProviderReport>) {
        let before = self.app_providers.lock().replace(report);
        // A long list is dropped without holding the lock.
        drop(before);
    }

    /// Returns all sessions that have not ended.
    pub(crate) fn sessions(&self) -> Vec<Arc<DeviceSession>> {
        let sessions = self.sessions.lock();
        let chat = sessions.chat.iter().filter_map(WeakDeviceSession::upgrade);
        sessions.device.iter().cloned().chain(chat).filter(|session| !session.has_ended()).collect()
    }

    pub(crate) fn presence(&self) -> DevicePresence {
        let sessions = self.sessions();
        if sessions.iter().any(|session| session.is_attached()) {
            DevicePresence::Online
        } else if sessions.is_empty() {
            DevicePresence::Offline
        } else {
            DevicePresence::Reconnecting
        }
    }

    /// Replaces the `/ws/device` session, and returns the old one, which the caller must end.
    #[must_use]
    pub(crate) fn replace_device_session(&self, session: Arc<DeviceSession>) -> Option<Arc<DeviceSession>> {
        self.sessions.lock().device.replace(session)
    }

    /// Removes the `/ws/device` session, if it is still this one.
    pub(crate) fn remove_device_session(&self, session: &Arc<DeviceSession>) {
        let mut sessions = self.sessions.lock();
        if sessions.device.as_ref().is_some_and(|current| Arc::ptr_eq(current, session)) {
            sessions.device = None;
        }
    }

    /// Adds the session of a `/ws/chat` socket.
    pub(crate) fn add_chat_session(&self, session: &Arc<DeviceSession>) {
        let mut sessions = self.sessions.lock();
        sessions.chat.retain(|session| session.strong_count() > 0);
        sessions.chat.push(Arc::downgrade(session));
    }
}
