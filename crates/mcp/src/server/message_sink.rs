//! The receiver of messages to a client: one connection, or the stream of one request.

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// The receiver of the messages is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed")]
pub struct SinkClosed;

/// The receiver of messages to a client, one JSON-RPC message each. Its queue is bounded.
pub trait MessageSink: Send + Sync + 'static {
    /// Sends one message. A sink whose client must read all messages waits for room; another one drops its oldest
    /// message.
    ///
    /// # Errors
    /// [`SinkClosed`] if the receiver is gone.
    fn send(&self, message: String) -> BoxFuture<'static, Result<(), SinkClosed>>;
}

impl MessageSink for mpsc::Sender<String> {
    fn send(&self, message: String) -> BoxFuture<'static, Result<(), SinkClosed>> {
        let queue = self.clone();
        Box::pin(async move { Self::send(&queue, message).await.map_err(|_| SinkClosed) })
    }
}
