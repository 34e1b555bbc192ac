//! Lets the connections of a principal take turns when they use much processor time. Without it, a principal with two
//! hundred busy connections would get two hundred times the time of another one: the runtime polls its tasks in turn,
//! whoever they belong to.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use crate::peer_connection::PeerConnection;
use crate::turn_queue::{Turn, TurnQueue};

/// Processor time of a connection between two turns. Each turn costs a switch between tasks, so a connection must not need
/// one for each short message.
const QUANTUM: Duration = Duration::from_micros(200);

/// The work of a connection. Once its peer has shown a token and the principal has used its free time, it is polled only
/// when it has its turn. All that wait get their turns in the order of their arrival, one each time that the runtime has
/// polled everything else.
pub(crate) struct FairTask<F> {
    work: F,
    connection: Option<PeerConnection>,
    queue: Option<Arc<TurnQueue>>,
    turn: Option<Arc<Turn>>,
    /// Time since the last turn, which the queue does not know yet.
    used: Duration,
    /// True if the quantum is used.
    needs_turn: bool,
}

impl<F: Future + Unpin> FairTask<F> {
    /// Creates the task of a connection. Work without a connection is not limited.
    pub(crate) fn new(work: F, connection: Option<PeerConnection>) -> Self {
        Self { work, connection, queue: None, turn: None, used: Duration::ZERO, needs_turn: false }
    }
}

impl<F: Future + Unpin> Future for FairTask<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        if this.queue.is_none() {
            this.queue = this.connection.as_ref().and_then(PeerConnection::turn_queue);
        }
        let Some(queue) = &this.queue else { return Pin::new(&mut this.work).poll(cx) };
        let started = Instant::now();
        if std::mem::take(&mut this.needs_turn) {
            this.turn = queue.wait_for_turn(started);
        }
        if let Some(turn) = &this.turn {
            if !turn.poll_given(cx) {
                return Poll::Pending;
            }
            this.turn = None;
        }
        let polled = Pin::new(&mut this.work).poll(cx);
        this.used += started.elapsed();
        if this.used >= QUANTUM {
            queue.charge(std::mem::take(&mut this.used));
            this.needs_turn = true;
        }
        polled
    }
}

#[cfg(test)]
mod tests;
