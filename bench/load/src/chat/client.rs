//! A chat client: one session on one socket.

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::error::{During, Result, unexpected};
use crate::gateway::Gateway;
use crate::socket::{self, Socket};

/// A connected chat client.
#[derive(Debug)]
pub(crate) struct ChatClient {
    socket: Socket,
}

/// What of a frame a client must know.
#[derive(Debug, Deserialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    success: Option<bool>,
    #[serde(default)]
    status: Option<String>,
}

/// What happened in a turn.
#[derive(Debug)]
pub(crate) enum Happened {
    /// More text.
    Chunk(String),
    /// A tool ended without success.
    ToolFailed(String),
    /// The turn is over.
    Done,
}

impl ChatClient {
    /// Opens a session of its own.
    pub(crate) async fn open(gateway: &Gateway) -> Result<Self> {
        let socket = socket::open(&gateway.authority, "/ws/chat", Some(&gateway.owner)).await?;
        let mut client = Self { socket };
        loop {
            if client.frame().await?.kind == "session_start" {
                return Ok(client);
            }
        }
    }

    /// Says something; what follows is the turn.
    pub(crate) async fn say(&mut self, text: &str) -> Result<()> {
        let message = json!({"type": "message", "content": text}).to_string();
        self.socket.send(Message::text(message)).await.during("sending a message")
    }

    /// Waits for what happens next in the turn.
    pub(crate) async fn next(&mut self) -> Result<Happened> {
        loop {
            let frame = self.frame().await?;
            match frame.kind.as_str() {
                "chunk" => return Ok(Happened::Chunk(frame.content)),
                "done" => return Ok(Happened::Done),
                "tool_result" if frame.success == Some(false) || frame.status.as_deref() == Some("error") => {
                    return Ok(Happened::ToolFailed(frame.content));
                }
                "error" | "aborted" => {
                    return unexpected(format!("the turn ended as {}: {}", frame.kind, frame.message));
                }
                _ => {}
            }
        }
    }

    async fn frame(&mut self) -> Result<Frame> {
        while let Some(frame) = self.socket.next().await {
            match frame.during("waiting for a turn")? {
                Message::Text(text) => {
                    return serde_json::from_str(&text).during("reading a frame of a chat");
                }
                Message::Close(frame) => {
                    return unexpected(format!("a chat was closed by the gateway: {frame:?}"));
                }
                _ => {}
            }
        }
        unexpected("a chat's connection ended")
    }
}
