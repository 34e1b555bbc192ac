//! The listener: binds, accepts a limited number of connections, and stops within a time limit.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::listener::{AcceptBackoff, ConnectionContext, ConnectionRefusal, serve_connection};
use crate::peer_connection::ConnectionPool;
use crate::settings::ListenAddress;
use crate::tls::ListenerTls;

/// Maximum number of connections that the system queues before they are accepted.
const BACKLOG: u32 = 4096;
/// Maximum number of connections over the limit that get an error response at the same time; further ones are
/// closed without one.
const MAX_CONCURRENT_REFUSALS: usize = 64;

/// Error when listening on an address.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {source}")]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Error from the operating system.
    pub source: std::io::Error,
}

impl BindError {
    /// Returns the next step for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
        match self.source.kind() {
            AddrInUse => "another program listens on this port; choose another port, or 0 for any free one",
            AddrNotAvailable => "this computer has no such address; use 0.0.0.0 for all its addresses",
            PermissionDenied => "ports below 1024 need root rights; choose a higher port",
            _ => "choose another address",
        }
    }
}

/// Options of a listener.
#[derive(Debug)]
pub struct ServeOptions {
    /// Handler of the requests.
    pub router: Router,
    /// TLS, if it is on.
    pub tls: Option<Arc<ListenerTls>>,
    /// Maximum number of open connections.
    pub max_connections: usize,
    /// The connections, with their places within the limits.
    pub(crate) pool: Arc<ConnectionPool>,
    /// Maximum time for a handshake and for each request head.
    pub handshake_timeout: Duration,
    /// Maximum time for which a peer accepts no data.
    pub write_timeout: Duration,
    /// Tracks open connections, including WebSockets.
    pub open_connections: TaskTracker,
}

/// Binds the address without accepting connections yet.
///
/// # Errors
/// [`BindError`] if the address can't be bound.
pub fn bind(listen: ListenAddress) -> Result<TcpListener, BindError> {
    let ListenAddress(address) = listen;
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Allows a restarted gateway to use its port while old connections close. On other systems, the
        // option would share the port.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    bound().map_err(|source| BindError { address, source })
}

/// A running listener. Dropping it stops accepting and closes connections other than WebSockets.
#[derive(Debug)]
pub struct ListenerHandle {
    open_connections: TaskTracker,
    graceful_shutdown: CancellationToken,
    abort: CancellationToken,
}

/// Starts to accept and serve connections.
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
        pool: options.pool,
        handshake_timeout: options.handshake_timeout,
        write_timeout: options.write_timeout,
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

/// Sends a connection over the limit the reason why it is closed, unless too many are being refused at the
/// moment. An encrypted connection would need a handshake first and is closed without a reason.
fn refuse_connection(stream: TcpStream, told: &Arc<Semaphore>, tls: bool) {
    tracing::debug!("a connection over the limit was refused");
    if let (false, Ok(turn)) = (tls, Arc::clone(told).try_acquire_owned()) {
        tokio::spawn(async move {
            ConnectionRefusal::Full.answer(stream).await;
            drop(turn);
        });
    }
}

impl ListenerHandle {
    /// Stops accepting and lets connections finish their current request. WebSockets are closed elsewhere.
    pub fn stop_accepting(&self) {
        self.graceful_shutdown.cancel();
    }

    /// Stops accepting and waits for all connections to end, including WebSockets. After `within`, closes
    /// connections that still serve HTTP. Returns the number of connections that were left.
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
