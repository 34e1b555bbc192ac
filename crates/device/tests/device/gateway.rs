//! A scripted gateway.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use toolway_device::{Backoff, ConnectionStatus, Device, DeviceBuilder, trust};
use toolway_wire::pairing::KeyPin;

pub(crate) const TOKEN: &str = "twy_d_0123456789";

pub(crate) trait IoStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> IoStream for T {}

/// Fails a test that hangs. No operation should ever take this long.
pub(crate) async fn within_test_timeout<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(20), future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come"),
    }
}

pub(crate) struct ScriptedGateway {
    listener: TcpListener,
    tls: Option<(TlsAcceptor, KeyPin)>,
}

impl ScriptedGateway {
    pub(crate) async fn plain() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap(), tls: None }
    }

    /// Starts a gateway with its own key.
    pub(crate) async fn with_key() -> Self {
        Self::with_certificate("somewhere.else").await.0
    }

    /// Starts a gateway with a certificate for this name. Also returns the certificate (PEM), which is its
    /// own authority.
    pub(crate) async fn with_certificate(name: &str) -> (Self, String) {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let pin = trust::pin_of(&certificate).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![certificate], key)
                .unwrap();
        let gateway = Self { tls: Some((TlsAcceptor::from(Arc::new(config)), pin)), ..Self::plain().await };
        (gateway, made.cert.pem())
    }

    pub(crate) fn pin(&self) -> KeyPin {
        self.tls.as_ref().unwrap().1
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.listener.local_addr().unwrap())
    }

    /// Builder of a device that retries immediately.
    pub(crate) fn device(&self) -> DeviceBuilder {
        let quick = Backoff { shortest: Duration::from_millis(1), longest: Duration::from_millis(5) };
        Device::builder(self.url()).token(TOKEN).device_id("id-1").name("Test").backoff(quick)
    }

    /// Accepts the next connection, below HTTP; an error if TLS failed.
    pub(crate) async fn socket(&self) -> std::io::Result<Box<dyn IoStream>> {
        let (tcp, _) = within_test_timeout("a connection", self.listener.accept()).await?;
        tcp.set_nodelay(true)?;
        Ok(match &self.tls {
            Some((acceptor, _)) => Box::new(acceptor.accept(tcp).await?),
            None => Box::new(tcp),
        })
    }

    /// Accepts the next connection and reads its HTTP request.
    pub(crate) async fn request(&self) -> (String, Box<dyn IoStream>) {
        let mut socket = self.socket().await.unwrap();
        let mut read = Vec::new();
        let complete = |read: &[u8]| {
            let text = String::from_utf8_lossy(read).to_lowercase();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            body.len() >= length.map_or(0, |length| length.parse().unwrap())
        };
        while !complete(&read) {
            let got = within_test_timeout("the request", socket.read_buf(&mut read)).await.unwrap();
            assert!(got > 0, "the request was cut");
        }
        (String::from_utf8(read).unwrap(), socket)
    }

    /// Answers the next request with this status and JSON, and returns the request.
    pub(crate) async fn answer(&self, status: &str, body: &Value) -> String {
        let (request, mut socket) = self.request().await;
        let body = body.to_string();
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        // In two pieces, as a network may deliver it.
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.flush().await.unwrap();
        socket.write_all(body.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        request
    }

    /// Accepts the next connection as a WebSocket.
    pub(crate) async fn accept(&self) -> GatewayPeer {
        let socket = self.socket().await.unwrap();
        let mut upgrade = None;
        #[allow(clippy::result_large_err, reason = "the library's callback has this form")]
        let look = |request: &Request, mut response: Response| {
            upgrade = Some(request.clone());
            response.headers_mut().insert("sec-websocket-protocol", "toolway.v2".parse().unwrap());
            Ok(response)
        };
        let socket = tokio_tungstenite::accept_hdr_async(socket, look).await.unwrap();
        GatewayPeer { socket, upgrade: upgrade.unwrap() }
    }

    /// Accepts the next connection with handshake and registration. Also returns `connect` and
    /// `register_tools`.
    pub(crate) async fn welcome(&self, connected: Value) -> (GatewayPeer, Value, Value) {
        let mut peer = self.accept().await;
        let connect = peer.expect("connect").await;
        peer.send(connected).await;
        let register = peer.expect("register_tools").await;
        let count = register["tools"].as_array().unwrap().len();
        peer.send(json!({ "type": "tools_registered", "count": count, "registered": count })).await;
        (peer, connect, register)
    }

    /// Like `welcome`, if this many results arrive before the registration.
    pub(crate) async fn welcome_after_results(
        &self,
        connected: Value,
        results: usize,
    ) -> (GatewayPeer, Value, Value) {
        let mut peer = self.accept().await;
        let connect = peer.expect("connect").await;
        peer.send(connected).await;
        for _ in 0..results {
            peer.expect("tool_result").await;
        }
        let register = peer.expect("register_tools").await;
        (peer, connect, register)
    }

    pub(crate) async fn peer(&self) -> GatewayPeer {
        self.welcome(connected("resume-1")).await.0
    }
}

