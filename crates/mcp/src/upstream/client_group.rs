//! The clients that share one connection to a server: their interest in the server, and its events for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast};

use super::interest::UpstreamInterest;
use crate::offering::UpstreamEvent;

/// Maximum number of events that wait for a slow receiver.
const EVENT_CAPACITY: usize = 256;

/// The clients that a connection serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServedClients {
    /// All clients, except those of the older era while they have a connection of their own.
    All,
    /// The clients of the older era, if the first connection is of the newer one.
    Older,
}

/// A group of clients. It outlives each connection.
pub(super) struct ClientGroup {
    interest: Mutex<UpstreamInterest>,
    /// Notified when `interest` changes.
    interest_changed: Notify,
    /// Notified when the server acknowledges a subscription.
    acknowledged: Notify,
    events: broadcast::Sender<UpstreamEvent>,
    /// The flag of the own connection of clients of the older era: true while the server's events arrive there.
    own_events: Mutex<Option<Arc<AtomicBool>>>,
}

impl ClientGroup {
    pub(super) fn new() -> Self {
        Self {
            interest: Mutex::default(),
            interest_changed: Notify::new(),
            acknowledged: Notify::new(),
            events: broadcast::Sender::new(EVENT_CAPACITY),
            own_events: Mutex::default(),
        }
    }

    pub(super) fn interest(&self) -> &Mutex<UpstreamInterest> {
        &self.interest
    }

    pub(super) fn interest_changed(&self) -> &Notify {
        &self.interest_changed
    }

    pub(super) fn acknowledged(&self) -> &Notify {
        &self.acknowledged
    }

    pub(super) fn subscribe_events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.events.subscribe()
    }

    /// Sends an event to all receivers, if there are any.
    pub(super) fn emit(&self, event: UpstreamEvent) {
        let _ = self.events.send(event);
    }

    /// Sets the flag of the group's own connection, which is true while events of the server arrive there.
    pub(super) fn set_own_events(&self, flag: Option<Arc<AtomicBool>>) {
        *self.own_events.lock() = flag;
    }

    /// Returns true if an event of the first connection also arrives on the group's own connection.
    pub(super) fn gets_itself(&self, event: &UpstreamEvent) -> bool {
        self.own_events.lock().as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
            && match event {
                UpstreamEvent::ResourceUpdated { uri } => self.interest.lock().is_watched(uri),
                UpstreamEvent::Reconnected => false,
                _ => true,
            }
    }
}
