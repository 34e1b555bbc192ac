//! A raw WebSocket connection, for misbehaving clients.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};

use crate::with_timeout;

/// A WebSocket connection.
pub type TestSocket = WebSocketStream<TcpStream>;

/// Opens a connection at this path, optionally with a subprotocol.
///
/// # Panics
/// If the gateway refuses it.
pub async fn open_socket(address: SocketAddr, path: &str, token: &str, protocol: Option<&str>) -> TestSocket {
    let stream = async { TcpStream::connect(address).await };
    open_socket_on(stream, address, path, token, protocol).await
}

/// Opens a connection with minimal buffers for unread data.
pub async fn open_socket_with_small_buffers(
    address: SocketAddr,
    path: &str,
    token: &str,
    protocol: Option<&str>,
) -> TestSocket {
    let stream = async {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4096)?;
        socket.connect(address).await
    };
    open_socket_on(stream, address, path, token, protocol).await
}

async fn open_socket_on(
    stream: impl Future<Output = std::io::Result<TcpStream>>,
    address: SocketAddr,
    path: &str,
    token: &str,
    protocol: Option<&str>,
) -> TestSocket {
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    if let Some(protocol) = protocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(protocol).unwrap());
    }
    let opening = async {
        let stream = stream.await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio_tungstenite::client_async(request, stream).await.unwrap().0
    };
    with_timeout("a WebSocket connection", opening).await
}

/// Sends a message.
///
/// # Panics
/// If the connection is closed.
pub async fn send_json(socket: &mut TestSocket, message: &Value) {
    with_timeout("room to send", socket.send(Message::text(message.to_string()))).await.unwrap();
}

/// Returns the next message; `None` if the connection has ended.
pub async fn receive_json(socket: &mut TestSocket) -> Option<Value> {
    loop {
        match socket.next().await? {
            Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}