pub(crate) fn connected(resume_token: &str) -> Value {
    json!({
        "type": "connected", "v": 2, "message": "Connection established", "source": "test",
        "resume_token": resume_token, "heartbeat_ms": 20_000,
        "limits": { "frame_bytes": 16 << 20 },
    })
}

/// The gateway's end of one connection.
pub(crate) struct GatewayPeer {
    socket: WebSocketStream<Box<dyn IoStream>>,
    pub(crate) upgrade: Request,
}

impl GatewayPeer {
    pub(crate) async fn message(&mut self) -> Option<Message> {
        within_test_timeout("a message", self.socket.next()).await.and_then(Result::ok)
    }

    /// Reads the next JSON frame.
    pub(crate) async fn read(&mut self) -> Value {
        loop {
            match self.message().await {
                Some(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Some(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("a text frame should come, not {other:?}"),
            }
        }
    }

    /// Reads the next JSON frame, which must be of this type.
    pub(crate) async fn expect(&mut self, kind: &str) -> Value {
        let frame = self.read().await;
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    pub(crate) async fn send(&mut self, frame: Value) {
        self.socket.send(Message::text(frame.to_string())).await.unwrap();
    }

    pub(crate) async fn text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn ping(&mut self, payload: &'static [u8]) {
        self.socket.send(Message::Ping(payload.into())).await.unwrap();
    }

    pub(crate) async fn call(&mut self, id: &str, name: &str, args: Value) {
        self.call_again(id, name, args, 1).await;
    }

    pub(crate) async fn call_again(&mut self, id: &str, name: &str, args: Value, attempt: u32) {
        let frame = json!({
            "type": "tool_call_request", "id": id, "name": name, "args": args,
            "deadline_ms": 30_000, "attempt": attempt,
        });
        self.send(frame).await;
    }

    pub(crate) async fn cancel(&mut self, id: &str) {
        self.send(json!({ "type": "tool_call_cancel", "id": id, "reason": "cancelled" })).await;
    }

    pub(crate) async fn acknowledge(&mut self, id: &str) {
        self.send(json!({ "type": "result_acknowledged", "id": id, "status": "accepted" })).await;
    }

    pub(crate) async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code: code.into(), reason: reason.to_owned().into() };
        self.socket.send(Message::Close(Some(frame))).await.unwrap();
        while let Some(Ok(_)) = within_test_timeout("the answer to a close", self.socket.next()).await {}
    }

    /// Drops the connection without a close frame, like a network failure.
    pub(crate) fn drop_connection(self) {
        drop(self);
    }
}

/// Waits for a status.
pub(crate) async fn status(
    receiver: &mut tokio::sync::watch::Receiver<ConnectionStatus>,
    wanted: impl FnMut(&ConnectionStatus) -> bool,
) -> ConnectionStatus {
    within_test_timeout("the status", receiver.wait_for(wanted)).await.unwrap().clone()
}
