//! HTTP to authorization servers: bounded in size and time, never redirected, without proxies of the environment.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use reqwest::{Client, Method, Url};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};

use super::address::{is_loopback, origin};
use super::error::{OauthError, sanitize};
use super::well_known::issuer_metadata_urls;

/// What the client calls itself.
const USER_AGENT: &str = concat!("toolway/", env!("CARGO_PKG_VERSION"));
/// How long an exchange may take, from connecting to the last byte.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// No document or answer is larger, in bytes.
pub(super) const MAX_BODY: usize = 256 << 10;
/// How often a document that is fetched without secrets may move within its origin.
const MAX_REDIRECTS: usize = 3;

type TlsConfigFactory = dyn Fn() -> Result<ClientConfig, String> + Send + Sync;

/// The client. Cheap to clone; all clones share their connections.
#[derive(Clone)]
pub struct OauthHttpClient {
    shared: Arc<OauthHttpClientInner>,
}

struct OauthHttpClientInner {
    make_tls: Box<TlsConfigFactory>,
    tls: OnceLock<ClientConfig>,
    plain: Mutex<Option<Client>>,
    secure: Mutex<Option<Client>>,
}

impl fmt::Debug for OauthHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OauthHttp")
    }
}

/// An answer, read whole.
#[derive(Debug)]
pub(super) struct BufferedResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl OauthHttpClient {
    /// Trusts whom the TLS settings trust that `make_tls` makes. It is called when an https address is first asked,
    /// on a thread for blocking work, and says in words what is wrong where it can't.
    #[must_use]
    pub fn new(make_tls: impl Fn() -> Result<ClientConfig, String> + Send + Sync + 'static) -> Self {
        let shared = OauthHttpClientInner {
            make_tls: Box::new(make_tls),
            tls: OnceLock::new(),
            plain: Mutex::default(),
            secure: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A document of an authorization server at an https address, or on this computer.
    ///
    /// # Errors
    /// [`OauthError`] where there is none.
    pub async fn document(&self, address: &str) -> Result<Bytes, OauthError> {
        // Whoever hands in an address decides whether it may be on this computer.
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

    /// Where the metadata of an issuer may stand.
    #[must_use]
    pub fn issuer_metadata_urls(issuer: &str) -> Vec<String> {
        let places = Url::parse(issuer).map(|url| issuer_metadata_urls(&url)).unwrap_or_default();
        places.into_iter().map(String::from).collect()
    }

    /// Asks for a document. A redirect within the origin is followed a few times, since nothing secret goes with it.
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
                _ => return Err(bad_answer(&url, "it redirects to another host, which is not followed")),
            }
        }
        Err(bad_answer(&url, "it redirects too often"))
    }

    /// Sends a body. What answers with a redirect is told so, since secrets may be in it.
    pub(super) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: String,
    ) -> Result<BufferedResponse, OauthError> {
        let answer = self.send(Method::POST, url, headers, Some(body)).await?;
        if answer.status.is_redirection() {
            return Err(bad_answer(url, "it redirects, which is not followed with secrets"));
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

    /// Sends a body and gives status and headers alone: what follows may never end.
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
        let secure = url.scheme() == "https";
        let kept = if secure { &self.shared.secure } else { &self.shared.plain };
        let made = kept.lock().clone();
        if let Some(client) = made {
            return Ok(client);
        }
        let tls = if secure { self.tls().await } else { empty_tls_config() };
        let client = tls.and_then(|tls| build(tls).map_err(|error| error.to_string()));
        let client = client.map_err(|problem| unreachable(url, problem))?;
        Ok(kept.lock().get_or_insert(client).clone())
    }

    /// The TLS settings; made again after a failure.
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

fn build(tls: ClientConfig) -> reqwest::Result<Client> {
    Client::builder()
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

/// For plain http, so that nobody reads the computer's authorities for it.
fn empty_tls_config() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// An address as it is shown: without its query, which may hold what others should not see.
pub(super) fn without_query(url: &Url) -> String {
    format!("{}{}", origin(url), url.path())
}

pub(super) fn bad_answer(url: &Url, problem: &str) -> OauthError {
    OauthError::BadAnswer { url: without_query(url), problem: problem.to_owned() }
}

fn unreachable(url: &Url, problem: String) -> OauthError {
    OauthError::Unreachable { url: without_query(url), problem }
}

/// The innermost cause: what is above it only says that a request failed, and names its address whole.
fn transport_error(url: &Url, error: &reqwest::Error) -> OauthError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let problem =
        if std::ptr::addr_eq(cause, error) { "the connection failed".to_owned() } else { cause.to_string() };
    unreachable(url, problem)
}
