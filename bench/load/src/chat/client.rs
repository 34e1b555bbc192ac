//! A chat client: one session on one socket.

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::BenchGateway;
use crate::socket::{self, BenchSocket};

/// A connected chat client.
#[derive(Debug)]
pub(crate) struct ChatBenchClient {
    socket: BenchSocket,
}

/// The fields of a frame that a client needs.
#[derive(Debug, Deserialize)]
struct ChatFrame {
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

/// An event of a turn.
#[derive(Debug)]
pub(crate) enum ChatTurnEvent {
    /// More text.
    Chunk(String),
    /// A tool failed.
    ToolFailed(String),
    /// The turn has ended.
    Done,
}

impl ChatBenchClient {
    /// Opens a new session.
    pub(crate) async fn open(gateway: &BenchGateway) -> Result<Self> {
        let socket = socket::open(&gateway.authority, "/ws/chat", Some(&gateway.owner_token)).await?;
        let mut client = Self { socket };
        loop {
            if client.next_frame().await?.kind == "session_start" {
                return Ok(client);
            }
        }
    }

    /// Sends a message; the turn follows.
    pub(crate) async fn send_message(&mut self, text: &str) -> Result<()> {
        let message = json!({"type": "message", "content": text}).to_string();
        self.socket.send(Message::text(message)).await.context("sending a message")
    }

    /// Waits for the next event of the turn.
    pub(crate) async fn next_event(&mut self) -> Result<ChatTurnEvent> {
        loop {
            let frame = self.next_frame().await?;
            match frame.kind.as_str() {
                "chunk" => return Ok(ChatTurnEvent::Chunk(frame.content)),
                "done" => return Ok(ChatTurnEvent::Done),
                "tool_result" if frame.success == Some(false) || frame.status.as_deref() == Some("error") => {
                    return Ok(ChatTurnEvent::ToolFailed(frame.content));
                }
                "error" | "aborted" => {
                    return unexpected(format!("the turn ended as {}: {}", frame.kind, frame.message));
                }
                _ => {}
            }
        }
    }

    async fn next_frame(&mut self) -> Result<ChatFrame> {
        while let Some(frame) = self.socket.next().await {
            match frame.context("waiting for a turn")? {
                Message::Text(text) => {
                    return serde_json::from_str(&text).context("reading a frame of a chat");
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
