//! A bare WebSocket connection, for clients that do what no good one would.

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

/// A connection.
pub type TestSocket = WebSocketStream<TcpStream>;

/// Opens one at this path. With a subprotocol where one is named.
///
/// # Panics
/// Where the gateway refuses.
pub async fn open_socket(address: SocketAddr, path: &str, token: &str, protocol: Option<&str>) -> TestSocket {
    let stream = async { TcpStream::connect(address).await };
    open_socket_on(stream, address, path, token, protocol).await
}

/// The same with hardly any room for what is not read.
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
/// Where the connection is gone.
pub async fn send_json(socket: &mut TestSocket, message: &Value) {
    with_timeout("room to send", socket.send(Message::text(message.to_string()))).await.unwrap();
}

/// The next message; nothing where the connection has ended.
pub async fn receive_json(socket: &mut TestSocket) -> Option<Value> {
    loop {
        match socket.next().await? {
            Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}
