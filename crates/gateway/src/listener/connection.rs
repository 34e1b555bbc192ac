//! Serves one accepted connection until its HTTP ends: the TLS handshake, then one request after another. A
//! WebSocket leaves with its upgrade and continues in its own task.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::Service;

use super::refusal::ConnectionRefusal;
use super::stream::{BytesWritten, CountedStream, MaybeTlsStream};
use crate::access::ConnectionInfo;
use crate::fair_task::FairTask;
use crate::peer_connection::{ConnectionPool, PeerConnection};
use crate::tls::ListenerTls;

/// Maximum size of a request head, and of a piece of a body that is read at once, in bytes.
const BUFFER: usize = 16 << 10;
/// First byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;

/// Values that all connections of a listener share.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionContext {
    pub(crate) router: Router,
    pub(crate) tls: Option<Arc<ListenerTls>>,
    /// The connections of the listener.
    pub(crate) pool: Arc<ConnectionPool>,
    /// Maximum time for the handshake, for each request head, and for showing a token.
    pub(crate) handshake_timeout: Duration,
    /// Maximum time for which a peer accepts no data.
    pub(crate) write_timeout: Duration,
    /// Cancelled to finish the current request and then close.
    pub(crate) graceful_shutdown: CancellationToken,
    /// Cancelled to close at once.
    pub(crate) abort: CancellationToken,
}

/// Serves a connection until its HTTP ends.
pub(crate) async fn serve_connection(
    terms: ConnectionContext,
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    open: TaskTrackerToken,
) {
    let abort = terms.abort.clone();
    let this = terms.pool.add();
    let serving = Box::pin(serve_stream(terms, this.clone(), stream, place, open));
    tokio::select! {
        biased;
        () = abort.cancelled() => {}
        () = FairTask::new(serving, Some(this)) => {}
    }
}

async fn serve_stream(
    terms: ConnectionContext,
    this: PeerConnection,
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    open: TaskTrackerToken,
) {
    let ConnectionContext {
        router,
        tls,
        pool: _,
        handshake_timeout: timeout,
        write_timeout,
        graceful_shutdown: finish,
        abort: _,
    } = terms;
    let Ok(info) = configure_socket(&stream, tls.is_some()) else {
        return; // It is gone already.
    };
    let peer = info.peer;
    let stream = match tls {
        None => MaybeTlsStream::Plain(stream),
        Some(tls) => match tokio::time::timeout(timeout, encrypt(&tls, stream)).await {
            Ok(Some(stream)) => stream,
            Ok(None) => return,
            Err(_) => {
                tracing::debug!(%peer, "the handshake took too long");
                return;
            }
        },
    };
    let written = BytesWritten::default();
    let counter = written.clone();
    let marker = this.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(marker.clone());
        request.extensions_mut().insert(info);
        request.extensions_mut().insert(counter.clone());
        router.clone().call(request)
    });
    let io = TokioIo::new(CountedStream::new(stream, written, write_timeout, this.clone(), place, open));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .max_buf_size(BUFFER)
        .serve_connection(io, service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = finish.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        // Its answers would never leave by themselves.
        () = this.out_of_memory().cancelled() => return,
        () = this.wait_until_unwanted(timeout) => {
            connection.as_mut().graceful_shutdown();
            // The current request may still end, within its own time.
            let Ok(ended) = tokio::time::timeout(timeout, connection).await else { return };
            ended
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection failed");
    }
}

/// Sets the socket options and returns the addresses.
fn configure_socket(stream: &TcpStream, tls: bool) -> io::Result<ConnectionInfo> {
    // Without it, small frames wait up to 40 ms for the acknowledgement of the previous one.
    stream.set_nodelay(true)?;
    Ok(ConnectionInfo { peer: stream.peer_addr()?, local: stream.local_addr()?, tls })
}

async fn encrypt(tls: &ListenerTls, stream: TcpStream) -> Option<MaybeTlsStream> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 0 {
        return None;
    }
    if first != [HANDSHAKE] {
        ConnectionRefusal::NotEncrypted.answer(stream).await;
        return None;
    }
    let peer = stream.peer_addr().ok();
    match tls.acceptor().accept(stream).await {
        Ok(stream) => Some(MaybeTlsStream::Tls(Box::new(stream))),
        Err(error) => {
            tracing::debug!(?peer, %error, "the handshake failed");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_have_tcp_nodelay_r18() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        assert!(!accepted.nodelay().unwrap(), "not by itself");
        let info = configure_socket(&accepted, false).unwrap();
        assert!(accepted.nodelay().unwrap());
        assert_eq!(info.peer, client.local_addr().unwrap());
    }
}
