//! WebSocket connections of the harness: small read buffers and no delay, so that the other side determines
//! the results.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{
    AUTHORIZATION, InvalidHeaderValue, SEC_WEBSOCKET_PROTOCOL,
};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::error::{ErrorContext, LoadBenchError, Result, with_timeout};

/// Size of the read buffer of every socket, including the relay's: the library fills all of it with zeros for
/// each read.
pub(crate) const READ_BUFFER: usize = 4 << 10;

/// Size at which buffered frames are written without a flush, as in the gateway.
pub(crate) const WRITE_BUFFER: usize = 4 << 10;

const LIMIT: Duration = Duration::from_secs(20);

/// An open connection.
pub(crate) type BenchSocket = WebSocketStream<TcpStream>;

/// Opens `ws://authority/path`; with a token, as version 2 of the protocol.
pub(crate) async fn open(authority: &str, path: &str, token: Option<&str>) -> Result<BenchSocket> {
    let what = format!("opening ws://{authority}{path}");
    let mut request = format!("ws://{authority}{path}").into_client_request().context(&what)?;
    if let Some(token) = token {
        let bearer = header(&what, &format!("Bearer {token}"))?;
        request.headers_mut().insert(AUTHORIZATION, bearer);
        let version = header(&what, toolway_wire::SUBPROTOCOL_V2)?;
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, version);
    }
    with_timeout(LIMIT, &what, async {
        let stream = TcpStream::connect(authority).await.context(&what)?;
        stream.set_nodelay(true).context(&what)?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER).write_buffer_size(WRITE_BUFFER);
        let (socket, _) = tokio_tungstenite::client_async_with_config(request, stream, Some(config))
            .await
            .context(&what)?;
        Ok(socket)
    })
    .await
}

fn header(what: &str, text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text)
        .map_err(|error: InvalidHeaderValue| LoadBenchError::Unexpected(format!("{what}: {error}")))
}
