//! A WebSocket to the gateway as two bounded queues of texts. Separate tasks read and write, so that neither blocks the
//! other.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Upgraded;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::client::GatewayWebSocket;

/// Capacity of each queue.
const QUEUE: usize = 1;
/// Interval of pings while nothing else is sent.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Time without any message, including pongs, after which the connection is considered lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum size of a sent message if the gateway does not announce a limit.
const DEFAULT_MESSAGE_BYTES: usize = 16 << 20;

/// Event of the connection.
#[derive(Debug)]
pub(super) enum ConnectionEvent {
    /// A message.
    Message(Utf8Bytes),
    /// The connection ended for this reason.
    Lost(String),
}

/// A connection. Dropping it aborts it.
#[derive(Debug)]
pub(super) struct BridgeConnection {
    /// Queue of messages for the gateway.
    pub(super) outgoing: mpsc::Sender<String>,
    incoming: mpsc::Receiver<ConnectionEvent>,
    /// Maximum size of a message that the gateway accepts, in bytes.
    pub(super) message_bytes: usize,
    writer: JoinSet<()>,
    _reader: JoinSet<()>,
}

impl BridgeConnection {
    /// Creates a connection from an open WebSocket.
    pub(super) fn from_websocket(socket: GatewayWebSocket) -> Self {
        let announced = socket.headers.get(toolway_wire::MAX_MESSAGE_BYTES_HEADER);
        let announced = announced.and_then(|value| value.to_str().ok()?.parse().ok());
        let (sink, stream) = socket.stream.split();
        let (to, texts) = mpsc::channel(QUEUE);
        let (tell, from) = mpsc::channel(QUEUE);
        let (mut writing, mut reading) = (JoinSet::new(), JoinSet::new());
        writing.spawn(write(sink, texts));
        reading.spawn(read(stream, tell));
        Self {
            outgoing: to,
            incoming: from,
            message_bytes: announced.unwrap_or(DEFAULT_MESSAGE_BYTES),
            writer: writing,
            _reader: reading,
        }
    }

    /// Returns the next event.
    pub(super) async fn next_event(&mut self) -> ConnectionEvent {
        self.incoming
            .recv()
            .await
            .unwrap_or_else(|| ConnectionEvent::Lost("the connection was interrupted".to_owned()))
    }

    /// Writes all queued messages and closes the connection.
    pub(super) async fn close(self) {
        let Self { outgoing: to, writer: mut writing, .. } = self;
        drop(to);
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, writing.join_next()).await;
    }
}

async fn write(mut sink: SplitSink<WebSocketStream<Upgraded>, Message>, mut texts: mpsc::Receiver<String>) {
    loop {
        let message = match tokio::time::timeout(PING_INTERVAL, texts.recv()).await {
            Ok(Some(text)) => Message::text(text),
            Ok(None) => break,
            Err(_) => Message::Ping(Vec::new().into()),
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
    let _ = sink.send(Message::Close(None)).await;
    let _ = sink.close().await;
}

async fn read(mut stream: SplitStream<WebSocketStream<Upgraded>>, tell: mpsc::Sender<ConnectionEvent>) {
    let why = loop {
        match tokio::time::timeout(IDLE_TIMEOUT, stream.next()).await {
            Ok(Some(Ok(Message::Text(text)))) => {
                if tell.send(ConnectionEvent::Message(text)).await.is_err() {
                    return;
                }
            }
            Ok(Some(Ok(Message::Close(Some(frame))))) if !frame.reason.is_empty() => {
                break frame.reason.to_string();
            }
            Ok(Some(Ok(Message::Close(_)))) => break "the gateway closed the connection".to_owned(),
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(Error::Capacity(error)))) => {
                break format!("the gateway sent a message that is too large: {error}");
            }
            Ok(Some(Err(_)) | None) => break "the connection was interrupted".to_owned(),
            Err(_) => break format!("no message from the gateway for {} s", IDLE_TIMEOUT.as_secs()),
        }
    };
    // The receiver may be gone.
    let _ = tell.send(ConnectionEvent::Lost(why)).await;
}
