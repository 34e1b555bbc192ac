//! WebSocket peers: chat clients and devices.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};

use crate::support::GatewayHarness;

/// Maximum wait for an expected frame.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A WebSocket connection.
pub(crate) struct WebSocketClient(WebSocketStream<TcpStream>);

impl WebSocketClient {
    /// Connects a chat client of version 2.
    pub(crate) async fn chat(bench: &GatewayHarness, token: &str) -> Self {
        Self::chat_at(bench, token, "/ws/chat").await
    }

    /// Connects a chat client of version 2 at this path.
    pub(crate) async fn chat_at(bench: &GatewayHarness, token: &str, path: &str) -> Self {
        let mut peer = Self::open(bench, path, token, Some("toolway.v2")).await;
        assert_eq!(peer.receive().await["type"], "session_start");
        peer
    }

    /// Connects a chat client of version 1.
    pub(crate) async fn chat_version_1(bench: &GatewayHarness, token: &str) -> Self {
        let mut peer = Self::open(bench, "/ws/chat", token, None).await;
        let start = peer.receive().await;
        assert_eq!((&start["type"], &start["v"]), (&json!("session_start"), &json!(1)));
        peer
    }

    /// Connects a device of version 2 with this id, which is also its name.
    pub(crate) async fn device(bench: &GatewayHarness, token: &str, id: &str) -> Self {
        let mut peer = Self::open(bench, "/ws/device", token, Some("toolway.v2")).await;
        peer.send(json!({"type": "connect", "v": 2, "device_id": id, "device_name": id})).await;
        peer.receive_until("connected").await;
        peer
    }

    pub(crate) async fn open(
        bench: &GatewayHarness,
        path: &str,
        token: &str,
        protocol: Option<&str>,
    ) -> Self {
        let mut request = format!("ws://{}{path}", bench.address()).into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
        if let Some(protocol) = protocol {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(protocol).unwrap());
        }
        let stream = TcpStream::connect(bench.address()).await.unwrap();
        Self(tokio_tungstenite::client_async(request, stream).await.unwrap().0)
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    /// Sends a frame that need not be JSON.
    pub(crate) async fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// Returns the next frame.
    pub(crate) async fn receive(&mut self) -> Value {
        let next = async {
            loop {
                match self.0.next().await.expect("a frame before the end").unwrap() {
                    Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                    Message::Close(close) => panic!("closed: {close:?}"),
                    _ => {}
                }
            }
        };
        tokio::time::timeout(TIMEOUT, next).await.expect("a frame in time")
    }

    /// Returns the next frame, which must have this type.
    pub(crate) async fn expect(&mut self, kind: &str) -> Value {
        let frame = self.receive().await;
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// Returns the next frame of this type and skips others.
    pub(crate) async fn receive_until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.receive().await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// Registers these tools instead of all others, and returns the response.
    pub(crate) async fn register(&mut self, tools: Value) -> Value {
        self.send(json!({"type": "register_tools", "tools": tools})).await;
        self.receive_until("tools_registered").await
    }

    /// Waits for a call of one of its tools, answers it with this text, and returns the request.
    pub(crate) async fn answer(&mut self, output: &str) -> Value {
        let request = self.receive_until("tool_call_request").await;
        self.send(json!({"type": "tool_result", "id": request["id"], "output": output})).await;
        request
    }

    /// Starts a call.
    pub(crate) async fn start(&mut self, id: &str, name: &str, args: Value) {
        self.send(json!({"type": "call_tool", "id": id, "name": name, "args": args})).await;
    }

    /// Calls a tool; the next frame must be the result.
    pub(crate) async fn call(&mut self, name: &str, args: Value) -> Value {
        self.start("call", name, args).await;
        self.expect("call_result").await
    }

    /// Answers the question in this frame.
    pub(crate) async fn decide(&mut self, request: &Value, decision: &str, scope: &str) {
        let id = &request["id"];
        self.send(json!({"type": "permission_answer", "id": id, "decision": decision, "scope": scope})).await;
    }

    /// Reads to the end. Returns the code and the reason of the gateway's close.
    pub(crate) async fn expect_close(mut self) -> (u16, String) {
        let end = async {
            loop {
                match self.0.next().await.expect("a close before the end").unwrap() {
                    Message::Close(close) => return close.expect("a close with a reason"),
                    _ => continue,
                }
            }
        };
        let close = tokio::time::timeout(TIMEOUT, end).await.expect("a close in time");
        (close.code.into(), close.reason.to_string())
    }

    /// Sends nothing, not even pongs, until the gateway closes. Returns the number of pings, and the code and
    /// reason of the close.
    pub(crate) async fn expect_close_without_messages(self) -> (usize, u16, String) {
        // Without the library, which would answer pings.
        let mut stream = self.0.into_inner();
        let end = async {
            let mut pings = 0;
            loop {
                let mut head = [0; 2];
                stream.read_exact(&mut head).await.expect("a close before the end");
                assert!(head[1] < 126, "nothing so long is to be said now: {head:?}");
                let mut payload = vec![0; usize::from(head[1])];
                stream.read_exact(&mut payload).await.unwrap();
                match head[0] & 0x0f {
                    0x9 => pings += 1,
                    0x8 => {
                        let (code, reason) = payload.split_first_chunk().expect("a close with a reason");
                        return (
                            pings,
                            u16::from_be_bytes(*code),
                            String::from_utf8(reason.to_vec()).unwrap(),
                        );
                    }
                    other => panic!("neither a ping nor a close: {other}"),
                }
            }
        };
        tokio::time::timeout(TIMEOUT, end).await.expect("a close in time")
    }

    /// Closes the connection normally and waits until the gateway has closed it.
    pub(crate) async fn close(mut self) {
        self.0.close(None).await.unwrap();
        while self.0.next().await.is_some_and(|frame| frame.is_ok()) {}
    }
}
