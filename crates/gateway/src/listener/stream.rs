//! The byte stream of a connection, which counts as open until it is dropped, regardless of its owner at that
//! time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
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

/// A connection that counts as open.
#[derive(Debug)]
pub(crate) struct CountedStream {
    stream: MaybeTlsStream,
    written: BytesWritten,
    connection: PeerConnection,
    _permit: OwnedSemaphorePermit,
    _open: TaskTrackerToken,
}

impl CountedStream {
    pub(crate) fn new(
        stream: MaybeTlsStream,
        written: BytesWritten,
        connection: PeerConnection,
        place: OwnedSemaphorePermit,
        open: TaskTrackerToken,
    ) -> Self {
        Self { stream, written, connection, _permit: place, _open: open }
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
        self.written.note(wrote)
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
        self.written.note(wrote)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            MaybeTlsStream::Plain(stream) => stream.is_write_vectored(),
            MaybeTlsStream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
