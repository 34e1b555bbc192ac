//! Transfers frames. One task per connection reads and writes concurrently, so that a peer that stops reading
//! never stops the gateway from reading, and frames need not cross between tasks twice. A second, mostly idle
//! task checks the heartbeat and waits for events that end the connection from outside.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::close::{CloseReason, TOO_SLOW};
use super::unread_pongs::UnreadPongs;
use crate::fair_task::FairTask;
use crate::listener::BytesWritten;
use crate::memory_budget::{MemoryAccount, MemoryReservation};
use crate::outbox::{Outbox, OutgoingFrame, OutgoingFrames};
use crate::peer_connection::PeerConnection;

/// Options of a connection.
#[derive(Debug, Clone)]
pub(crate) struct SocketOptions {
    /// Interval between pings. A peer that sends nothing for two intervals is closed.
    pub(crate) heartbeat: Duration,
    /// Time after which a peer that accepts no data is closed.
    pub(crate) write_timeout: Duration,
    /// Number of bytes that the peer has accepted so far.
    pub(crate) written: BytesWritten,
    /// Memory of the connection.
    pub(crate) account: MemoryAccount,
    /// The connection, which counts the bytes of unfinished frames.
    pub(crate) connection: Option<PeerConnection>,
}

/// Handler of the frames of a connection.
pub(crate) trait FrameReceiver: Send {
    /// Handles a text frame. Reading pauses meanwhile, so this must be fast.
    fn on_text(&mut self, frame: Utf8Bytes) -> impl Future<Output = Result<(), CloseReason>> + Send;
    /// Handles a binary frame, which the protocol does not use.
    fn on_binary(&mut self) -> impl Future<Output = Result<(), CloseReason>> + Send;
    /// Called whenever the peer has sent something.
    fn on_activity(&mut self);
}

/// Maximum delay of a frame that nobody waits for.
const LAZY_DELAY: Duration = Duration::from_millis(5);
/// Maximum number of frames that are written before the buffer is flushed.
const BATCH: usize = 64;
/// Number of messages that are handled before other connections have their turn.
const SLICE: u32 = 16;
/// Number of checks within the write timeout.
const WRITE_TIMEOUT_STEPS: u32 = 4;
/// Number of heartbeats without a sign of the peer after which it is closed.
const SILENT_HEARTBEATS: u32 = 3;
/// Maximum time for a peer to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time for sending a close frame to a peer that does not read or holds too much memory.
const TOO_SLOW_CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// The two directions of a WebSocket.
pub(crate) type SocketHalves = (SplitSink<WebSocket, Message>, SplitStream<WebSocket>);

/// Serves a connection until it ends by itself or the future of `ending` resolves. Calls `left` as soon as it has ended,
/// before the close frame is sent.
///
/// There may be ten thousand connections, so the futures are small: each value is stored once, rare work is allocated
/// while it runs. An `async fn` would store its arguments twice.
pub(crate) fn serve<'r, R: FrameReceiver, E: Future<Output = CloseReason> + Send + 'static>(
    (mut sink, mut stream): SocketHalves,
    receiver: &'r mut R,
    outbox: &'r Outbox,
    mut queue: OutgoingFrames,
    terms: SocketOptions,
    ending: impl FnOnce() -> E + Send + 'static,
    left: impl FnOnce(&mut R, &CloseReason) + Send,
) -> impl Future<Output = CloseReason> + Send {
    let heard = Arc::new(AtomicBool::new(false));
    async move {
        // A separate task waits for rare events; otherwise, they would be polled for every frame.
        let (tell, mut told) = oneshot::channel();
        let (account, heartbeat) = (terms.account.clone(), terms.heartbeat);
        let (pinged, was_heard) = (outbox.clone(), heard.clone());
        let watcher = AbortOnDropHandle::new(tokio::spawn(async move {
            let close = tokio::select! {
                close = watch_heartbeat(&pinged, heartbeat, &was_heard) => close,
                close = ending() => close,
                () = account.closed() => CloseReason::with_code(
                    TOO_SLOW,
                    "this connection or its token holds too much of the gateway's memory; retry later",
                ),
            };
            // The connection may have ended by itself.
            let _ = tell.send(close);
        }));
        let work = Box::pin(async {
            tokio::select! {
                biased;
                close = read(&mut stream, receiver, &terms, &heard) => close,
                close = write(&mut sink, &mut queue, &terms) => close,
                close = &mut told => close.unwrap_or(CloseReason::PeerGone),
            }
        });
        let close = FairTask::new(work, terms.connection.clone()).await;
        drop(watcher);
        left(receiver, &close);
        // Wakes senders that wait for space in the queue.
        queue.close();
        // The memory of such a peer is needed at once. Its next frames would only add to it.
        let is_too_slow = matches!(close, CloseReason::Code(TOO_SLOW, _));
        let timeout = if is_too_slow { TOO_SLOW_CLOSE_TIMEOUT } else { CLOSE_TIMEOUT };
        let goodbye = async {
            if let Some(frame) = close.frame() {
                while let Some(outgoing) = queue.try_recv() {
                    sink.feed(message(outgoing).0).await?;
                }
                sink.send(frame).await?;
            }
            if !is_too_slow {
                // Reading on sends the answer to the peer's close frame.
                while let Some(Ok(_)) = stream.next().await {}
            }
            Ok::<_, axum::Error>(())
        };
        // The peer may be the reason for closing, so the wait is bounded.
        let _ = Box::pin(tokio::time::timeout(timeout, goodbye)).await;
        close
    }
}

