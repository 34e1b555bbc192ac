//! A separate gateway for each test, and an HTTP client that sends exactly the given bytes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use toolway_gateway::{
    ApplySettingsError, Gateway, GatewayOptions, GatewayStartError, Settings, SettingsOrigin, ToolEnv,
};
use toolway_types::Clock;

/// Start of each test's clock: 2023-11-14 22:13:20 UTC.
pub(crate) const NOW: i64 = 1_700_000_000_000;

/// A clock that changes only when it is set.
#[derive(Debug, Clone)]
pub(crate) struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) struct GatewayHarness {
    pub(crate) gateway: Gateway,
    pub(crate) clock: ManualClock,
    pub(crate) dir: TempDir,
    pub(crate) owner: String,
}

impl GatewayHarness {
    pub(crate) async fn new() -> Self {
        Self::with(json!({})).await
    }

    /// Starts a gateway with these settings over the defaults.
    pub(crate) async fn with(settings: Value) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), settings).await
    }

    pub(crate) async fn in_folder(dir: TempDir, settings: Value) -> Self {
        Self::with_origin(dir, settings, SettingsOrigin::default()).await
    }

    /// Starts a gateway with these settings and their location.
    pub(crate) async fn with_origin(dir: TempDir, settings: Value, origin: SettingsOrigin) -> Self {
        let clock = ManualClock(Arc::new(AtomicI64::new(NOW)));
        let gateway = start(&dir, &settings, origin, &clock).await.unwrap();
        let owner = owner_token(dir.path());
        Self { gateway, clock, dir, owner }
    }

    /// Returns the error of a gateway that does not start with these settings.
    pub(crate) async fn expect_start_error(settings: Value) -> GatewayStartError {
        let clock = ManualClock(Arc::new(AtomicI64::new(NOW)));
        let dir = tempfile::tempdir().unwrap();
        start(&dir, &settings, SettingsOrigin::default(), &clock).await.expect_err("refused")
    }

    pub(crate) async fn restart(self, settings: Value) -> Self {
        self.gateway.shut_down().await;
        Self::in_folder(self.dir, settings).await
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.gateway.app().address.local
    }

    /// Sends a request with the usual headers.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> HttpAnswer {
        let mut headers = vec![("Host".to_owned(), self.address().to_string())];
        headers.extend(token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))));
        let body = body.map(|body| body.to_string());
        if body.is_some() {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        self.send_raw(method, path, &headers, body.as_deref().unwrap_or_default()).await
    }

    pub(crate) async fn send_as_owner(&self, method: &str, path: &str, body: Option<Value>) -> HttpAnswer {
        self.send(method, path, Some(&self.owner), body).await
    }

    /// Sends a request with exactly these headers, and a length if it has a body.
    pub(crate) async fn send_raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> HttpAnswer {
        let stream = TcpStream::connect(self.address()).await.unwrap();
        exchange(stream, method, path, headers, body).await
    }

    /// Calls a tool and returns the outcome. The request must be valid.
    pub(crate) async fn call(&self, token: &str, name: &str, args: Value) -> Value {
        let path = format!("/api/tools/{name}/call");
        let answer = self.send("POST", &path, Some(token), Some(json!({"args": args}))).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Creates a token of this role.
    pub(crate) async fn create_token(&self, role: &str) -> CreatedToken {
        if role == "owner" {
            return CreatedToken { id: "owner".to_owned(), token: self.owner.clone() };
        }
        self.create(json!({"role": role})).await
    }

    /// Creates a client token that is bound to an agent, and creates the agent if necessary.
    pub(crate) async fn create_agent_token(&self, agent: &str) -> CreatedToken {
        let path = format!("/api/agents/{agent}");
        if self.send_as_owner("GET", &path, None).await.status == 404 {
            assert_eq!(self.send_as_owner("PUT", &path, Some(json!({}))).await.status, 201);
        }
        self.create(json!({"role": "client", "agent": agent})).await
    }

    async fn create(&self, token: Value) -> CreatedToken {
        let made = self.send_as_owner("POST", "/api/tokens", Some(token)).await;
        assert_eq!(made.status, 201, "{made:?}");
        CreatedToken { id: made.text("id"), token: made.text("token") }
    }

    /// Applies other settings, as after a change of the file.
    pub(crate) async fn apply(&self, settings: Value) -> Result<(), ApplySettingsError> {
        self.gateway.apply(&read(&settings), SettingsOrigin::default()).await
    }

    pub(crate) async fn create_code(&self, body: Value) -> HttpAnswer {
        let made = self.send_as_owner("POST", "/api/pair", Some(body)).await;
        assert_eq!(made.status, 201, "{made:?}");
        made
    }

    pub(crate) async fn pair(&self, code: &str, body: &str) -> HttpAnswer {
        let headers =
            [("Host".to_owned(), self.address().to_string()), ("X-Pairing-Code".to_owned(), code.to_owned())];
        self.send_raw("POST", "/pair", &headers, body).await
    }
}

fn read(settings: &Value) -> Settings {
    let mut settings = settings.clone();
    settings.as_object_mut().unwrap().entry("listen").or_insert(json!("127.0.0.1:0"));
    serde_json::from_value(settings).unwrap()
}

async fn start(
    dir: &TempDir,
    settings: &Value,
    origin: SettingsOrigin,
    clock: &ManualClock,
) -> Result<Gateway, GatewayStartError> {
    Gateway::start(GatewayOptions {
        settings: read(settings),
        origin,
        tool_env: ToolEnv::default(),
        data_dir: dir.path().to_owned(),
        host_names: vec!["box".to_owned()],
        clock: Arc::new(clock.clone()),
    })
    .await
}

pub(crate) struct CreatedToken {
    pub(crate) id: String,
    pub(crate) token: String,
}

pub(crate) fn owner_token(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("owner.token")).unwrap().trim().to_owned()
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn text(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap_or_else(|| panic!("no {field}: {self:?}")).to_owned()
    }

    /// Returns the code of an error, which must have the common format.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        let error = body["error"].as_object().unwrap_or_else(|| panic!("no error: {self:?}"));
        assert!(!error["message"].as_str().unwrap().is_empty(), "{self:?}");
        assert!(error.get("hint").is_none_or(|hint| !hint.as_str().unwrap().is_empty()), "{self:?}");
        assert_eq!(body.as_object().unwrap().len(), 1, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        error["code"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: &str,
) -> HttpAnswer {
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    request.push_str("Connection: close\r\n\r\n");
    request.push_str(body);
    // An error may arrive before the whole body has been sent.
    let _ = stream.write_all(request.as_bytes()).await;
    read_answer(stream).await
}

/// Reads until the peer closes the connection.
pub(crate) async fn read_answer(mut stream: impl AsyncRead + Unpin) -> HttpAnswer {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let read = tokio::time::timeout(Duration::from_secs(30), read).await.expect("an answer in time");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {read:?} {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { decode_chunked(body) } else { body.to_owned() };
    HttpAnswer { status, head: head.to_owned(), body }
}

fn decode_chunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        whole.push_str(&rest[..size]);
        text = &rest[size + 2..];
    }
    whole
}
