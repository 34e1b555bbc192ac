//! The listener: binds, accepts within a bound, and stops within one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::listener::{AcceptBackoff, ConnectionContext, ConnectionRefusal, serve_connection};
use crate::settings::ListenAddress;
use crate::tls::ListenerTls;

/// Connections that the system holds until they are accepted.
const BACKLOG: u32 = 4096;
/// Connections past the limit that are told so at a time; further ones are closed without a word.
const MAX_CONCURRENT_REFUSALS: usize = 64;

/// The address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {source}")]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// What the system says.
    pub source: std::io::Error,
}

impl BindError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
        match self.source.kind() {
            AddrInUse => "another program listens there; choose another port, or 0 for any free one",
            AddrNotAvailable => "this computer has no such address; 0.0.0.0 means all it has",
            PermissionDenied => "ports below 1024 need special rights; choose a higher one",
            _ => "choose another address",
        }
    }
}

/// How to serve.
#[derive(Debug)]
pub struct ServeOptions {
    /// What answers.
    pub router: Router,
    /// What encrypts, where something does.
    pub tls: Option<Arc<ListenerTls>>,
    /// Most connections at a time.
    pub max_connections: usize,
    /// How long a handshake, and each head of a request, may take.
    pub handshake_timeout: Duration,
    /// Counts the connections that are open, WebSockets among them.
    pub open_connections: TaskTracker,
}

/// Listens, without accepting yet.
///
/// # Errors
/// [`BindError`].
pub fn bind(listen: ListenAddress) -> Result<TcpListener, BindError> {
    let ListenAddress(address) = listen;
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Lets a restarted gateway have its port while old connections fade. Elsewhere it means to share it.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    bound().map_err(|source| BindError { address, source })
}

/// A listener at work. Dropped, it stops accepting and closes what is not a WebSocket.
#[derive(Debug)]
pub struct ListenerHandle {
    open_connections: TaskTracker,
    graceful_shutdown: CancellationToken,
    abort: CancellationToken,
}

/// Accepts and serves from now on.
#[must_use]
pub fn serve(listener: TcpListener, options: ServeOptions) -> ListenerHandle {
    let (finish, abort) = (CancellationToken::new(), CancellationToken::new());
    let serving = ListenerHandle {
        open_connections: options.open_connections.clone(),
        graceful_shutdown: finish.clone(),
        abort: abort.clone(),
    };
    let terms = ConnectionContext {
        router: options.router,
        tls: options.tls,
        handshake_timeout: options.handshake_timeout,
        graceful_shutdown: finish.clone(),
        abort,
    };
    let accepting = run_accept_loop(listener, terms, options.max_connections, options.open_connections);
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = finish.cancelled() => {}
            () = accepting => {}
        }
    });
    serving
}

async fn run_accept_loop(
    listener: TcpListener,
    terms: ConnectionContext,
    connections: usize,
    open: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
    let told = Arc::new(Semaphore::new(MAX_CONCURRENT_REFUSALS));
    let mut faults = AcceptBackoff::default();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tokio::time::sleep(faults.record_failure(&error)).await;
                continue;
            }
        };
        faults.reset();
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                tokio::spawn(serve_connection(terms.clone(), stream, place, open.token()));
            }
            Err(_) => refuse_connection(stream, &told, terms.tls.is_some()),
        }
    }
}

/// Tells a connection past the limit why it is closed, if few enough are being told. An encrypted one would
/// need a handshake first and is just closed.
fn refuse_connection(stream: TcpStream, told: &Arc<Semaphore>, tls: bool) {
    tracing::debug!("a connection past the limit was refused");
    if let (false, Ok(turn)) = (tls, Arc::clone(told).try_acquire_owned()) {
        tokio::spawn(async move {
            ConnectionRefusal::Full.answer(stream).await;
            drop(turn);
        });
    }
}

impl ListenerHandle {
    /// Accepts no more and lets connections finish the request they are at. WebSockets are told by others.
    pub fn stop_accepting(&self) {
        self.graceful_shutdown.cancel();
    }

    /// Stops accepting and waits for all connections to end, WebSockets among them; after so long it closes
    /// those that are still at their HTTP. Says how many were left.
    pub async fn shut_down(self, within: Duration) -> usize {
        self.stop_accepting();
        self.open_connections.close();
        if tokio::time::timeout(within, self.open_connections.wait()).await.is_ok() {
            return 0;
        }
        let left = self.open_connections.len();
        self.abort.cancel();
        left
    }
}

impl Drop for ListenerHandle {
    fn drop(&mut self) {
        self.graceful_shutdown.cancel();
        self.abort.cancel();
    }
}