async fn read<R: FrameReceiver>(
    stream: &mut SplitStream<WebSocket>,
    receiver: &mut R,
    terms: &SocketOptions,
    heard: &AtomicBool,
) -> CloseReason {
    let frames = terms.connection.as_ref().and_then(PeerConnection::frames);
    let mut pongs = UnreadPongs::default();
    let mut handled = 0;
    loop {
        if handled == SLICE {
            handled = 0;
            tokio::task::yield_now().await;
        }
        handled += 1;
        let message = match stream.next().await {
            None => return CloseReason::PeerGone,
            Some(Err(error)) => return CloseReason::of_read_error(error),
            Some(Ok(message)) => message,
        };
        heard.store(true, Ordering::Relaxed);
        receiver.on_activity();
        let is_data = matches!(message, Message::Text(_) | Message::Binary(_));
        match (&message, frames) {
            (Message::Ping(payload) | Message::Pong(payload), Some(frames)) => {
                frames.control_frame_complete(payload.len());
            }
            (Message::Text(text), Some(frames)) => {
                if let Err(refusal) = frames.begin_message(text.len()) {
                    return CloseReason::with_code(TOO_SLOW, refusal.to_string());
                }
            }
            _ => {}
        }
        let done = match message {
            Message::Text(text) => receiver.on_text(text).await,
            Message::Binary(_) => receiver.on_binary().await,
            Message::Ping(payload) if !pongs.add(payload.len(), terms.written.bytes()) => {
                Err(CloseReason::with_code(TOO_SLOW, "the peer does not read the answers to its pings"))
            }
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(frame) => return CloseReason::of_peer(frame.as_ref()),
        };
        if let Err(close) = done {
            return close;
        }
        if let Some(frames) = frames.filter(|_| is_data) {
            frames.end_message();
        }
    }
}

async fn write(
    sink: &mut SplitSink<WebSocket, Message>,
    queue: &mut OutgoingFrames,
    terms: &SocketOptions,
) -> CloseReason {
    while let Some(first) = queue.recv().await {
        let company = match first {
            OutgoingFrame::Lazy(_) => tokio::time::timeout(LAZY_DELAY, queue.recv()).await.ok().flatten(),
            _ => None,
        };
        let batch = async {
            // Fed frames take memory until they are flushed.
            let mut fed = Vec::with_capacity(1);
            for outgoing in std::iter::once(first).chain(company) {
                let (message, memory) = message(outgoing);
                fed.extend(memory);
                sink.feed(message).await?;
            }
            for _ in 0..BATCH {
                let Some(outgoing) = queue.try_recv() else { break };
                let (message, memory) = message(outgoing);
                fed.extend(memory);
                sink.feed(message).await?;
            }
            sink.flush().await
        };
        match wait_while_peer_reads(batch, &terms.written, terms.write_timeout).await {
            Some(Ok(())) => {}
            Some(Err(_)) => return CloseReason::PeerGone,
            None => return CloseReason::with_code(TOO_SLOW, "the peer does not read its data"),
        }
    }
    CloseReason::PeerGone
}

/// Runs a write for as long as the peer accepts some data within each `timeout`. Returns `None` if it
/// accepted none for that long.
async fn wait_while_peer_reads<T>(
    work: impl Future<Output = T>,
    written: &BytesWritten,
    timeout: Duration,
) -> Option<T> {
    let mut work = pin!(work);
    // Most writes end at once. A timer costs more than they do.
    if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        return Some(done);
    }
    let (mut taken, mut idle) = (written.bytes(), 0);
    while idle < WRITE_TIMEOUT_STEPS {
        if let Ok(done) = tokio::time::timeout(timeout / WRITE_TIMEOUT_STEPS, &mut work).await {
            return Some(done);
        }
        let now = written.bytes();
        idle = if now == taken { idle + 1 } else { 0 };
        taken = now;
    }
    None
}

/// Waits until the peer has sent nothing for three heartbeats. Sends a ping in each.
async fn watch_heartbeat(outbox: &Outbox, heartbeat: Duration, heard: &AtomicBool) -> CloseReason {
    let mut silent = 0;
    loop {
        tokio::time::sleep(heartbeat).await;
        silent = if heard.swap(false, Ordering::Relaxed) { 0 } else { silent + 1 };
        // The first ping is sent after one heartbeat, so two are unanswered after three.
        if silent >= SILENT_HEARTBEATS {
            return CloseReason::with_code(TOO_SLOW, "two consecutive pings were not answered");
        }
        outbox.ping();
    }
}

/// The message to send, and the memory that it takes.
fn message(outgoing: OutgoingFrame) -> (Message, Option<MemoryReservation>) {
    match outgoing {
        OutgoingFrame::Text(queued) | OutgoingFrame::Lazy(queued) => {
            (Message::Text(queued.text), Some(queued.memory))
        }
        OutgoingFrame::Ping => (Message::Ping(axum::body::Bytes::new()), None),
    }
}

#[cfg(test)]
mod tests;
