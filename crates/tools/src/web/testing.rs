//! Shared parts of the client's tests: loopback servers with scripted replies, a scripted resolver, and a
//! test certificate authority.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use reqwest::Method;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::{
    AllowList, DnsResolver, GuardedClient, WebError, WebRequest, WebResponse, WebSettings, parse_url,
};

/// A request as the server received it.
#[derive(Debug, Clone)]
pub(crate) struct StubRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl StubRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn header_names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }
}

/// Reply of a stub server.
pub(crate) enum StubReply {
    /// Sends these bytes and closes the connection.
    Says(Vec<u8>),
    /// Sends the first bytes, then repeats the second until the peer disconnects.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends these bytes and then nothing.
    Hangs(Vec<u8>),
}

/// A reply with a body and its length.
pub(crate) fn answer(status: &str, headers: &[&str], body: &[u8]) -> StubReply {
    let mut lines = vec![format!("HTTP/1.1 {status}"), format!("Content-Length: {}", body.len())];
    lines.extend(headers.iter().map(|&header| header.to_owned()));
    let mut bytes = format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes();
    bytes.extend_from_slice(body);
    StubReply::Says(bytes)
}

pub(crate) fn redirect(status: u16, to: &str) -> StubReply {
    answer(&format!("{status} Elsewhere"), &[&format!("Location: {to}")], b"")
}

type StubHandler = dyn Fn(&StubRequest) -> StubReply + Send + Sync;

/// A server on its own port.
pub(crate) struct StubServer {
    pub(crate) address: SocketAddr,
    state: Arc<StubServerState>,
    _tasks: JoinSet<()>,
}

struct StubServerState {
    handler: Box<StubHandler>,
    tls: Option<TlsAcceptor>,
    requests: Mutex<Vec<StubRequest>>,
    written: AtomicUsize,
    connections: AtomicUsize,
    arrived: tokio::sync::Semaphore,
    disconnected: tokio::sync::Semaphore,
}

impl StubServer {
    pub(crate) async fn start(handler: impl Fn(&StubRequest) -> StubReply + Send + Sync + 'static) -> Self {
        Self::bind("127.0.0.1", None, Box::new(handler)).await
    }

    pub(crate) async fn start_at(
        ip: &str,
        handler: impl Fn(&StubRequest) -> StubReply + Send + Sync + 'static,
    ) -> Self {
        Self::bind(ip, None, Box::new(handler)).await
    }

    pub(crate) async fn start_tls(
        identity: &TestCertificate,
        handler: impl Fn(&StubRequest) -> StubReply + Send + Sync + 'static,
    ) -> Self {
        Self::bind("127.0.0.1", Some(identity.acceptor()), Box::new(handler)).await
    }

    async fn bind(ip: &str, tls: Option<TlsAcceptor>, handler: Box<StubHandler>) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(StubServerState {
            handler,
            tls,
            requests: Mutex::default(),
            written: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            arrived: tokio::sync::Semaphore::new(0),
            disconnected: tokio::sync::Semaphore::new(0),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&state)));
        Self { address, state, _tasks: tasks }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// URL with a name in place of the address.
    pub(crate) fn url_as(&self, scheme: &str, name: &str, path: &str) -> String {
        format!("{scheme}://{name}:{}{path}", self.port())
    }

    pub(crate) fn requests(&self) -> Vec<StubRequest> {
        self.state.requests.lock().clone()
    }

    #[track_caller]
    pub(crate) fn single_request(&self) -> StubRequest {
        let seen = self.requests();
        assert_eq!(seen.len(), 1, "one request: {seen:?}");
        seen.into_iter().next().unwrap()
    }

    /// Number of accepted connections.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Number of bytes sent in endless replies.
    pub(crate) fn written(&self) -> usize {
        self.state.written.load(Ordering::SeqCst)
    }

    /// Waits for a request.
    pub(crate) async fn wait_for_request(&self) {
        let arrived = tokio::time::timeout(Duration::from_secs(20), self.state.arrived.acquire()).await;
        arrived.expect("a request comes").unwrap().forget();
    }

    /// Waits until the peer of an endless or hanging reply disconnects.
    pub(crate) async fn wait_for_disconnect(&self) {
        let gone = tokio::time::timeout(Duration::from_secs(20), self.state.disconnected.acquire()).await;
        gone.expect("the connection is closed").unwrap().forget();
    }
}

