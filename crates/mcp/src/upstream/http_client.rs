//! The HTTP client for servers at an address.

use std::time::Duration;

use bytes::Bytes;
use http::header::{LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use url::Url;

use super::error::UpstreamError;
use super::response_body::{StreamedResponse, root_cause};

/// Timeout for connecting, without TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of redirects in a row.
const MAX_REDIRECTS: usize = 5;
/// Time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Interval of TCP keepalive probes.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// An HTTP client with a connection pool. It sets `TCP_NODELAY` and uses no proxy. Cheap to clone.
#[derive(Debug, Clone)]
pub struct UpstreamHttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    user_agent: HeaderValue,
}

impl UpstreamHttpClient {
    /// Creates a client with these TLS settings and this user agent.
    ///
    /// # Errors
    /// A message if the user agent is not a valid header value.
    pub fn new(tls: rustls::ClientConfig, user_agent: &str) -> Result<Self, String> {
        let user_agent = HeaderValue::from_str(user_agent).map_err(|error| error.to_string())?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { client, user_agent })
    }

    /// Sends a request once. If a pooled connection was closed before the request left, it uses another.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<StreamedResponse, UpstreamError> {
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        match self.client.request(request).await {
            Ok(response) => Ok(StreamedResponse::new(response)),
            Err(error) if error.is_connect() => Err(UpstreamError::Unreachable(root_cause(&error))),
            Err(error) => Err(UpstreamError::ConnectionLost(root_cause(&error))),
        }
    }
}

/// The target of the `nth` redirect in a row (from 0), if it may be followed: only within one origin, because the
/// request may contain keys, and only if method and body stay the same.
pub(super) fn redirect_target(
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
    nth: usize,
) -> Option<Url> {
    // Other redirects turn a POST into a GET, which is another request.
    let keeps_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    if !keeps_method || nth >= MAX_REDIRECTS {
        return None;
    }
    let to = from.join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
    (to.origin() == from.origin()).then_some(to)
}

#[cfg(test)]
mod tests;
