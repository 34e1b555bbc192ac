//! The send queue of a connection: bounded, and drained by one writer. Sockets and sources both send through it.

mod frame_queue;

use axum::extract::ws::Utf8Bytes;

use self::frame_queue::{NotQueued, QueueReceiver, QueueSender};
use crate::memory_budget::{MemoryAccount, MemoryReservation, cost};

/// An entry of the queue.
#[derive(Debug)]
pub(crate) enum OutgoingFrame {
    /// A frame that the peer waits for.
    Text(QueuedText),
    /// A frame that nobody waits for. It may be sent with the next one.
    Lazy(QueuedText),
    /// A ping.
    Ping,
}

/// The text of a queued frame, with the memory that it takes.
#[derive(Debug)]
pub(crate) struct QueuedText {
    pub(crate) text: Utf8Bytes,
    pub(crate) memory: MemoryReservation,
}

/// The sending side of a connection's queue. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    queue: QueueSender<OutgoingFrame>,
    account: MemoryAccount,
}

/// The receiving side of a connection's queue.
pub(crate) type OutgoingFrames = QueueReceiver<OutgoingFrame>;

/// The connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerGone;

impl Outbox {
    /// Creates a queue whose frames count in the account of the connection.
    pub(crate) fn new(capacity: usize, account: MemoryAccount) -> (Self, OutgoingFrames) {
        let (queue, receiver) = frame_queue::bounded(capacity);
        (Self { queue, account }, receiver)
    }

    /// Reserves memory for a frame. Closes the connection if there is none: its peer does not read what waits
    /// already.
    fn reserve(&self, text: Utf8Bytes) -> Result<QueuedText, PeerGone> {
        match self.account.reserve(cost::queued(text.len())) {
            Ok(memory) => Ok(QueuedText { text, memory }),
            Err(_) => {
                self.account.close();
                Err(PeerGone)
            }
        }
    }

    /// Queues a frame, and waits while the queue is full. The wait ends, because the writer closes a connection that
    /// does not read.
    pub(crate) async fn send(&self, frame: impl Into<Utf8Bytes>) -> Result<(), PeerGone> {
        self.put(OutgoingFrame::Text(self.reserve(frame.into())?)).await
    }

    /// Queues a frame that may be sent with the next one.
    pub(crate) async fn send_lazily(&self, frame: impl Into<Utf8Bytes>) -> Result<(), PeerGone> {
        self.put(OutgoingFrame::Lazy(self.reserve(frame.into())?)).await
    }

    /// Tries before it waits: the queue is rarely full, and trying is faster.
    async fn put(&self, outgoing: OutgoingFrame) -> Result<(), PeerGone> {
        match self.queue.try_send(outgoing) {
            Ok(()) => Ok(()),
            Err(NotQueued::Full(outgoing)) => {
                Box::pin(self.queue.send(outgoing)).await.then_some(()).ok_or(PeerGone)
            }
            Err(NotQueued::Closed) => Err(PeerGone),
        }
    }

    /// Queues a frame if the queue is not full. Returns whether it did.
    pub(crate) fn try_send(&self, frame: impl Into<Utf8Bytes>) -> bool {
        let Ok(queued) = self.reserve(frame.into()) else { return false };
        self.queue.try_send(OutgoingFrame::Text(queued)).is_ok()
    }

    /// Queues a ping if the queue is not full. A connection with a full queue needs no ping.
    pub(crate) fn ping(&self) {
        let _ = self.queue.try_send(OutgoingFrame::Ping);
    }
}
