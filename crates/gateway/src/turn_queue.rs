//! The turns of a principal's connections. As long as they use little processor time, nobody waits. Otherwise all that
//! wait get their turns in the order of their arrival, one each time that the runtime has polled everything else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Time over which the use of a principal is added up.
const WINDOW: Duration = Duration::from_millis(10);
/// Processor time within [`WINDOW`] up to which the connections of a principal do not wait for each other: half of one
/// worker. Turns cost throughput, and only a principal that uses that much can delay others.
pub(crate) const FREE_TIME: Duration = Duration::from_millis(5);

/// The turns of a principal's connections.
#[derive(Debug, Default)]
pub(crate) struct TurnQueue(Mutex<TurnState>);

#[derive(Debug, Default)]
struct TurnState {
    /// The start of the window; absent before the first poll.
    since: Option<Instant>,
    used: Duration,
    waiting: VecDeque<Arc<Turn>>,
    /// True while a task gives turns to those that wait.
    is_served: bool,
}

/// The turn of a connection that waits.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    is_given: AtomicBool,
    waker: AtomicWaker,
}

impl TurnQueue {
    /// Returns the turn that a connection must wait for. `None` if it may go on at once.
    pub(crate) fn wait_for_turn(self: &Arc<Self>, now: Instant) -> Option<Arc<Turn>> {
        let mut state = self.0.lock();
        if state.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            (state.since, state.used) = (Some(now), Duration::ZERO);
        }
        if state.waiting.is_empty() && state.used < FREE_TIME {
            return None;
        }
        let turn = Arc::<Turn>::default();
        state.waiting.push_back(Arc::clone(&turn));
        if !state.is_served {
            state.is_served = true;
            tokio::spawn(Arc::clone(self).give_turns());
        }
        Some(turn)
    }

    /// Adds processor time that a connection has used.
    pub(crate) fn charge(&self, time: Duration) {
        self.0.lock().used += time;
    }

    /// Gives one turn after another until nobody waits. In between, the runtime polls everything else that is ready.
    async fn give_turns(self: Arc<Self>) {
        loop {
            tokio::task::yield_now().await;
            let next = {
                let mut state = self.0.lock();
                let next = state.waiting.pop_front();
                state.is_served = next.is_some();
                next
            };
            let Some(turn) = next else { return };
            turn.is_given.store(true, Ordering::Release);
            // A connection that has ended meanwhile wakes nobody.
            turn.waker.wake();
        }
    }
}

impl Turn {
    /// True if the connection has its turn. Otherwise the context is woken when it has.
    pub(crate) fn poll_given(&self, cx: &Context<'_>) -> bool {
        self.waker.register(cx.waker());
        self.is_given.load(Ordering::Acquire)
    }
}
