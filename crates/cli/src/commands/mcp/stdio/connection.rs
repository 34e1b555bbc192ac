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

use crate::client::Socket;

/// Messages that wait in either direction.
const QUEUE: usize = 1;
/// How often a gateway that is sent nothing is pinged.
const PING: Duration = Duration::from_secs(20);
/// A gateway that says nothing for so long, pongs included, is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the gateway has to take a goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
/// Largest message that is sent where the gateway does not say what it takes.
const MESSAGE_BYTES: usize = 16 << 20;

/// What comes from the gateway.
#[derive(Debug)]
pub(super) enum Heard {
    /// A message.
    Text(Utf8Bytes),
    /// The connection has ended, and why.
    Lost(String),
}

/// A connection. Dropping it breaks it off.
#[derive(Debug)]
pub(super) struct Connection {
    /// Takes messages for the gateway.
    pub(super) to: mpsc::Sender<String>,
    from: mpsc::Receiver<Heard>,
    /// Largest message that the gateway takes, in bytes.
    pub(super) message_bytes: usize,
    writing: JoinSet<()>,
    _reading: JoinSet<()>,
}

impl Connection {
    /// Over a WebSocket that was opened.
    pub(super) fn over(socket: Socket) -> Self {
        let said = socket.headers.get(toolway_wire::MESSAGE_BYTES_HEADER);
        let said = said.and_then(|value| value.to_str().ok()?.parse().ok());
        let (sink, stream) = socket.stream.split();
        let (to, texts) = mpsc::channel(QUEUE);
        let (tell, from) = mpsc::channel(QUEUE);
        let (mut writing, mut reading) = (JoinSet::new(), JoinSet::new());
        writing.spawn(write(sink, texts));
        reading.spawn(read(stream, tell));
        Self { to, from, message_bytes: said.unwrap_or(MESSAGE_BYTES), writing, _reading: reading }
    }

    /// The next message, or the end.
    pub(super) async fn hear(&mut self) -> Heard {
        self.from.recv().await.unwrap_or_else(|| Heard::Lost("it broke off".to_owned()))
    }

    /// Says goodbye, once all that was given to it is written.
    pub(super) async fn close(self) {
        let Self { to, mut writing, .. } = self;
        drop(to);
        let _ = tokio::time::timeout(GOODBYE, writing.join_next()).await;
    }
}

async fn write(mut sink: SplitSink<WebSocketStream<Upgraded>, Message>, mut texts: mpsc::Receiver<String>) {
    loop {
        let message = match tokio::time::timeout(PING, texts.recv()).await {
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

async fn read(mut stream: SplitStream<WebSocketStream<Upgraded>>, tell: mpsc::Sender<Heard>) {
    let why = loop {
        match tokio::time::timeout(SILENCE, stream.next()).await {
            Ok(Some(Ok(Message::Text(text)))) => {
                if tell.send(Heard::Text(text)).await.is_err() {
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
            Err(_) => break format!("nothing was heard of it for {} s", SILENCE.as_secs()),
        }
    };
    // Whoever listened has gone.
    let _ = tell.send(Heard::Lost(why)).await;
}
