//! WebSocket upgrade of an HTTP request.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use secrecy::{ExposeSecret, SecretString};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use toolway_wire::SUBPROTOCOL_V2;

use super::refusal::GatewayRefusal;
use super::{ConnectError, GatewayRoute, GatewayStream};

/// Read buffer size. It is small because the library fills the whole buffer with zeros before each read
/// (pitfall R22).
const READ_BUFFER: usize = 4 << 10;
/// Write buffer size. The buffer is written when full, or at each flush.
const WRITE_BUFFER: usize = 8 << 10;
/// Maximum size of a received frame.
const MAX_FRAME: usize = 16 << 20;
/// Path of the device socket.
const PATH: &str = "/ws/device";
/// Value of the `User-Agent` header.
pub(crate) const USER_AGENT: &str = concat!("toolway-device/", env!("CARGO_PKG_VERSION"));

/// A WebSocket to the gateway.
pub(crate) type GatewaySocket = WebSocketStream<GatewayStream>;

/// Reason why the upgrade failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpgradeError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Refused(#[from] GatewayRefusal),
}

/// Connects to `/ws/device` with a token.
pub(crate) async fn open(route: &GatewayRoute, token: &SecretString) -> Result<GatewaySocket, UpgradeError> {
    let (stream, _) = route.connect().await?;
    let key = generate_key();
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))
        .map_err(|_| route.http_failed("the token contains invalid characters".to_owned()))?;
    bearer.set_sensitive(true);
    let request = Request::get(route.url.path(PATH))
        .header(header::HOST, route.url.authority())
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL_V2)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::AUTHORIZATION, bearer)
        .body(Full::<Bytes>::default())
        .map_err(|error| route.http_failed(error.to_string()))?;
    let response = route.send(stream, request).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(GatewayRefusal::read(response).await.into());
    }
    Ok(upgrade_connection(route, response, &key).await?)
}

async fn upgrade_connection(
    route: &GatewayRoute,
    response: Response<Incoming>,
    key: &str,
) -> Result<GatewaySocket, ConnectError> {
    let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|value| value.as_bytes() != derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(route.http_failed("the server does not accept WebSocket connections".to_owned()));
    }
    let upgraded =
        hyper::upgrade::on(response).await.map_err(|error| route.http_failed(error.to_string()))?;
    let parts = upgraded
        .downcast::<TokioIo<GatewayStream>>()
        .map_err(|_| route.http_failed("the connection was lost during the upgrade".to_owned()))?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(Some(MAX_FRAME))
        .max_frame_size(Some(MAX_FRAME));
    let stream = parts.io.into_inner();
    Ok(WebSocketStream::from_partially_read(stream, parts.read_buf.to_vec(), Role::Client, Some(config))
        .await)
}

impl std::fmt::Debug for GatewayRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayRoute")
            .field("url", &self.url)
            .field("tls", &self.tls.as_ref().map(Arc::as_ptr))
            .finish()
    }
}
