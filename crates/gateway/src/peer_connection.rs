//! One connection of the listener: whether its peer has shown a valid token, its place within the limits, and the
//! memory of its unfinished frames. It is added to the extensions of each request.
//!
//! Connections without a token have a small pool of their own, in which the oldest makes room for the newest.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_types::{Principal, PrincipalId, Role};

use crate::memory_budget::{MemoryAccount, MemoryReservation, OverBudget, cost};
use crate::principal_shares::{NoPlace, PrincipalShares, SharedPlace};
use crate::turn_queue::TurnQueue;

/// Maximum number of connections whose peers have not shown a token yet.
const MAX_ANONYMOUS: usize = 1024;
/// Part of a principal's connections that a device may have: one of this many.
const DEVICE_PART: usize = 8;

/// The connections of a listener.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    identified: Arc<PrincipalShares>,
    per_principal: usize,
    anonymous: Mutex<AnonymousConnections>,
    /// The turns of principals with connections, for [`FairTask`](crate::fair_task::FairTask).
    turn_queues: Mutex<HashMap<PrincipalId, Weak<TurnQueue>>>,
}

/// Connections without a token, in the order of their arrival.
#[derive(Debug, Default)]
struct AnonymousConnections {
    next: u64,
    open: BTreeMap<u64, CancellationToken>,
}

/// A connection. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct PeerConnection(Arc<PeerState>);

#[derive(Debug)]
struct PeerState {
    pool: Arc<ConnectionPool>,
    number: u64,
    /// Cancelled when the connection makes room for a newer one.
    evicted: CancellationToken,
    /// Cancelled when the peer has shown a token.
    identified: CancellationToken,
    /// Cancelled when others need the memory of its answers.
    out_of_memory: CancellationToken,
    place: OnceLock<SharedPlace>,
    turns: OnceLock<Arc<TurnQueue>>,
    frames: OnceLock<FrameMeter>,
}

impl ConnectionPool {
    /// Creates a pool of `connections`, of which each principal may have `per_principal`.
    pub(crate) fn new(connections: usize, per_principal: usize) -> Arc<Self> {
        let identified = PrincipalShares::new(connections);
        Arc::new(Self {
            identified,
            per_principal,
            anonymous: Mutex::default(),
            turn_queues: Mutex::default(),
        })
    }

    /// Adds a new connection, whose peer has not shown a token yet.
    pub(crate) fn add(self: &Arc<Self>) -> PeerConnection {
        let evicted = CancellationToken::new();
        let mut anonymous = self.anonymous.lock();
        let number = anonymous.next;
        anonymous.next += 1;
        if anonymous.open.len() >= MAX_ANONYMOUS
            && let Some((_, oldest)) = anonymous.open.pop_first()
        {
            oldest.cancel();
        }
        anonymous.open.insert(number, evicted.clone());
        PeerConnection(Arc::new(PeerState {
            pool: Arc::clone(self),
            number,
            evicted,
            identified: CancellationToken::new(),
            out_of_memory: CancellationToken::new(),
            place: OnceLock::new(),
            turns: OnceLock::new(),
            frames: OnceLock::new(),
        }))
    }

    /// The turns of a principal's connections.
    fn turn_queue(&self, principal: &PrincipalId) -> Arc<TurnQueue> {
        let mut queues = self.turn_queues.lock();
        if let Some(queue) = queues.get(principal).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::<TurnQueue>::default();
        queues.insert(principal.clone(), Arc::downgrade(&queue));
        queue
    }

    /// Number of connections without a token.
    pub(crate) fn anonymous(&self) -> usize {
        self.anonymous.lock().open.len()
    }
}

impl PeerConnection {
    /// Records that the peer has shown a valid token. Takes a place among the connections of the principal,
    /// unless a proxy shares the connection between its clients.
    ///
    /// # Errors
    /// [`NoPlace`] if the principal has too many connections.
    pub(crate) fn identify(&self, principal: &Principal, is_proxied: bool) -> Result<(), NoPlace> {
        let state = &self.0;
        if state.identified.is_cancelled() {
            return Ok(());
        }
        if !is_proxied {
            let share = match principal.role {
                Role::Device => (state.pool.per_principal / DEVICE_PART).max(1),
                Role::Client | Role::Companion | Role::Owner => state.pool.per_principal,
            };
            let place = state.pool.identified.take(principal, share)?;
            // Another request of this connection cannot have set it: they follow each other.
            let _ = state.place.set(place);
            if !principal.role.is_owner() {
                let _ = state.turns.set(state.pool.turn_queue(&principal.id));
            }
        }
        state.identified.cancel();
        state.leave_anonymous();
        Ok(())
    }

