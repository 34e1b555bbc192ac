//! One source of tools: a device as the owner knows it, connected or not.

use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::{PrincipalId, Slug};
use toolway_wire::client_message::app_providers::AppProvider;

use super::device_session::{DeviceSession, WeakDeviceSession};
use super::identity::DeviceIdentity;

/// A source. Its slug never changes and is never another's.
#[derive(Debug)]
pub(crate) struct DeviceSource {
    slug: Slug,
    /// The token that made it; no other can join it.
    token: PrincipalId,
    /// What joins a later connection to it; none where it is one connection's alone and not kept.
    identity: Option<DeviceIdentity>,
    state: Mutex<DeviceSourceState>,
    sessions: Mutex<SourceSessions>,
    /// What it last said of the apps whose tools it bridges.
    app_providers: Mutex<Option<Arc<AppProviderReport>>>,
    /// Held while one of its connections registers, so that all of them together keep to what it may have.
    pub(crate) registration_lock: tokio::sync::Mutex<()>,
}

/// Its registrations.
#[derive(Debug, Default)]
struct SourceSessions {
    /// The one seat of its `/ws/device` sockets.
    device: Option<Arc<DeviceSession>>,
    /// The seats of its sockets on `/ws/chat`.
    chat: Vec<WeakDeviceSession>,
}

/// What changes about a source.
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

/// What a device says of the apps whose tools it bridges.
#[derive(Debug)]
pub(crate) struct AppProviderReport {
    /// When it said so, in milliseconds since the Unix epoch.
    pub(crate) as_of_ms: i64,
    pub(crate) providers: Vec<AppProvider>,
}

/// Whether a source is here.
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

    /// What it last said of its apps; none where it never did.
    pub(crate) fn app_providers(&self) -> Option<Arc<AppProviderReport>> {
        self.app_providers.lock().clone()
    }

    /// The whole list, in the place of the one before.
    pub(crate) fn set_app_providers(&self, report: Arc<AppProviderReport>) {
        let before = self.app_providers.lock().replace(report);
        // Where it is a long one, without holding the lock.
        drop(before);
    }

    /// All its seats that have not ended.
    pub(crate) fn sessions(&self) -> Vec<Arc<DeviceSession>> {
        let seats = self.sessions.lock();
        let chat = seats.chat.iter().filter_map(WeakDeviceSession::upgrade);
        seats.device.iter().cloned().chain(chat).filter(|seat| !seat.has_ended()).collect()
    }

    pub(crate) fn presence(&self) -> DevicePresence {
        let seats = self.sessions();
        if seats.iter().any(|seat| seat.is_attached()) {
            DevicePresence::Online
        } else if seats.is_empty() {
            DevicePresence::Offline
        } else {
            DevicePresence::Reconnecting
        }
    }

    /// Puts a new seat in the place of the old `/ws/device` one, which is given back to be ended.
    #[must_use]
    pub(crate) fn replace_device_session(&self, seat: Arc<DeviceSession>) -> Option<Arc<DeviceSession>> {
        self.sessions.lock().device.replace(seat)
    }

    /// Takes the `/ws/device` seat away, if it is still this one.
    pub(crate) fn remove_device_session(&self, seat: &Arc<DeviceSession>) {
        let mut seats = self.sessions.lock();
        if seats.device.as_ref().is_some_and(|sitting| Arc::ptr_eq(sitting, seat)) {
            seats.device = None;
        }
    }

    /// Adds the seat of a chat's socket.
    pub(crate) fn add_chat_session(&self, seat: &Arc<DeviceSession>) {
        let mut seats = self.sessions.lock();
        seats.chat.retain(|seat| seat.strong_count() > 0);
        seats.chat.push(Arc::downgrade(seat));
    }
}
