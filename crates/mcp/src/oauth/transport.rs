//! The HTTP client for authorization servers: size and time are limited, redirects with secrets are refused, and
//! proxy settings of the environment are ignored.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use reqwest::{Client, Method, Url};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};
use toolway_net::{DnsResolver, SystemResolver};

use super::address::{is_loopback, origin};
use super::address_guard::{AddressGuard, ForbiddenAddress};
use super::error::{OauthError, sanitize};
use super::well_known::issuer_metadata_urls;

const USER_AGENT: &str = concat!("toolway/", env!("CARGO_PKG_VERSION"));
/// Timeout of a request, from connecting to the last byte.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response, in bytes.
pub(super) const MAX_BODY: usize = 256 << 10;
/// Maximum number of redirects within one origin, for requests without secrets.
const MAX_REDIRECTS: usize = 3;

type TlsConfigFactory = dyn Fn() -> Result<ClientConfig, String> + Send + Sync;

/// An HTTP client for authorization servers. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct OauthHttpClient {
    shared: Arc<OauthHttpClientInner>,
}

struct OauthHttpClientInner {
    tls: Arc<LazyTlsConfig>,
    resolver: Arc<dyn DnsResolver>,
    /// Addresses that requests may reach; `None` for addresses that the owner chose.
    guard: Option<AddressGuard>,
    plain: Mutex<Option<Client>>,
    secure: Mutex<Option<Client>>,
}

/// TLS settings, created for the first https request.
struct LazyTlsConfig {
    make: Box<TlsConfigFactory>,
    config: OnceLock<ClientConfig>,
}

impl fmt::Debug for OauthHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OauthHttpClient")
    }
}

/// A response with its complete body.
#[derive(Debug)]
pub(super) struct BufferedResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl OauthHttpClient {
    /// Creates a client with the TLS settings of `make_tls`. It is called on a blocking thread for the first https
    /// request; its error is a message.
    #[must_use]
    pub fn new(make_tls: impl Fn() -> Result<ClientConfig, String> + Send + Sync + 'static) -> Self {
        let tls = LazyTlsConfig { make: Box::new(make_tls), config: OnceLock::new() };
        Self::from_parts(Arc::new(tls), Arc::new(SystemResolver::default()), None)
    }

    /// Replaces the resolver of host names.
    #[must_use]
    pub fn with_resolver(&self, resolver: Arc<dyn DnsResolver>) -> Self {
        Self::from_parts(Arc::clone(&self.shared.tls), resolver, None)
    }

    /// Creates a client for addresses that this MCP server or its authorization server names. It reaches only public
    /// addresses, the server's own host, and the kinds of addresses that the server itself has.
    #[must_use]
    pub(super) fn for_server(&self, server: &Url) -> Self {
        let resolver = Arc::clone(&self.shared.resolver);
        let guard = AddressGuard::new(server, Arc::clone(&resolver));
        Self::from_parts(Arc::clone(&self.shared.tls), resolver, Some(guard))
    }

    fn from_parts(
        tls: Arc<LazyTlsConfig>,
        resolver: Arc<dyn DnsResolver>,
        guard: Option<AddressGuard>,
    ) -> Self {
        let (plain, secure) = (Mutex::default(), Mutex::default());
        Self { shared: Arc::new(OauthHttpClientInner { tls, resolver, guard, plain, secure }) }
    }

    /// Fetches a document of an authorization server from an https or loopback address.
    ///
    /// # Errors
    /// [`OauthError`] if there is none.
    pub async fn document(&self, address: &str) -> Result<Bytes, OauthError> {
        // The caller decides about loopback addresses.
        let url = Url::parse(address).ok().filter(|it| it.scheme() == "https" || is_loopback(it));
        let url = url.ok_or_else(|| OauthError::Address {
            what: "the document",
            address: sanitize(address),
            why: "it must be https",
        })?;
        let answer = self.get(&url).await?;
        if !answer.status.is_success() {
            return Err(bad_answer(&url, &format!("it answers with {}", answer.status.as_u16())));
        }
        Ok(answer.body)
    }

    /// The well-known addresses of an issuer's metadata.
    #[must_use]
    pub fn issuer_metadata_urls(issuer: &str) -> Vec<String> {
        let places = Url::parse(issuer).map(|url| issuer_metadata_urls(&url)).unwrap_or_default();
        places.into_iter().map(String::from).collect()
    }

