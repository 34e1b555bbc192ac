//! The second connection to a server of both eras, for clients of the older era. Their questions and sessions do not
//! exist in the newer era, so a tool that asks while it runs works over this connection only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use super::connection::UpstreamConnection;

/// The second connection, if there is one, and its users.
#[derive(Debug)]
pub(super) struct OlderConnection {
    state: watch::Sender<OlderState>,
    usage: Arc<Usage>,
    reconnect_requested: Notify,
}

/// The state of the second connection.
#[derive(Debug, Clone)]
enum OlderState {
    /// Nobody needs it.
    Closed,
    /// A client waits for it.
    Needed,
    /// It is being opened.
    Opening,
    Open(Arc<UpstreamConnection>),
    /// It could not be opened. Until this time, the first connection serves all clients; without a time, until the
    /// first connection is a new one.
    Unavailable(Option<Instant>),
}

/// Counts the users of the connection.
#[derive(Debug, Default)]
struct Usage {
    current: Mutex<usize>,
    total: AtomicU64,
}

/// Keeps the second connection open.
#[derive(Debug)]
pub(super) struct OlderConnectionUse(Arc<Usage>);

impl OlderConnectionUse {
    fn new(usage: &Arc<Usage>) -> Self {
        *usage.current.lock() += 1;
        usage.total.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(usage))
    }
}

impl Drop for OlderConnectionUse {
    fn drop(&mut self) {
        let mut current = self.0.current.lock();
        *current = current.saturating_sub(1);
    }
}

impl OlderConnection {
    pub(super) fn new() -> Self {
        Self {
            state: watch::Sender::new(OlderState::Closed),
            usage: Arc::default(),
            reconnect_requested: Notify::new(),
        }
    }

    /// Returns the connection, and opens it if necessary. `None` if it can't be opened within `limit`. `not` is a
    /// connection that is known to be unusable.
    pub(super) async fn connect(
        &self,
        not: Option<&Arc<UpstreamConnection>>,
        limit: Duration,
    ) -> Option<(Arc<UpstreamConnection>, OlderConnectionUse)> {
        let mut states = self.state.subscribe();
        let opened = async {
            loop {
                {
                    // The state can't change while it is borrowed, so the connection is not closed as unused.
                    let state = states.borrow_and_update();
                    match &*state {
                        OlderState::Open(connection)
                            if !connection.is_closed()
                                && not.is_none_or(|not| !Arc::ptr_eq(connection, not)) =>
                        {
                            return Some((Arc::clone(connection), OlderConnectionUse::new(&self.usage)));
                        }
                        OlderState::Unavailable(None) => return None,
                        OlderState::Unavailable(Some(until)) if Instant::now() < *until => return None,
                        _ => {}
                    }
                }
                self.request();
                if states.changed().await.is_err() {
                    return None;
                }
            }
        };
        timeout(limit, opened).await.ok().flatten()
    }

    /// Asks for the connection, if it is closed.
    fn request(&self) {
        self.state.send_if_modified(|state| {
            let is_closed = match state {
                OlderState::Closed => true,
                OlderState::Unavailable(until) => until.is_some_and(|until| Instant::now() >= until),
                OlderState::Needed | OlderState::Opening | OlderState::Open(_) => false,
            };
            if is_closed {
                *state = OlderState::Needed;
            }
            is_closed
        });
    }

    /// Returns the connection if it is open.
    pub(super) fn get(&self) -> Option<(Arc<UpstreamConnection>, OlderConnectionUse)> {
        let state = self.state.borrow();
        match &*state {
            OlderState::Open(connection) if !connection.is_closed() => {
                Some((Arc::clone(connection), OlderConnectionUse::new(&self.usage)))
            }
            _ => None,
        }
    }

    /// Waits until a client needs the connection.
    pub(super) async fn wait_until_needed(&self) {
        // The sender is in `self`, so this does not fail.
        let _ = self.state.subscribe().wait_for(|state| matches!(state, OlderState::Needed)).await;
    }

    /// Returns true if clients use the connection, or wait for it to be open again.
    pub(super) fn is_used(&self) -> bool {
        *self.usage.current.lock() > 0
    }

    pub(super) fn set_opening(&self) {
        self.state.send_replace(OlderState::Opening);
    }

    pub(super) fn set_open(&self, connection: Arc<UpstreamConnection>) {
        self.state.send_replace(OlderState::Open(connection));
    }

    pub(super) fn set_closed(&self) {
        self.state.send_replace(OlderState::Closed);
    }

    /// Lets the first connection serve all clients for this time, or until it is a new one.
    pub(super) fn set_unavailable(&self, time: Option<Duration>) {
        self.state.send_replace(OlderState::Unavailable(time.map(|time| Instant::now() + time)));
    }

    /// Allows another attempt, because the first connection is a new one.
    pub(super) fn retry(&self) {
        self.state.send_if_modified(|state| {
            let is_unavailable = matches!(state, OlderState::Unavailable(_));
            if is_unavailable {
                *state = if self.is_used() { OlderState::Needed } else { OlderState::Closed };
            }
            is_unavailable
        });
    }

    /// Opens the connection again, if it is open.
    pub(super) fn reconnect(&self) {
        if matches!(*self.state.borrow(), OlderState::Open(_)) {
            self.reconnect_requested.notify_one();
        }
    }

    pub(super) async fn wait_for_reconnect_request(&self) {
        self.reconnect_requested.notified().await;
    }

    /// Waits until nobody has used the connection for `limit`, at most twice this time. New users then wait for the
    /// next connection.
    pub(super) async fn close_when_unused(&self, limit: Duration) {
        loop {
            let before = self.usage.total.load(Ordering::Relaxed);
            tokio::time::sleep(limit).await;
            let is_closed = self.state.send_if_modified(|state| {
                let is_unused = !self.is_used() && self.usage.total.load(Ordering::Relaxed) == before;
                if is_unused {
                    *state = OlderState::Closed;
                }
                is_unused
            });
            if is_closed {
                return;
            }
        }
    }
}
