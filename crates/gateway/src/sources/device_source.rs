//! One source of tools: a device as the owner knows it, connected or not.

use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::{PrincipalId, Slug};

use super::app_provider_report::AppProviderReport;
use super::device_session::{DeviceSession, WeakDeviceSession};
use super::identity::DeviceIdentity;

/// A source. Its slug never changes and is never another's.
#[derive(Debug)]
pub(crate) struct DeviceSource {
    slug: Slug,
    /// The token that made it; no other can join it.
    token: PrincipalId,
    /// The identity by which later connections join it; none if it is of one connection only and not stored.
    identity: Option<DeviceIdentity>,
    state: Mutex<DeviceSourceState>,
    sessions: Mutex<SourceSessions>,
    /// Its last report on the apps whose tools it bridges.
    app_providers: Mutex<Option<Arc<AppProviderReport>>>,
    /// Held while one of its connections registers, so that all of them together keep to what it may have.
    pub(crate) registration_lock: tokio::sync::Mutex<()>,
}

/// Its registrations.
#[derive(Debug, Default)]
struct SourceSessions {
    /// The one session of its `/ws/device` sockets.
    device: Option<Arc<DeviceSession>>,
    /// The sessions of its sockets on `/ws/chat`.
    chat: Vec<WeakDeviceSession>,
}

/// The changing fields of a source.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceSourceState {
    /// The name for people: the device's own at first, then what the owner makes it.
    pub(crate) label: String,
    /// Operating system and version.
    pub(crate) platform: Option<String>,
    /// The device program's version.
    pub(crate) app_version: Option<String>,
    /// When it first appeared, in milliseconds since the Unix epoch.
    pub(crate) created_ms: i64,
    /// When it was last here.
    pub(crate) last_seen_ms: i64,
}

/// The presence of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DevicePresence {
    Online,
    /// Gone a moment ago; its tools and calls wait for it.
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
        state: DeviceSourceState,
    ) -> Arc<Self> {
        Arc::new(Self {
            slug,
            token,
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

    /// A copy of what changes.
    pub(crate) fn state(&self) -> DeviceSourceState {
        self.state.lock().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut DeviceSourceState)) {
        change(&mut self.state.lock());
    }

    /// Its last report on its apps, if there is one.
    pub(crate) fn app_providers(&self) -> Option<Arc<AppProviderReport>> {
        self.app_providers.lock().clone()
    }

    /// The whole list, in the place of the one before.
    pub(crate) fn set_app_providers(&self, report: Arc<AppProviderReport>) {
        let before = self.app_providers.lock().replace(report);
        // Where it is a long one, without holding the lock.
        drop(before);
    }

    /// All its sessions that have not ended.
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

    /// Puts a new session in the place of the old `/ws/device` one, which is given back to be ended.
    #[must_use]
    pub(crate) fn replace_device_session(&self, session: Arc<DeviceSession>) -> Option<Arc<DeviceSession>> {
        self.sessions.lock().device.replace(session)
    }

    /// Takes the `/ws/device` session away, if it is still this one.
    pub(crate) fn remove_device_session(&self, session: &Arc<DeviceSession>) {
        let mut sessions = self.sessions.lock();
        if sessions.device.as_ref().is_some_and(|current| Arc::ptr_eq(current, session)) {
            sessions.device = None;
        }
    }

    /// Adds the session of a chat's socket.
    pub(crate) fn add_chat_session(&self, session: &Arc<DeviceSession>) {
        let mut sessions = self.sessions.lock();
        sessions.chat.retain(|session| session.strong_count() > 0);
        sessions.chat.push(Arc::downgrade(session));
    }
}
