//! HTTP responses that refuse a request.

use std::time::Duration;

use http::{Response, StatusCode, header};
use hyper::body::Incoming;
use serde::Deserialize;

/// Maximum excerpt of a response that is not from a gateway, in bytes.
const MAX_BODY_EXCERPT: usize = 200;

/// Refusal by the gateway, or by a server in front of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GatewayRefusal {
    /// HTTP status.
    pub status: u16,
    /// The gateway's error code, such as `token_revoked`.
    pub code: Option<String>,
    /// Description of the refusal.
    pub message: String,
    /// Next step for the user.
    pub hint: Option<String>,
    /// Delay before the next attempt.
    pub retry_after: Option<Duration>,
}

#[derive(Deserialize)]
struct RefusalBody {
    error: RefusalFields,
}

#[derive(Deserialize)]
struct RefusalFields {
    code: Option<String>,
    message: Option<String>,
    hint: Option<String>,
}

impl GatewayRefusal {
    /// Reads a refusal from a response.
    pub(crate) async fn read(response: Response<Incoming>) -> Self {
        let status = response.status();
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let body = super::read_body(response.into_body()).await.unwrap_or_default();
        Self { retry_after, ..Self::parse(status, &body) }
    }

    fn parse(status: StatusCode, body: &[u8]) -> Self {
        let fields = serde_json::from_slice::<RefusalBody>(body).ok().map(|body| body.error);
        let (code, message, hint) = match fields {
            Some(fields) => (fields.code, fields.message, fields.hint),
            None => (None, None, None),
        };
        let message = message.unwrap_or_else(|| {
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            let shown = text.get(..text.floor_char_boundary(MAX_BODY_EXCERPT)).unwrap_or_default();
            if shown.is_empty() {
                format!("the server responded with {status}")
            } else {
                format!("the server responded with {status}: {shown}")
            }
        });
        Self { status: status.as_u16(), code, message, hint, retry_after: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateways_error_is_parsed() {
        let body = br#"{"error":{"code":"token_revoked","message":"revoked on Monday","hint":"pair again"}}"#;
        let refusal = GatewayRefusal::parse(StatusCode::UNAUTHORIZED, body);
        assert_eq!(refusal.code.as_deref(), Some("token_revoked"));
        assert_eq!(refusal.message, "revoked on Monday");
        assert_eq!(refusal.hint.as_deref(), Some("pair again"));
    }

    #[test]
    fn responses_of_other_servers_are_shortened() {
        let refusal = GatewayRefusal::parse(StatusCode::BAD_GATEWAY, "é".repeat(500).as_bytes());
        assert_eq!(
            refusal.message,
            format!("the server responded with 502 Bad Gateway: {}", "é".repeat(100))
        );
        assert_eq!(
            GatewayRefusal::parse(StatusCode::NOT_FOUND, b"").message,
            "the server responded with 404 Not Found"
        );
    }
}
