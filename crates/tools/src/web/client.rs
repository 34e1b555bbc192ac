//! Sends requests. Each uses its own connection to addresses that were checked for it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use reqwest::header::{self, HeaderValue};
use toolway_net::DnsResolver;

use super::address_check::allowed_addresses;
use super::error::{WebError, WebErrorKind, transport_error};
use super::host_and_port::host_and_port;
use super::redirect::{MAX_REDIRECTS, apply_redirect, redirect_target};
use super::request::WebRequest;
use super::response::WebResponse;
use super::settings::WebSettings;
use super::tls::{TlsConfigFactory, empty_tls_config};

/// Value of the `User-Agent` header.
const USER_AGENT: &str = concat!("toolway/", env!("CARGO_PKG_VERSION"));

/// The client. It has no total timeout: drop the future to end the connection.
pub struct GuardedClient {
    settings: RwLock<Arc<WebSettings>>,
    tls_factory: TlsConfigFactory,
    tls: OnceLock<rustls::ClientConfig>,
    resolver: Arc<dyn DnsResolver>,
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedClient").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

impl GuardedClient {
    /// Creates a client with the TLS settings of `make_tls`.
    #[must_use]
    pub fn new(
        settings: WebSettings,
        make_tls: impl Into<TlsConfigFactory>,
        resolver: Arc<dyn DnsResolver>,
    ) -> Self {
        let settings = RwLock::new(Arc::new(settings));
        Self { settings, tls_factory: make_tls.into(), tls: OnceLock::new(), resolver }
    }

    /// Current limits.
    #[must_use]
    pub fn settings(&self) -> Arc<WebSettings> {
        Arc::clone(&self.settings.read())
    }

    /// Replaces the limits for later requests.
    pub fn set_settings(&self, settings: WebSettings) {
        *self.settings.write() = Arc::new(settings);
    }

    /// Sends a request, follows redirects and reads the response. Calls `leaving` before each part of the
    /// request that may reach a server.
    ///
    /// # Errors
    /// [`WebError`] if there is no response. A response with an error status is not an error.
    pub async fn send(
        &self,
        mut request: WebRequest,
        leaving: &(dyn Fn() + Send + Sync),
    ) -> Result<WebResponse, WebError> {
        let settings = self.settings();
        let given = request.body.as_ref().map_or(0, Vec::len);
        if given > settings.request_bytes {
            let allowed = settings.request_bytes;
            let message = format!("The request's body has {given} bytes; at most {allowed} are allowed");
            return Err(WebError::new(WebErrorKind::BadRequest, message));
        }
        let first = host_and_port(&request.url);
        for redirects in 0..=MAX_REDIRECTS {
            let hop = self.send_once(&request, &settings, leaving).await;
            let response = hop.map_err(|error| error.after_redirects(redirects, &first))?;
            match redirect_target(&response).map_err(WebError::mark_sent)? {
                None => return WebResponse::read(response, redirects, settings.body_bytes).await,
                Some(to) => {
                    apply_redirect(&mut request, response.status(), to).map_err(WebError::mark_sent)?
                }
            }
        }
        let message = format!("{first} redirects too often; {MAX_REDIRECTS} redirects were followed");
        Err(WebError::new(WebErrorKind::TooManyRedirects, message).mark_sent())
    }

    async fn send_once(
        &self,
        request: &WebRequest,
        settings: &WebSettings,
        leaving: &(dyn Fn() + Send + Sync),
    ) -> Result<reqwest::Response, WebError> {
        let addresses = allowed_addresses(request, settings, &*self.resolver).await?;
        let tls = match request.url.scheme() {
            "https" => self.tls().await,
            _ => empty_tls_config(),
        };
        let tls = tls.map_err(|problem| {
            WebError::new(WebErrorKind::Tls, format!("TLS cannot be set up on the gateway: {problem}"))
        })?;
        let client =
            pinned_client(addresses, settings, tls).map_err(|error| transport_error(&request.url, &error))?;
        let mut builder =
            client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let ready = builder.build().map_err(|error| transport_error(&request.url, &error))?;
        leaving();
        client.execute(ready).await.map_err(|error| transport_error(&request.url, &error))
    }

    /// Creates the TLS settings on a blocking thread. A failed attempt is repeated at the next request.
    async fn tls(&self) -> Result<rustls::ClientConfig, String> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.clone());
        }
        let maker = self.tls_factory.clone();
        let made = tokio::task::spawn_blocking(move || maker.make()).await;
        let mut tls = made.unwrap_or_else(|error| Err(error.to_string()))?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(self.tls.get_or_init(|| tls).clone())
    }
}

/// Creates a client that connects only to these addresses, for every name.
fn pinned_client(
    addresses: Vec<SocketAddr>,
    settings: &WebSettings,
    tls: rustls::ClientConfig,
) -> reqwest::Result<reqwest::Client> {
    let identity = HeaderValue::from_static("identity");
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .default_headers([(header::ACCEPT_ENCODING, identity)].into_iter().collect())
        .tls_backend_preconfigured(tls)
        .dns_resolver(PinnedResolver(addresses))
        .connect_timeout(settings.connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .pool_max_idle_per_host(0)
        .tcp_nodelay(true)
        .build()
}

struct PinnedResolver(Vec<SocketAddr>);

impl reqwest::dns::Resolve for PinnedResolver {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let addresses: reqwest::dns::Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}
