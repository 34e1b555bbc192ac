//! One connection of an attacker. It sends as fast as the gateway reads, and begins again when it is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep};

use super::attack::{Attack, RepeatedMessage, SentAmount, StreamOpening};
use super::content::AttackContext;
use super::message;

/// Largest part that is written and counted at once, in bytes.
const PART: usize = 64 << 10;
/// Size of a socket's send buffer, in bytes.
const SEND_BUFFER: u32 = 64 << 10;
/// Pause after a refused connection. Without one, the attacker would only be busy with itself.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// Amount that all connections have sent.
#[derive(Debug)]
pub(super) struct SentTally {
    started: Instant,
    connections: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
    /// Microseconds from the start to the last change.
    last_us: AtomicU64,
}

impl SentTally {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            connections: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            last_us: AtomicU64::new(0),
        }
    }

    fn count(&self, counter: &AtomicU64, number: usize) {
        counter.fetch_add(number as u64, Ordering::Relaxed);
        let now = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_us.store(now, Ordering::Relaxed);
    }

    /// Amount that was sent so far.
    pub(super) fn amount(&self) -> SentAmount {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SentAmount {
            connections: read(&self.connections),
            messages: read(&self.messages),
            bytes: read(&self.bytes),
            seconds: Duration::from_micros(read(&self.last_us)).as_secs_f64(),
        }
    }
}

/// A connection of an attack.
pub(super) struct AttackStream {
    pub(super) attack: &'static Attack,
    pub(super) context: Arc<AttackContext>,
    /// Number of the connection.
    pub(super) number: usize,
    pub(super) tally: Arc<SentTally>,
    /// Bytes of [`RepeatedMessage::Same`].
    pub(super) same: Arc<Vec<u8>>,
    /// Number of the next message, for all connections.
    pub(super) next_message: Arc<AtomicU64>,
}

impl AttackStream {
    /// Opens the connection again and again, until the attacker ends.
    pub(super) async fn run(self) {
        loop {
            // A refused or closed connection is part of the attack.
            let is_refused = self.run_once().await.is_err();
            if is_refused || !matches!(self.attack.repeated, RepeatedMessage::NewConnection) {
                sleep(RETRY_PAUSE).await;
            }
        }
    }

    async fn run_once(&self) -> std::io::Result<()> {
        let mut stream = self.connect().await?;
        stream.set_nodelay(true)?;
        // Closed with a reset: otherwise the attacker would run out of ports.
        stream.set_zero_linger()?;
        if let StreamOpening::WebSocket(path) = self.attack.opening {
            let token = self.context.token(self.number);
            stream.write_all(&message::upgrade_request(&self.context.authority, path, token)).await?;
            skip_head(&mut stream).await?;
        }
        self.tally.count(&self.tally.connections, 1);
        if matches!(self.attack.repeated, RepeatedMessage::NewConnection) {
            return Ok(());
        }
        let (reading, mut writing) = stream.into_split();
        let reads = async {
            match self.attack.reads {
                true => discard(reading).await,
                // The socket stays open, and its buffer full.
                false => {
                    let _open = reading;
                    std::future::pending().await
                }
            }
        };
        tokio::select! {
            read = reads => read,
            written = self.send_all(&mut writing) => written,
        }
    }

    async fn connect(&self) -> std::io::Result<TcpStream> {
        let address = self.context.authority.parse().map_err(|_| std::io::ErrorKind::InvalidInput)?;
        let socket = TcpSocket::new_v4()?;
        // What waits in this process's buffer was not read yet, but counts as sent.
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.connect(address).await
    }

    async fn send_all(&self, writing: &mut OwnedWriteHalf) -> std::io::Result<()> {
        self.send(writing, &(self.attack.first)(&self.context, self.number)).await?;
        loop {
            match self.attack.repeated {
                RepeatedMessage::Nothing | RepeatedMessage::NewConnection => {
                    std::future::pending::<()>().await;
                }
                RepeatedMessage::Same(_) => self.send(writing, &self.same).await?,
                RepeatedMessage::Numbered(create) => {
                    let number = self.next_message.fetch_add(1, Ordering::Relaxed);
                    self.send(writing, &create(&self.context, number)).await?;
                }
            }
            self.tally.count(&self.tally.messages, 1);
        }
    }

    async fn send(&self, writing: &mut OwnedWriteHalf, bytes: &[u8]) -> std::io::Result<()> {
        for part in bytes.chunks(PART) {
            writing.write_all(part).await?;
            self.tally.count(&self.tally.bytes, part.len());
        }
        Ok(())
    }
}

/// Reads the head of an answer. Fails unless it opens a WebSocket.
async fn skip_head(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    match head.starts_with(b"HTTP/1.1 101") {
        true => Ok(()),
        false => Err(std::io::ErrorKind::ConnectionRefused.into()),
    }
}

/// Reads until the gateway closes the connection.
async fn discard(mut reading: OwnedReadHalf) -> std::io::Result<()> {
    let mut buffer = vec![0; PART];
    while reading.read(&mut buffer).await? > 0 {}
    Ok(())
}
