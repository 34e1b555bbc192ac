//! Moves frames. One task a connection reads and writes side by side, so that a peer that stops reading never
//! stops us from reading, and no frame crosses between tasks twice. A second one, nearly always asleep, watches
//! the heartbeat and waits for what ends the connection from outside.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::close::{Close, TOO_SLOW};
use super::outbox::{Outbox, Outgoing};
use crate::listen::Written;

/// How a connection is kept.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// How often the peer is pinged; two pings without a sign of life close.
    pub(crate) heartbeat: Duration,
    /// How long the peer may take nothing of what it is sent until it counts as not reading.
    pub(crate) write_timeout: Duration,
    /// What it has taken so far.
    pub(crate) written: Written,
}

/// What a connection does with what it reads.
pub(crate) trait Receiver: Send {
    /// A text frame. Awaiting here stops reading, so it must not take long.
    fn text(&mut self, frame: Utf8Bytes) -> impl Future<Output = Result<(), Close>> + Send;
    /// A binary frame, which the protocol does not use.
    fn binary(&mut self) -> impl Future<Output = Result<(), Close>> + Send;
    /// A sign of life.
    fn alive(&mut self);
}

/// How long a frame nobody waits for may wait for company.
const LAZY_DELAY: Duration = Duration::from_millis(5);
/// Most frames written before the buffer is flushed.
const BATCH: usize = 64;
/// In how many steps a peer's patience with reading is watched.
const STEPS: u32 = 4;
/// How long a closing peer is given to close, too.
const CLOSING: Duration = Duration::from_secs(1);

/// Serves a connection until it ends by itself or `ending` resolves. `left` is called as soon as it has
/// ended, before the peer is told.
pub(crate) async fn serve<R: Receiver>(
    socket: WebSocket,
    receiver: &mut R,
    outbox: &Outbox,
    mut queue: mpsc::Receiver<Outgoing>,
    terms: Terms,
    ending: impl Future<Output = Close> + Send + 'static,
    left: impl FnOnce(&mut R, &Close),
) -> Close {
    let (mut sink, mut stream) = socket.split();
    let started = Instant::now();
    let heard_ms = Arc::new(AtomicU64::new(0));
    // What happens once in a connection's life is watched by a task beside: it would be asked at every frame.
    let (tell, mut told) = oneshot::channel();
    let heartbeat = watch(outbox.clone(), terms.heartbeat, started, heard_ms.clone());
    let watcher = AbortOnDropHandle::new(tokio::spawn(async move {
        let close = tokio::select! {
            close = heartbeat => close,
            close = ending => close,
        };
        // The connection may have ended by itself.
        let _ = tell.send(close);
    }));
    let close = tokio::select! {
        biased;
        close = read(&mut stream, receiver, started, &heard_ms) => close,
        close = write(&mut sink, &mut queue, &terms) => close,
        close = &mut told => close.unwrap_or(Close::PeerGone),
    };
    drop(watcher);
    left(receiver, &close);
    // Whoever waits for room in the queue waits for nothing.
    queue.close();
    let goodbye = async {
        if let Some(frame) = close.frame() {
            while let Ok(outgoing) = queue.try_recv() {
                sink.feed(message(outgoing)).await?;
            }
            sink.send(frame).await?;
        }
        // Reading on sends the answer to a close of the peer's.
        while let Some(Ok(_)) = stream.next().await {}
        Ok::<_, axum::Error>(())
    };
    // The peer may be the reason for closing; it is not waited for.
    let _ = tokio::time::timeout(CLOSING, goodbye).await;
    close
}

async fn read<R: Receiver>(
    stream: &mut SplitStream<WebSocket>,
    receiver: &mut R,
    started: Instant,
    heard_ms: &AtomicU64,
) -> Close {
    loop {
        let message = match stream.next().await {
            None => return Close::PeerGone,
            Some(Err(error)) => return Close::of_read_error(error),
            Some(Ok(message)) => message,
        };
        heard_ms.store(millis(started.elapsed()), Ordering::Relaxed);
        receiver.alive();
        let done = match message {
            Message::Text(text) => receiver.text(text).await,
            Message::Binary(_) => receiver.binary().await,
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(frame) => return Close::of_peer(frame.as_ref()),
        };
        if let Err(close) = done {
            return close;
        }
    }
}

async fn write(
    sink: &mut SplitSink<WebSocket, Message>,
    queue: &mut mpsc::Receiver<Outgoing>,
    terms: &Terms,
) -> Close {
    while let Some(first) = queue.recv().await {
        let company = match first {
            Outgoing::Lazy(_) => tokio::time::timeout(LAZY_DELAY, queue.recv()).await.ok().flatten(),
            _ => None,
        };
        let batch = async {
            sink.feed(message(first)).await?;
            if let Some(outgoing) = company {
                sink.feed(message(outgoing)).await?;
            }
            for _ in 0..BATCH {
                let Ok(outgoing) = queue.try_recv() else { break };
                sink.feed(message(outgoing)).await?;
            }
            sink.flush().await
        };
        match while_taken(batch, &terms.written, terms.write_timeout).await {
            Some(Ok(())) => {}
            Some(Err(_)) => return Close::PeerGone,
            None => return Close::with(TOO_SLOW, "you do not read what you are sent"),
        }
    }
    Close::PeerGone
}

/// Does work that writes, however long it takes, as long as the peer takes some of it every so often. None
/// where it took nothing for that long.
async fn while_taken<T>(work: impl Future<Output = T>, written: &Written, patience: Duration) -> Option<T> {
    let mut work = pin!(work);
    let (mut taken, mut idle) = (written.bytes(), 0);
    while idle < STEPS {
        if let Ok(done) = tokio::time::timeout(patience / STEPS, &mut work).await {
            return Some(done);
        }
        let now = written.bytes();
        idle = if now == taken { idle + 1 } else { 0 };
        taken = now;
    }
    None
}

async fn watch(outbox: Outbox, heartbeat: Duration, started: Instant, heard_ms: Arc<AtomicU64>) -> Close {
    loop {
        tokio::time::sleep(heartbeat).await;
        let silent = millis(started.elapsed()).saturating_sub(heard_ms.load(Ordering::Relaxed));
        // The first ping goes out after one heartbeat, so two have gone unanswered after three.
        if silent >= millis(heartbeat * 3) {
            return Close::with(TOO_SLOW, "two pings in a row were not answered");
        }
        outbox.ping();
    }
}

fn message(outgoing: Outgoing) -> Message {
    match outgoing {
        Outgoing::Text(text) | Outgoing::Lazy(text) => Message::Text(text),
        Outgoing::Ping => Message::Ping(axum::body::Bytes::new()),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
