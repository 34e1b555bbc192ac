//! A network that can be cut: it carries bytes between a device and a gateway, until it is told to hold
//! everything back, or to tear every connection.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::within;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Net {
    /// Everything is carried.
    Up,
    /// Nothing is carried, and nobody is told.
    Stalled,
    /// Whoever connects is thrown out.
    Down,
}

#[derive(Debug, Clone, Copy)]
struct State {
    upstream: SocketAddr,
    net: Net,
    /// Connections of an older age are torn.
    age: u64,
}

/// A connection was torn.
struct Torn;

/// The network.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: watch::Sender<State>,
    refused: watch::Receiver<usize>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// One that leads there.
    pub async fn to(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, seen) = watch::channel(State { upstream, net: Net::Up, age: 0 });
        let (count, refused) = watch::channel(0);
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let now = *seen.borrow();
                if now.net == Net::Down {
                    tear(&near);
                    count.send_modify(|count| *count += 1);
                } else {
                    tokio::spawn(connect(near, seen.clone(), now.age));
                }
            }
        });
        Self { address, state, refused, accepting }
    }

    /// Where to connect instead of the gateway.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Carries nothing from now on, in either direction. Connections stay open, new ones are taken.
    pub fn stall(&self) {
        self.state.send_modify(|state| state.net = Net::Stalled);
    }

    /// Tears all connections, and every new one.
    pub fn cut(&self) {
        self.state.send_modify(|state| (state.net, state.age) = (Net::Down, state.age + 1));
    }

    /// Tears what was open and carries what comes.
    pub fn heal(&self) {
        self.state.send_modify(|state| (state.net, state.age) = (Net::Up, state.age + 1));
    }

    /// The same, and leads somewhere else.
    pub fn heal_to(&self, upstream: SocketAddr) {
        self.state.send_modify(|state| *state = State { upstream, net: Net::Up, age: state.age + 1 });
    }

    /// Waits until so many connections were thrown out.
    pub async fn has_refused(&self, count: usize) {
        let mut refused = self.refused.clone();
        within("tries to connect", refused.wait_for(|now| *now >= count)).await.unwrap();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connect(mut near: TcpStream, mut state: watch::Receiver<State>, age: u64) {
    if flows(&mut state, age).await.is_err() {
        return tear(&near);
    }
    let upstream = state.borrow().upstream;
    let Ok(mut far) = TcpStream::connect(upstream).await else { return tear(&near) };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let carried = {
        let (from_near, to_near) = near.split();
        let (from_far, to_far) = far.split();
        tokio::try_join!(
            carry(from_near, to_far, state.clone(), age),
            carry(from_far, to_near, state.clone(), age)
        )
    };
    if carried.is_err() {
        tear(&near);
        tear(&far);
    }
}

/// Makes the connection's end a reset rather than a goodbye.
fn tear(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut state: watch::Receiver<State>,
    age: u64,
) -> Result<(), Torn> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        flows(&mut state, age).await?;
        let read = tokio::select! {
            biased;
            changed = state.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return Err(Torn),
            },
            read = from.read(&mut buffer) => read.map_err(|_| Torn)?,
        };
        if read == 0 {
            return to.shutdown().await.map_err(|_| Torn);
        }
        // What was read when the network fell silent is not carried any more.
        flows(&mut state, age).await?;
        tokio::select! {
            written = to.write_all(&buffer[..read]) => written.map_err(|_| Torn)?,
            torn = state.wait_for(|now| now.age != age) => {
                drop(torn);
                return Err(Torn);
            }
        }
    }
}

/// Waits while the network stands still.
async fn flows(state: &mut watch::Receiver<State>, age: u64) -> Result<(), Torn> {
    match state.wait_for(|now| now.net != Net::Stalled || now.age != age).await {
        Ok(now) if now.age == age => Ok(()),
        _ => Err(Torn),
    }
}
