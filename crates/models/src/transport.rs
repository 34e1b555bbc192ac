//! HTTP client for model providers. It is created at its first use and reuses its connections. It knows no API, does
//! not retry, and ignores redirects and the proxy settings of the environment.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header;
use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Url};
use rustls::ClientConfig;

use crate::config::ProviderConfig;
use crate::retry::random_fraction;

mod response_body;
mod transport_failure;

pub(crate) use response_body::{BodyChunk, ModelResponseBody};
pub use toolway_sse::{EventTooLong, MAX_EVENT_BYTES, SseEvent, SseParser};

use transport_failure::transport_failure;

use crate::failure::AttemptFailure;

/// Header `user-agent`.
const USER_AGENT: &str = concat!("toolway/", env!("CARGO_PKG_VERSION"));
/// Lifetime of an unused connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(55);
/// Interval of TCP keep-alive probes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of unused connections to one host.
const MAX_IDLE_CONNECTIONS: usize = 32;
/// Maximum number of clients: one for each configured connect timeout.
const MAX_CLIENTS: usize = 8;

/// The client. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct ProviderHttpClient {
    shared: Arc<HttpClientPool>,
    jitter_source: fn() -> f64,
}

struct HttpClientPool {
    make_tls: Box<dyn Fn() -> Result<ClientConfig, String> + Send + Sync>,
    tls: OnceLock<ClientConfig>,
    clients: Mutex<Vec<(HttpClientKey, Client)>>,
}

/// Settings that need a client of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HttpClientKey {
    secure: bool,
    connect: Duration,
}

impl fmt::Debug for ProviderHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}

/// A request that is ready to send.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    /// Target.
    pub(crate) url: Url,
    /// Headers of the API, including the key.
    pub(crate) headers: HeaderMap,
    /// JSON body.
    pub(crate) body: Bytes,
}

impl ProviderHttpClient {
    /// Creates a client. `make_tls` builds its TLS settings at the first request to an https address, on a thread for
    /// blocking work, and describes the problem if it fails.
    #[must_use]
    pub fn new(make_tls: impl Fn() -> Result<ClientConfig, String> + Send + Sync + 'static) -> Self {
        let make_tls = Box::new(make_tls);
        let shared = HttpClientPool { make_tls, tls: OnceLock::new(), clients: Mutex::default() };
        Self { shared: Arc::new(shared), jitter_source: random_fraction }
    }

    /// Replaces the random source of the retry jitter. `fraction` returns numbers from 0 to 1.
    #[must_use]
    pub fn with_jitter_source(self, fraction: fn() -> f64) -> Self {
        Self { jitter_source: fraction, ..self }
    }

    /// Returns a random number from 0 to 1 for the retry jitter.
    pub(crate) fn jitter_fraction(&self) -> f64 {
        (self.jitter_source)()
    }

    /// Posts a body and returns the response when its headers have arrived, whatever its status.
    ///
    /// # Errors
    /// [`AttemptFailure`] if there is no response.
    pub(crate) async fn post(
        &self,
        config: &ProviderConfig,
        what: PreparedRequest,
    ) -> Result<reqwest::Response, AttemptFailure> {
        let client = self.client(config, &what.url).await?;
        let json = HeaderValue::from_static("application/json");
        let stream = HeaderValue::from_static("text/event-stream, application/json");
        let mut headers = what.headers;
        headers.insert(header::CONTENT_TYPE, json);
        headers.insert(header::ACCEPT, stream);
        override_headers(&mut headers, &config.headers);
        let request = client.post(what.url.clone()).headers(headers).body(what.body);
        request.send().await.map_err(|error| transport_failure(config, &what.url, &error))
    }

    /// Sends a GET request and returns the response when its headers have arrived, whatever its status.
    ///
    /// # Errors
    /// [`AttemptFailure`] if there is no response.
    pub(crate) async fn get(
        &self,
        config: &ProviderConfig,
        url: Url,
        mut headers: HeaderMap,
    ) -> Result<reqwest::Response, AttemptFailure> {
        let client = self.client(config, &url).await?;
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        override_headers(&mut headers, &config.headers);
        let request = client.get(url.clone()).headers(headers);
        request.send().await.map_err(|error| transport_failure(config, &url, &error))
    }

    async fn client(&self, config: &ProviderConfig, url: &Url) -> Result<Client, AttemptFailure> {
        let kind = HttpClientKey { secure: url.scheme() == "https", connect: config.timeouts.connect };
        let made =
            self.shared.clients.lock().iter().find(|(k, _)| *k == kind).map(|(_, client)| client.clone());
        if let Some(client) = made {
            return Ok(client);
        }
        let tls = if kind.secure { self.tls().await } else { empty_trust_config() };
        let client = tls.and_then(|tls| build_client(kind, tls).map_err(|error| error.to_string()));
        let client = client.map_err(|problem| transport_failure::setup_failure(config, &problem))?;
        let mut clients = self.shared.clients.lock();
        if clients.len() >= MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push((kind, client.clone()));
        Ok(client)
    }

    /// Returns the TLS settings, and tries again after a failure.
    async fn tls(&self) -> Result<ClientConfig, String> {
        if let Some(tls) = self.shared.tls.get() {
            return Ok(tls.clone());
        }
        let shared = Arc::clone(&self.shared);
        let made = tokio::task::spawn_blocking(move || (shared.make_tls)()).await;
        let mut tls = made.unwrap_or_else(|error| Err(error.to_string()))?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(self.shared.tls.get_or_init(|| tls).clone())
    }
}

/// Adds the owner's headers, which replace ours.
fn override_headers(headers: &mut HeaderMap, with: &HeaderMap) {
    for name in with.keys() {
        headers.remove(name);
    }
    for (name, value) in with {
        headers.append(name.clone(), value.clone());
    }
}

fn build_client(kind: HttpClientKey, tls: ClientConfig) -> reqwest::Result<Client> {
    Client::builder()
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls)
        .connect_timeout(kind.connect)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .tcp_keepalive(KEEP_ALIVE_INTERVAL)
        .tcp_nodelay(true)
        .build()
}

/// TLS settings for plain http. They avoid loading the system's certificate authorities.
fn empty_trust_config() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}
