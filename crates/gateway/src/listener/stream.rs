//! The byte stream of a connection, which counts as open until it is dropped, regardless of its owner at that
//! time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::peer_connection::PeerConnection;

/// A plain or encrypted connection.
#[derive(Debug)]
pub(crate) enum MaybeTlsStream {
    Plain(TcpStream),
    // Boxed because it is many times larger.
    Tls(Box<TlsStream<TcpStream>>),
}

/// Number of bytes that the peer has accepted. It distinguishes a slow peer from one that stopped reading. It
/// is added to the extensions of each request.
#[derive(Debug, Clone, Default)]
pub(crate) struct BytesWritten(Arc<AtomicU64>);

impl BytesWritten {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds to the number of bytes.
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn note(&self, wrote: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &wrote {
            self.add(*bytes);
        }
        wrote
    }
}

/// The wait of a write for a peer that accepts no data.
#[derive(Debug)]
struct WriteWait {
    timeout: Duration,
    /// End of the wait. `None` while the peer accepts data.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl WriteWait {
    fn new(timeout: Duration) -> Self {
        Self { timeout, deadline: None }
    }

    /// Passes on the result of a write, or fails once it was pending for the timeout.
    fn limit<T>(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.deadline = None;
            return wrote;
        }
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.timeout)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read its data")))
    }
}

/// A connection that counts as open. A write fails if the peer accepts no data for some time. The writes of a WebSocket
/// are limited by its own task, which can name the reason.
#[derive(Debug)]
pub(crate) struct CountedStream {
    stream: MaybeTlsStream,
    written: BytesWritten,
    wait: WriteWait,
    connection: PeerConnection,
    _permit: OwnedSemaphorePermit,
    _open: TaskTrackerToken,
}

impl CountedStream {
    pub(crate) fn new(
        stream: MaybeTlsStream,
        written: BytesWritten,
        write_timeout: Duration,
        connection: PeerConnection,
        place: OwnedSemaphorePermit,
        open: TaskTrackerToken,
    ) -> Self {
        Self { stream, written, wait: WriteWait::new(write_timeout), connection, _permit: place, _open: open }
    }

    fn limit<T>(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let is_websocket = self.connection.frames().is_some();
        if is_websocket { wrote } else { self.wait.limit(cx, wrote) }
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = match &mut self.stream {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        if let Some(frames) = self.connection.frames() {
            frames.add(buf.filled().len() - before);
        }
        read
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = match &mut self.stream {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        let wrote = self.written.note(wrote);
        self.limit(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = match &mut self.stream {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        let wrote = self.written.note(wrote);
        self.limit(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            MaybeTlsStream::Plain(stream) => stream.is_write_vectored(),
            MaybeTlsStream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = match &mut self.stream {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        self.limit(cx, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = match &mut self.stream {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        };
        self.limit(cx, done)
    }
}
