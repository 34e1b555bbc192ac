//! One source of tools: a device as the owner knows it, connected or not.

use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::{PrincipalId, Slug};
use toolway_wire::from_client::app_providers::AppProvider;

use super::identity::Identity;
use super::seat::{Seat, WeakSeat};

/// A source. Its slug never changes and is never another's.
#[derive(Debug)]
pub(crate) struct Source {
    slug: Slug,
    /// The token that made it; no other can join it.
    token: PrincipalId,
    /// What joins a later connection to it; none where it is one connection's alone and not kept.
    identity: Option<Identity>,
    state: Mutex<SourceState>,
    seats: Mutex<Seats>,
    /// What it last said of the apps whose tools it bridges.
    app_providers: Mutex<Option<Arc<AppProviderReport>>>,
    /// Held while one of its connections registers, so that all of them together keep to what it may have.
    pub(crate) registering: tokio::sync::Mutex<()>,
}

/// Its registrations.
#[derive(Debug, Default)]
struct Seats {
    /// The one seat of its `/ws/device` sockets.
    device: Option<Arc<Seat>>,
    /// The seats of its sockets on `/ws/chat`.
    chat: Vec<WeakSeat>,
}

/// What changes about a source.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceState {
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
pub(crate) enum Presence {
    Online,
    /// Gone a moment ago; its tools and calls wait for it.
    Reconnecting,
    Offline,
}

impl Presence {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Reconnecting => "reconnecting",
            Self::Offline => "offline",
        }
    }
}

impl Source {
    pub(crate) fn new(
        slug: Slug,
        token: PrincipalId,
        identity: Option<Identity>,
        state: SourceState,
    ) -> Arc<Self> {
        Arc::new(Self {
            slug,
            token,
            identity,
            state: Mutex::new(state),
            seats: Mutex::default(),
            app_providers: Mutex::default(),
            registering: Default::default(),
        })
    }

    pub(crate) fn slug(&self) -> &Slug {
        &self.slug
    }

    pub(crate) fn token(&self) -> &PrincipalId {
        &self.token
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// A copy of what changes.
    pub(crate) fn state(&self) -> SourceState {
        self.state.lock().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut SourceState)) {
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
    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        let seats = self.seats.lock();
        let chat = seats.chat.iter().filter_map(WeakSeat::upgrade);
        seats.device.iter().cloned().chain(chat).filter(|seat| !seat.has_ended()).collect()
    }

    pub(crate) fn presence(&self) -> Presence {
        let seats = self.seats();
        if seats.iter().any(|seat| seat.is_attached()) {
            Presence::Online
        } else if seats.is_empty() {
            Presence::Offline
        } else {
            Presence::Reconnecting
        }
    }

    /// Puts a new seat in the place of the old `/ws/device` one, which is given back to be ended.
    #[must_use]
    pub(crate) fn seat_device(&self, seat: Arc<Seat>) -> Option<Arc<Seat>> {
        self.seats.lock().device.replace(seat)
    }

    /// Takes the `/ws/device` seat away, if it is still this one.
    pub(crate) fn unseat_device(&self, seat: &Arc<Seat>) {
        let mut seats = self.seats.lock();
        if seats.device.as_ref().is_some_and(|sitting| Arc::ptr_eq(sitting, seat)) {
            seats.device = None;
        }
    }

    /// Adds the seat of a chat's socket.
    pub(crate) fn seat_chat(&self, seat: &Arc<Seat>) {
        let mut seats = self.seats.lock();
        seats.chat.retain(|seat| seat.strong_count() > 0);
        seats.chat.push(Arc::downgrade(seat));
    }
}