    /// True if the peer has shown a valid token.
    pub(crate) fn is_identified(&self) -> bool {
        self.0.identified.is_cancelled()
    }

    /// Waits until the peer has had `time` to show a token and has not, or must make room before that. Never
    /// returns once the peer has shown one.
    pub(crate) async fn wait_until_unwanted(&self, time: Duration) {
        let state = &self.0;
        tokio::select! {
            biased;
            () = state.identified.cancelled() => std::future::pending().await,
            () = state.evicted.cancelled() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    /// Cancelled to close the connection, because others need the memory of its answers.
    pub(crate) fn out_of_memory(&self) -> &CancellationToken {
        &self.0.out_of_memory
    }

    /// The turns that the work of this connection takes. `None` for the owner, for a peer that has not shown a token, and
    /// for a connection that a proxy shares between its clients.
    pub(crate) fn turn_queue(&self) -> Option<Arc<TurnQueue>> {
        self.0.turns.get().cloned()
    }

    /// Counts the frames of this connection in an account from now on.
    pub(crate) fn count_frames(&self, account: &MemoryAccount) {
        // Only one request of a connection can become a socket.
        let _ = self.0.frames.set(FrameMeter::new(account.clone()));
    }

    /// The meter of the frames, once they are counted.
    pub(crate) fn frames(&self) -> Option<&FrameMeter> {
        self.0.frames.get()
    }
}

impl PeerState {
    fn leave_anonymous(&self) {
        self.pool.anonymous.lock().open.remove(&self.number);
    }
}

impl Drop for PeerState {
    fn drop(&mut self) {
        self.leave_anonymous();
    }
}

/// Counts the memory of the bytes of a socket that have arrived and are not part of a complete message yet, which the
/// library stores in a buffer of its own, and of a complete message while it is handled.
#[derive(Debug)]
pub(crate) struct FrameMeter {
    account: MemoryAccount,
    unfinished: Mutex<UnfinishedFrames>,
}

#[derive(Debug, Default)]
struct UnfinishedFrames {
    /// Bytes that have arrived.
    bytes: usize,
    /// Memory of these bytes, or of the message that is handled.
    reservation: Option<MemoryReservation>,
}

impl FrameMeter {
    fn new(account: MemoryAccount) -> Self {
        Self { account, unfinished: Mutex::default() }
    }

    /// Adds bytes that have arrived. Closes the connection if there is no memory for them.
    pub(crate) fn add(&self, bytes: usize) {
        let mut unfinished = self.unfinished.lock();
        let bytes = unfinished.bytes.saturating_add(bytes);
        if self.resize(&mut unfinished, bytes).is_err() {
            self.account.close();
        }
    }

    /// A data message of this size is complete, and is handled now.
    ///
    /// # Errors
    /// [`OverBudget`] if there is no memory to handle it.
    pub(crate) fn begin_message(&self, bytes: usize) -> Result<(), OverBudget> {
        let mut unfinished = self.unfinished.lock();
        unfinished.bytes = 0;
        unfinished.reserve(&self.account, cost::decoded(bytes))
    }

    /// The message is handled.
    pub(crate) fn end_message(&self) {
        let _ = self.resize(&mut self.unfinished.lock(), 0);
    }

    /// A control frame with a payload of this size has arrived, maybe within an unfinished message.
    pub(crate) fn control_frame_complete(&self, payload: usize) {
        let mut unfinished = self.unfinished.lock();
        let bytes = unfinished.bytes.saturating_sub(payload + CONTROL_FRAME_HEAD);
        let _ = self.resize(&mut unfinished, bytes);
    }

    fn resize(&self, unfinished: &mut UnfinishedFrames, bytes: usize) -> Result<(), OverBudget> {
        unfinished.reserve(&self.account, cost::unfinished(bytes))?;
        unfinished.bytes = bytes;
        Ok(())
    }
}

impl UnfinishedFrames {
    fn reserve(&mut self, account: &MemoryAccount, memory: usize) -> Result<(), OverBudget> {
        match &mut self.reservation {
            Some(reservation) => reservation.resize(memory)?,
            None => self.reservation = Some(account.reserve(memory)?),
        }
        Ok(())
    }
}

/// Size of the head of a client's control frame: two bytes and the mask (RFC 6455, section 5.2).
const CONTROL_FRAME_HEAD: usize = 6;

#[cfg(test)]
mod tests;
