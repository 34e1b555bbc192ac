//! The way to a peer: a bounded queue of frames that one writer drains.

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// One thing to send.
#[derive(Debug)]
pub(crate) enum OutgoingFrame {
    /// A frame that somebody waits for.
    Text(Utf8Bytes),
    /// A frame that nobody waits for: it may travel with the next one.
    Lazy(Utf8Bytes),
    /// A ping.
    Ping,
}

/// Puts frames into a peer's queue. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<OutgoingFrame>,
}

/// The peer is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerGone;

impl Outbox {
    pub(crate) fn new(capacity: usize) -> (Self, mpsc::Receiver<OutgoingFrame>) {
        let (queue, receiver) = mpsc::channel(capacity);
        (Self { queue }, receiver)
    }

    /// Queues a frame; waits for room, as long as the peer is there. A peer that does not read is closed by
    /// its writer, so the wait ends.
    pub(crate) async fn send(&self, frame: impl Into<Utf8Bytes>) -> Result<(), PeerGone> {
        self.put(OutgoingFrame::Text(frame.into())).await
    }

    /// Queues a frame that may wait for company.
    pub(crate) async fn send_lazily(&self, frame: impl Into<Utf8Bytes>) -> Result<(), PeerGone> {
        self.put(OutgoingFrame::Lazy(frame.into())).await
    }

    /// Nearly always there is room, which is quicker to take than to wait for.
    async fn put(&self, outgoing: OutgoingFrame) -> Result<(), PeerGone> {
        match self.queue.try_send(outgoing) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(outgoing)) => self.queue.send(outgoing).await.map_err(|_| PeerGone),
            Err(TrySendError::Closed(_)) => Err(PeerGone),
        }
    }

    /// Queues a frame if there is room now; says whether there was.
    pub(crate) fn try_send(&self, frame: impl Into<Utf8Bytes>) -> bool {
        self.queue.try_send(OutgoingFrame::Text(frame.into())).is_ok()
    }

    /// Queues a ping if there is room; a full queue is busy enough.
    pub(crate) fn ping(&self) {
        let _ = self.queue.try_send(OutgoingFrame::Ping);
    }
}
