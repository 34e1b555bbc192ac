//! One WebSocket to the gateway as two bounded queues of texts. Reading and writing are tasks of their own, so that
//! neither waits for the other.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Upgraded;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::client::GatewayWebSocket;

/// Messages that wait in either direction.
const QUEUE: usize = 1;
/// How often a gateway that is sent nothing is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// A gateway that says nothing for so long, pongs included, is gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the gateway has to take a goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Largest message that is sent where the gateway does not say what it takes.
const DEFAULT_MESSAGE_BYTES: usize = 16 << 20;

/// What comes from the gateway.
#[derive(Debug)]
pub(super) enum ConnectionEvent {
    /// A message.
    Message(Utf8Bytes),
    /// The connection has ended, and why.
    Lost(String),
}

/// A connection. Dropping it breaks it off.
#[derive(Debug)]
pub(super) struct BridgeConnection {
    /// Takes messages for the gateway.
    pub(super) outgoing: mpsc::Sender<String>,
    incoming: mpsc::Receiver<ConnectionEvent>,
    /// Largest message that the gateway takes, in bytes.
    pub(super) message_bytes: usize,
    writer: JoinSet<()>,
    _reader: JoinSet<()>,
}

impl BridgeConnection {
    /// Over a WebSocket that was opened.
    pub(super) fn from_websocket(socket: GatewayWebSocket) -> Self {
        let said = socket.headers.get(toolway_wire::MAX_MESSAGE_BYTES_HEADER);
        let said = said.and_then(|value| value.to_str().ok()?.parse().ok());
        let (sink, stream) = socket.stream.split();
        let (to, texts) = mpsc::channel(QUEUE);
        let (tell, from) = mpsc::channel(QUEUE);
        let (mut writing, mut reading) = (JoinSet::new(), JoinSet::new());
        writing.spawn(write(sink, texts));
        reading.spawn(read(stream, tell));
        Self {
            outgoing: to,
            incoming: from,
            message_bytes: said.unwrap_or(DEFAULT_MESSAGE_BYTES),
            writer: writing,
            _reader: reading,
        }
    }

    /// The next message, or the end.
    pub(super) async fn next_event(&mut self) -> ConnectionEvent {
        self.incoming.recv().await.unwrap_or_else(|| ConnectionEvent::Lost("it broke off".to_owned()))
    }

    /// Says goodbye, once all that was given to it is written.
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
            Ok(Some(Ok(Message::Close(_)))) => break "it closed the connection".to_owned(),
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(Error::Capacity(error)))) => break format!("it sent too much: {error}"),
            Ok(Some(Err(_)) | None) => break "it broke off".to_owned(),
            Err(_) => break format!("nothing was heard of it for {} s", IDLE_TIMEOUT.as_secs()),
        }
    };
    // Whoever listened has gone.
    let _ = tell.send(ConnectionEvent::Lost(why)).await;
}
