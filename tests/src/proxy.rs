//! A network that can be interrupted: passes bytes between a device and a gateway, until it is told to hold
//! everything back or to reset every connection.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::with_timeout;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NetworkState {
    /// Bytes are passed on.
    Up,
    /// Bytes are held back silently.
    Stalled,
    /// Every connection is reset.
    Down,
}

#[derive(Debug, Clone, Copy)]
struct ProxyState {
    upstream: SocketAddr,
    net: NetworkState,
    /// Connections of an older generation are reset.
    generation: u64,
}

/// A connection was reset.
struct ConnectionTorn;

/// The network.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    state: watch::Sender<ProxyState>,
    refused: watch::Receiver<usize>,
    accept_task: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a network that leads to `upstream`.
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, seen) = watch::channel(ProxyState { upstream, net: NetworkState::Up, generation: 0 });
        let (count, refused) = watch::channel(0);
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let now = *seen.borrow();
                if now.net == NetworkState::Down {
                    reset_on_close(&near);
                    count.send_modify(|count| *count += 1);
                } else {
                    tokio::spawn(connect(near, seen.clone(), now.generation));
                }
            }
        });
        Self { address, state, refused, accept_task: accepting }
    }

    /// Returns the address to connect to instead of the gateway's.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Holds back all bytes in both directions. Connections stay open, and new ones are accepted.
    pub fn stall(&self) {
        self.state.send_modify(|state| state.net = NetworkState::Stalled);
    }

    /// Resets all connections and every new one.
    pub fn cut(&self) {
        self.state
            .send_modify(|state| (state.net, state.generation) = (NetworkState::Down, state.generation + 1));
    }

    /// Resets open connections and passes new ones on.
    pub fn heal(&self) {
        self.state
            .send_modify(|state| (state.net, state.generation) = (NetworkState::Up, state.generation + 1));
    }

    /// Resets open connections and leads new ones to another address.
    pub fn heal_to(&self, upstream: SocketAddr) {
        self.state.send_modify(|state| {
            *state = ProxyState { upstream, net: NetworkState::Up, generation: state.generation + 1 }
        });
    }

    /// Waits until this number of connections were reset.
    pub async fn wait_for_refused(&self, count: usize) {
        let mut refused = self.refused.clone();
        with_timeout("tries to connect", refused.wait_for(|now| *now >= count)).await.unwrap();
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

async fn connect(mut near: TcpStream, mut state: watch::Receiver<ProxyState>, age: u64) {
    if wait_until_up(&mut state, age).await.is_err() {
        return reset_on_close(&near);
    }
    let upstream = state.borrow().upstream;
    let Ok(mut far) = TcpStream::connect(upstream).await else { return reset_on_close(&near) };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let carried = {
        let (from_near, to_near) = near.split();
        let (from_far, to_far) = far.split();
        tokio::try_join!(
            forward_bytes(from_near, to_far, state.clone(), age),
            forward_bytes(from_far, to_near, state.clone(), age)
        )
    };
    if carried.is_err() {
        reset_on_close(&near);
        reset_on_close(&far);
    }
}

/// Makes the connection end with a reset instead of a normal close.
fn reset_on_close(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

async fn forward_bytes(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut state: watch::Receiver<ProxyState>,
    age: u64,
) -> Result<(), ConnectionTorn> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        wait_until_up(&mut state, age).await?;
        let read = tokio::select! {
            biased;
            changed = state.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return Err(ConnectionTorn),
            },
            read = from.read(&mut buffer) => read.map_err(|_| ConnectionTorn)?,
        };
        if read == 0 {
            return to.shutdown().await.map_err(|_| ConnectionTorn);
        }
        // Bytes that were read before the network stalled are held back, too.
        wait_until_up(&mut state, age).await?;
        tokio::select! {
            written = to.write_all(&buffer[..read]) => written.map_err(|_| ConnectionTorn)?,
            torn = state.wait_for(|now| now.generation != age) => {
                drop(torn);
                return Err(ConnectionTorn);
            }
        }
    }
}

/// Waits while the network is stalled.
async fn wait_until_up(state: &mut watch::Receiver<ProxyState>, age: u64) -> Result<(), ConnectionTorn> {
    match state.wait_for(|now| now.net != NetworkState::Stalled || now.generation != age).await {
        Ok(now) if now.generation == age => Ok(()),
        _ => Err(ConnectionTorn),
    }
}