    /// Sends a GET request. Follows a few redirects within the origin, since the request contains no secrets.
    pub(super) async fn get(&self, url: &Url) -> Result<BufferedResponse, OauthError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send(Method::GET, &url, HeaderMap::new(), None).await?;
            if !answer.status.is_redirection() {
                return Ok(answer);
            }
            let to = answer.headers.get(http::header::LOCATION).and_then(|it| it.to_str().ok());
            match to.and_then(|to| url.join(to).ok()) {
                Some(to) if to.origin() == url.origin() => url = to,
                _ => {
                    return Err(bad_answer(
                        &url,
                        "it redirects to another host; such redirects are not followed",
                    ));
                }
            }
        }
        Err(bad_answer(&url, "it redirects too often"))
    }

    /// Sends a POST request. A redirect is an error, since the body may contain secrets.
    pub(super) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: String,
    ) -> Result<BufferedResponse, OauthError> {
        let answer = self.send(Method::POST, url, headers, Some(body)).await?;
        if answer.status.is_redirection() {
            return Err(bad_answer(url, "it redirects; requests with secrets do not follow redirects"));
        }
        Ok(answer)
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<String>,
    ) -> Result<BufferedResponse, OauthError> {
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        headers.entry(http::header::ACCEPT).or_insert(http::HeaderValue::from_static("application/json"));
        let mut request = self.client(url).await?.request(method, url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let late = |_| unreachable(url, format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()));
        let mut response = timeout_at(deadline, request.send())
            .await
            .map_err(late)?
            .map_err(|e| transport_error(url, &e))?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut body = Vec::new();
        while let Some(chunk) = timeout_at(deadline, response.chunk())
            .await
            .map_err(late)?
            .map_err(|e| transport_error(url, &e))?
        {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(bad_answer(url, &format!("its answer is longer than {MAX_BODY} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(BufferedResponse { status, headers, body: body.into() })
    }

    /// Sends a POST request and returns only status and headers: the body may never end.
    pub(super) async fn post_head(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: String,
    ) -> Result<(StatusCode, HeaderMap), OauthError> {
        let request = self.client(url).await?.post(url.clone()).headers(headers).body(body);
        let sent = tokio::time::timeout(REQUEST_TIMEOUT, request.send()).await;
        let mut response = sent
            .map_err(|_| unreachable(url, format!("no answer within {} s", REQUEST_TIMEOUT.as_secs())))?
            .map_err(|error| transport_error(url, &error))?;
        Ok((response.status(), std::mem::take(response.headers_mut())))
    }

    async fn client(&self, url: &Url) -> Result<Client, OauthError> {
        let guard = self.shared.guard.as_ref();
        if let Some(guard) = guard {
            guard.check_literal(url).await.map_err(|error| forbidden(url, error))?;
        }
        let secure = url.scheme() == "https";
        let kept = if secure { &self.shared.secure } else { &self.shared.plain };
        let made = kept.lock().clone();
        if let Some(client) = made {
            return Ok(client);
        }
        let tls = if secure { self.tls().await } else { empty_tls_config() };
        let client = tls.and_then(|tls| build(tls, guard).map_err(|error| error.to_string()));
        let client = client.map_err(|problem| unreachable(url, problem))?;
        Ok(kept.lock().get_or_insert(client).clone())
    }

    /// Returns the TLS settings. After a failure, the next call creates them again.
    async fn tls(&self) -> Result<ClientConfig, String> {
        if let Some(tls) = self.shared.tls.config.get() {
            return Ok(tls.clone());
        }
        let shared = Arc::clone(&self.shared.tls);
        let made = tokio::task::spawn_blocking(move || (shared.make)()).await;
        let mut tls = made.unwrap_or_else(|error| Err(error.to_string()))?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(self.shared.tls.config.get_or_init(|| tls).clone())
    }
}

fn build(tls: ClientConfig, guard: Option<&AddressGuard>) -> reqwest::Result<Client> {
    let mut builder = Client::builder();
    if let Some(guard) = guard {
        builder = builder.dns_resolver(guard.clone());
    }
    builder
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .tcp_nodelay(true)
        .build()
}

/// TLS settings without certificates for plain http, to avoid loading the system's certificates.
fn empty_tls_config() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// The address without its query, which may contain secrets.
pub(super) fn without_query(url: &Url) -> String {
    format!("{}{}", origin(url), url.path())
}

pub(super) fn bad_answer(url: &Url, problem: &str) -> OauthError {
    OauthError::BadAnswer { url: without_query(url), problem: problem.to_owned() }
}

fn unreachable(url: &Url, problem: String) -> OauthError {
    OauthError::Unreachable { url: without_query(url), problem }
}

/// Error for an address that the server must not make the gateway reach.
fn forbidden(url: &Url, error: ForbiddenAddress) -> OauthError {
    OauthError::Address { what: "the address", address: sanitize(&without_query(url)), why: error.0 }
}

/// Reports only the innermost cause: the outer errors contain the complete address.
fn transport_error(url: &Url, error: &reqwest::Error) -> OauthError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
        if let Some(error) = deeper.downcast_ref::<ForbiddenAddress>() {
            return forbidden(url, *error);
        }
    }
    let problem =
        if std::ptr::addr_eq(cause, error) { "the connection failed".to_owned() } else { cause.to_string() };
    unreachable(url, problem)
}
