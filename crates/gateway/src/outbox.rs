//! The send queue of a connection: bounded, and drained by one writer. Sockets and sources both send through it.

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// An entry of the queue.
#[derive(Debug)]
pub(crate) enum OutgoingFrame {
    /// A frame that the peer waits for.
    Text(Utf8Bytes),
    /// A frame that nobody waits for. It may be sent with the next one.
    Lazy(Utf8Bytes),
    /// A ping.
    Ping,
}

/// The sending side of a connection's queue. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<OutgoingFrame>,
}

/// The connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerGone;

impl Outbox {
    pub(crate) fn new(capacity: usize) -> (Self, mpsc::Receiver<OutgoingFrame>) {
        let (queue, receiver) = mpsc::channel(capacity);
        (Self { queue }, receiver)
    }

    /// Queues a frame, and waits while the queue is full. The wait ends, because the writer closes a connection that
    /// does not read.
    pub(crate) async fn send(&self, frame: impl Into<Utf8Bytes>) -> Result<(), PeerGone> {
        self.put(OutgoingFrame::Text(frame.into())).await
    }

    /// Queues a frame that may be sent with the next one.
    pub(crate) async fn send_lazily(&self, frame: impl Into<Utf8Bytes>) -> Result<(), PeerGone> {
        self.put(OutgoingFrame::Lazy(frame.into())).await
    }

    /// Tries before it waits: the queue is rarely full, and trying is faster.
    async fn put(&self, outgoing: OutgoingFrame) -> Result<(), PeerGone> {
        match self.queue.try_send(outgoing) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(outgoing)) => self.queue.send(outgoing).await.map_err(|_| PeerGone),
            Err(TrySendError::Closed(_)) => Err(PeerGone),
        }
    }

    /// Queues a frame if the queue is not full. Returns whether it did.
    pub(crate) fn try_send(&self, frame: impl Into<Utf8Bytes>) -> bool {
        self.queue.try_send(OutgoingFrame::Text(frame.into())).is_ok()
    }

    /// Queues a ping if the queue is not full. A connection with a full queue needs no ping.
    pub(crate) fn ping(&self) {
        let _ = self.queue.try_send(OutgoingFrame::Ping);
    }
}