async fn accept(listener: TcpListener, state: Arc<StubServerState>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        state.connections.fetch_add(1, Ordering::SeqCst);
        let state = Arc::clone(&state);
        connections.spawn(async move {
            match &state.tls {
                None => serve(stream, &state).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => serve(stream, &state).await,
                    Err(_) => Ok(()),
                },
            }
        });
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: &StubServerState) -> io::Result<()> {
    let Some(seen) = read(&mut stream).await? else { return Ok(()) };
    let reply = (state.handler)(&seen);
    state.requests.lock().push(seen);
    state.arrived.add_permits(1);
    match reply {
        StubReply::Says(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        StubReply::Hangs(bytes) => {
            stream.write_all(&bytes).await?;
            stream.flush().await?;
            let _ = stream.read(&mut [0; 16]).await;
            state.disconnected.add_permits(1);
            Ok(())
        }
        StubReply::Endless(head, again) => {
            stream.write_all(&head).await?;
            while stream.write_all(&again).await.is_ok() {
                state.written.fetch_add(again.len(), Ordering::SeqCst);
            }
            state.disconnected.add_permits(1);
            Ok(())
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<StubRequest>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            break;
        }
    }
    Ok(Some(StubRequest { method: method.to_owned(), target: target.to_owned(), headers, body }))
}

/// A resolver with scripted answers. Each answer for a name is used once, the last one repeatedly.
#[derive(Default)]
pub(crate) struct ScriptedResolver {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    queries: Mutex<Vec<String>>,
}

impl ScriptedResolver {
    pub(crate) fn of(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let parse = |ips: &&[&str]| ips.iter().map(|ip| ip.parse().unwrap()).collect();
        let answers = names
            .iter()
            .map(|(name, answers)| ((*name).to_owned(), answers.iter().map(parse).collect()))
            .collect();
        Arc::new(Self { answers: Mutex::new(answers), queries: Mutex::default() })
    }

    pub(crate) fn queries(&self) -> Vec<String> {
        self.queries.lock().clone()
    }
}

#[async_trait]
impl DnsResolver for ScriptedResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.queries.lock().push(name.to_owned());
        match self.answers.lock().get_mut(name) {
            None => Err(io::Error::other("no such name")),
            Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
            Some(answers) => Ok(answers.first().cloned().unwrap_or_default()),
        }
    }
}

/// A certificate and its key.
pub(crate) struct TestCertificate {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl TestCertificate {
    fn acceptor(&self) -> TlsAcceptor {
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        let config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![self.certificate.clone()], key.into())
                .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A certificate authority.
pub(crate) struct TestCertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl TestCertificateAuthority {
    pub(crate) fn new() -> Self {
        Self::named("Authority of the tests")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn issue(&self, name: &str) -> TestCertificate {
        self.issue_until(name, 2100)
    }

    pub(crate) fn issue_until(&self, name: &str, year: i32) -> TestCertificate {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        TestCertificate { certificate, key }
    }

    pub(crate) fn client_config(&self) -> rustls::ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        tls_trusting(roots)
    }
}

fn tls_trusting(roots: RootCertStore) -> rustls::ClientConfig {
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// TLS settings without trusted certificates.
pub(crate) fn tls() -> rustls::ClientConfig {
    tls_trusting(RootCertStore::empty())
}

pub(crate) fn allowing(entries: &[&str]) -> WebSettings {
    WebSettings { allow: AllowList::parse(entries).unwrap(), ..WebSettings::default() }
}

/// A client that may connect to loopback.
pub(crate) fn loopback_client() -> GuardedClient {
    GuardedClient::new(allowing(&["127.0.0.1"]), tls(), ScriptedResolver::of(&[]))
}

pub(crate) async fn get(client: &GuardedClient, url: &str) -> Result<WebResponse, WebError> {
    send(client, Method::GET, url, &[], None).await
}

pub(crate) async fn send(
    client: &GuardedClient,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Result<WebResponse, WebError> {
    let mut request = WebRequest::new(method, parse_url(url)?);
    for (name, value) in headers {
        super::request_header(&mut request.headers, name, value, false).unwrap();
    }
    request.body = body.map(|body| body.as_bytes().to_vec());
    client.send(request, &|| ()).await
}
