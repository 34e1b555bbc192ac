//! A bounded queue that takes memory only for what is in it. A channel of tokio has room for 32 frames from the start,
//! and so has each of ten thousand idle devices.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Number of places that an empty queue keeps.
const KEPT_PLACES: usize = 16;

/// Reason why an entry was not added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotQueued<T> {
    /// The queue is full. Contains the entry.
    Full(T),
    /// The receiver has closed the queue.
    Closed,
}

/// The sending side. Cheap to clone.
#[derive(Debug)]
pub(super) struct QueueSender<T>(Arc<SharedQueue<T>>);

/// The receiving side. Dropping it closes the queue.
#[derive(Debug)]
pub(crate) struct QueueReceiver<T>(Arc<SharedQueue<T>>);

#[derive(Debug)]
struct SharedQueue<T> {
    capacity: usize,
    state: Mutex<QueueState<T>>,
    /// Wakes a sender that waits, when a full queue gets a free place.
    free_place: Notify,
}

#[derive(Debug)]
struct QueueState<T> {
    entries: VecDeque<T>,
    senders: usize,
    is_closed: bool,
    /// Waker of the receiver while it waits.
    receiver: Option<Waker>,
}

/// Creates a queue for at most `capacity` entries.
pub(super) fn bounded<T>(capacity: usize) -> (QueueSender<T>, QueueReceiver<T>) {
    let state = QueueState { entries: VecDeque::new(), senders: 1, is_closed: false, receiver: None };
    let shared = Arc::new(SharedQueue { capacity, state: Mutex::new(state), free_place: Notify::new() });
    (QueueSender(Arc::clone(&shared)), QueueReceiver(shared))
}

impl<T> QueueSender<T> {
    /// Adds an entry if there is a place.
    pub(super) fn try_send(&self, entry: T) -> Result<(), NotQueued<T>> {
        self.add(entry).map(|_| ())
    }

    /// Adds an entry. Returns true if there is another place.
    fn add(&self, entry: T) -> Result<bool, NotQueued<T>> {
        let mut state = self.0.state.lock();
        if state.is_closed {
            return Err(NotQueued::Closed);
        }
        if state.entries.len() >= self.0.capacity {
            return Err(NotQueued::Full(entry));
        }
        state.entries.push_back(entry);
        let has_place = state.entries.len() < self.0.capacity;
        let receiver = state.receiver.take();
        drop(state);
        if let Some(receiver) = receiver {
            receiver.wake();
        }
        Ok(has_place)
    }

    /// Adds an entry, and waits while the queue is full. Returns false if it is closed.
    pub(super) async fn send(&self, mut entry: T) -> bool {
        loop {
            let mut free_place = pin!(self.0.free_place.notified());
            // Before the attempt, so that no place becomes free unnoticed.
            free_place.as_mut().enable();
            match self.add(entry) {
                Ok(has_place) => {
                    // Several places may have become free, and only one sender was woken.
                    if has_place {
                        self.0.free_place.notify_one();
                    }
                    return true;
                }
                Err(NotQueued::Closed) => return false,
                Err(NotQueued::Full(back)) => entry = back,
            }
            free_place.await;
        }
    }
}

impl<T> Clone for QueueSender<T> {
    fn clone(&self) -> Self {
        self.0.state.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for QueueSender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.senders -= 1;
        let receiver = if state.senders == 0 { state.receiver.take() } else { None };
        drop(state);
        if let Some(receiver) = receiver {
            receiver.wake();
        }
    }
}

impl<T> QueueReceiver<T> {
    /// Takes the next entry, and waits for it. Returns `None` once the queue is empty and closed, or has no sender.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    fn poll_recv(&self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.state.lock();
        if let Some(entry) = self.take(&mut state) {
            return Poll::Ready(Some(entry));
        }
        if state.is_closed || state.senders == 0 {
            return Poll::Ready(None);
        }
        if state.receiver.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            state.receiver = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Takes the next entry, if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<T> {
        self.take(&mut self.0.state.lock())
    }

    fn take(&self, state: &mut QueueState<T>) -> Option<T> {
        let was_full = state.entries.len() >= self.0.capacity;
        let entry = state.entries.pop_front();
        if was_full {
            self.0.free_place.notify_one();
        }
        if state.entries.is_empty() && state.entries.capacity() > KEPT_PLACES {
            state.entries = VecDeque::new();
        }
        entry
    }

    /// Closes the queue: senders that wait end, and the remaining entries can still be taken.
    pub(crate) fn close(&mut self) {
        self.0.state.lock().is_closed = true;
        self.0.free_place.notify_waiters();
    }
}

impl<T> Drop for QueueReceiver<T> {
    fn drop(&mut self) {
        self.close();
        let rest = std::mem::take(&mut self.0.state.lock().entries);
        // Without the lock, because it may be much.
        drop(rest);
    }
}

#[cfg(test)]
mod tests;
