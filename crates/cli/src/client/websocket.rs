//! Opens WebSockets to the gateway, with the same trust and the same error messages as other requests.

use reqwest::{Method, StatusCode, Upgraded, header};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::{GatewayClient, errors, with_time_zone};
use crate::error::{CliError, CliResult};

/// Maximum size of a message in bytes. Results and tool lists of a gateway are smaller.
const MAX_MESSAGE: usize = 256 << 20;

/// A WebSocket to the gateway.
pub(crate) struct GatewayWebSocket {
    /// The WebSocket stream.
    pub(crate) stream: WebSocketStream<Upgraded>,
    /// Headers of the response.
    pub(crate) headers: header::HeaderMap,
}

impl GatewayClient {
    /// Opens a WebSocket.
    pub(crate) async fn websocket(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> CliResult<GatewayWebSocket> {
        let key = generate_key();
        let request = with_time_zone(self.request_with(Method::GET, path, query)?)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key);
        let response = request.send().await.map_err(|error| errors::transport_error(self.url(), &error))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let status = response.status();
            let body = response.text().await.unwrap_or_default();
            return Err(errors::response_error(self.url(), status, &body, &self.token_place));
        }
        let headers = response.headers().clone();
        let accepted = headers.get(header::SEC_WEBSOCKET_ACCEPT);
        if accepted.is_none_or(|value| value.as_bytes() != derive_accept_key(key.as_bytes()).as_bytes()) {
            return Err(CliError::new(format!("{} did not accept the WebSocket", self.url()))
                .with_code("not_a_gateway")
                .with_hint("check that a Toolway gateway runs at this address"));
        }
        let upgraded =
            response.upgrade().await.map_err(|error| errors::transport_error(self.url(), &error))?;
        let config =
            WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(GatewayWebSocket { stream, headers })
    }
}
