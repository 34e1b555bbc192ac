//! An MCP client over HTTP, written only from the MCP specification (https://modelcontextprotocol.io). It
//! records received messages byte for byte, and supports the versions with and without a handshake.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;

use crate::with_timeout;

/// The version without a handshake.
pub const MODERN_VERSION: &str = "2026-07-28";
/// The versions with a handshake.
pub const LEGACY_VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

const META_PREFIX: &str = "io.modelcontextprotocol/";
const MAX_ROUNDS: usize = 8;

/// Address and credentials of an MCP server.
#[derive(Debug, Clone)]
pub struct McpServerAddress {
    /// Address of the server.
    pub address: SocketAddr,
    /// Path of the endpoint.
    pub path: String,
    /// Bearer token, if the server requires one.
    pub token: Option<String>,
}

impl McpServerAddress {
    /// Parses a URL such as `http://127.0.0.1:1234/mcp`.
    ///
    /// # Panics
    /// If the URL does not have this form.
    #[must_use]
    pub fn from_url(url: &str, token: Option<&str>) -> Self {
        let rest = url.strip_prefix("http://").unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        Self { address: address.parse().unwrap(), path: format!("/{path}"), token: token.map(str::to_owned) }
    }

    /// Sends a POST with these headers in addition to the default ones, which they override.
    ///
    /// # Panics
    /// If the server does not respond.
    pub async fn post(&self, headers: &[(&str, &str)], body: String) -> McpHttpReply {
        self.send("POST", headers, body).await
    }

    /// Sends a request.
    ///
    /// # Panics
    /// If the server does not respond.
    pub async fn send(&self, method: &str, headers: &[(&str, &str)], body: String) -> McpHttpReply {
        let sending = async {
            let stream = TcpStream::connect(self.address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
            let connection = tokio::spawn(async move {
                // Errors show in the response.
                let _ = connection.await;
            });
            let mut all: BTreeMap<String, String> = [
                ("host".to_owned(), self.address.to_string()),
                ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
                ("content-type".to_owned(), "application/json".to_owned()),
            ]
            .into();
            all.extend(
                self.token.iter().map(|token| ("authorization".to_owned(), format!("Bearer {token}"))),
            );
            all.extend(headers.iter().map(|(name, value)| (name.to_lowercase(), (*value).to_owned())));
            let mut request = Request::builder().method(method).uri(&self.path);
            for (name, value) in all {
                request = request.header(name, value);
            }
            let request = request.body(Full::new(Bytes::from(body))).unwrap();
            let response = sender.send_request(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let kind = parts.headers.get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
            let is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
            McpHttpReply {
                status: parts.status.as_u16(),
                headers: parts.headers,
                body,
                is_stream,
                buffer: Vec::new(),
                is_ended: false,
                _connection: HttpConnectionTask(connection),
            }
        };
        with_timeout("an answer over MCP", sending).await
    }
}

/// Ends with the reader of its response, like a client's connection.
#[derive(Debug)]
struct HttpConnectionTask(tokio::task::JoinHandle<()>);

impl Drop for HttpConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Response of a server: one message or a stream.
#[derive(Debug)]
pub struct McpHttpReply {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: hyper::HeaderMap,
    body: Incoming,
    is_stream: bool,
    buffer: Vec<u8>,
    is_ended: bool,
    _connection: HttpConnectionTask,
}

impl McpHttpReply {
    /// Returns a header.
    ///
    /// # Panics
    /// If it is not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns the next message; `None` at the end.
    pub async fn next_message(&mut self) -> Option<String> {
        with_timeout("a message over MCP", self.next_message_unbounded()).await
    }

    /// Returns the next message without a timeout.
    pub async fn next_message_unbounded(&mut self) -> Option<String> {
        loop {
            if let Some(message) = self.take_buffered_message() {
                if message.is_empty() {
                    // The event that contains only its id.
                    continue;
                }
                return Some(message);
            }
            if self.is_ended {
                return None;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(_)) | None => self.is_ended = true,
            }
        }
    }

    /// Returns the rest as text.
    pub async fn text(mut self) -> String {
        while !self.is_ended {
            match with_timeout("the rest of an answer", self.body.frame()).await {
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(_)) | None => self.is_ended = true,
            }
        }
        String::from_utf8_lossy(&self.buffer).into_owned()
    }

    fn take_buffered_message(&mut self) -> Option<String> {
        if !self.is_stream {
            let whole = self.is_ended && !self.buffer.is_empty();
            return whole.then(|| String::from_utf8(std::mem::take(&mut self.buffer)).unwrap());
        }
        let end = self.buffer.windows(2).position(|two| two == b"\n\n")?;
        let event: Vec<u8> = self.buffer.drain(..end + 2).collect();
        let event = String::from_utf8(event).unwrap();
        let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
        Some(data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n"))
    }
}

/// Result of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct McpExchange {
    /// Status code of the last response.
    pub status: u16,
    /// Notifications before the result: method and parameters.
    pub notifications: Vec<(String, Value)>,
    /// Requests of the server before the result: method and parameters.
    pub server_requests: Vec<(String, Value)>,
    /// The result or the error, byte for byte.
    pub raw: String,
}

impl McpExchange {
    /// Returns the result or the error.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.raw).unwrap()
    }
}

/// An MCP client.
#[derive(Debug)]
pub struct McpTestClient {
    server: McpServerAddress,
    version: String,
    session: Option<String>,
    next_id: u64,
    capabilities: Value,
    /// Log level that it requests in version 2026-07-28.
    pub log_level: Option<&'static str>,
}

impl McpTestClient {
    /// Connects with all capabilities. Also returns the server's response.
    pub async fn connect(place: McpServerAddress, version: &str) -> (Self, McpExchange) {
        let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        Self::connect_as(place, version, capabilities).await
    }

    /// Connects with these capabilities.
    pub async fn connect_as(
        place: McpServerAddress,
        version: &str,
        capabilities: Value,
    ) -> (Self, McpExchange) {
        let mut client = Self {
            server: place,
            version: version.to_owned(),
            session: None,
            next_id: 0,
            capabilities,
            log_level: None,
        };
        let hello = if client.is_modern() {
            client.request("server/discover", json!({})).await
        } else {
            let params = json!({
                "protocolVersion": version,
                "capabilities": client.capabilities,
                "clientInfo": {"name": "differential", "version": "1"}
            });
            let hello = client.request("initialize", params).await;
            client.notify("notifications/initialized", json!({})).await;
            hello
        };
        (client, hello)
    }

    /// Returns true if it uses the version without a handshake.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.version == MODERN_VERSION
    }

    /// Returns its MCP session id.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Sends a request, answers requests of the server, and returns the result.
    ///
    /// # Panics
    /// If there is no result.
    pub async fn request(&mut self, method: &str, params: Value) -> McpExchange {
        let (mut said, mut asked) = (Vec::new(), Vec::new());
        let mut params = params;
        for _ in 0..MAX_ROUNDS {
            let (_, mut reply) = self.open(method, params.clone()).await;
            self.store_session(&reply);
            let raw = loop {
                let message = reply.next_message().await;
                let message = message.unwrap_or_else(|| panic!("no answer to {method}: {}", reply.status));
                let parsed: Value = serde_json::from_str(&message).unwrap();
                match (parsed.get("method").and_then(Value::as_str), parsed.get("id")) {
                    (Some(method), Some(id)) => {
                        asked.push((method.to_owned(), parsed["params"].clone()));
                        let answer =
                            json!({"jsonrpc": "2.0", "id": id, "result": answer_server_request(method)});
                        self.server.post(&self.headers(None, None), answer.to_string()).await.text().await;
                    }
                    (Some(method), None) => said.push((method.to_owned(), parsed["params"].clone())),
                    (None, _) => break extract_outcome(&message),
                }
            };
            let result: Value = serde_json::from_str(&raw).unwrap();
            if result["resultType"] != "input_required" {
                return McpExchange {
                    status: reply.status,
                    notifications: said,
                    server_requests: asked,
                    raw,
                };
            }
            let mut answers = Map::new();
            for (key, question) in result["inputRequests"].as_object().unwrap() {
                let method = question["method"].as_str().unwrap();
                asked.push((method.to_owned(), question["params"].clone()));
                answers.insert(key.clone(), answer_server_request(method));
            }
            params["inputResponses"] = Value::Object(answers);
            params.as_object_mut().unwrap().remove("requestState");
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
        panic!("{method} asks without end");
    }

    /// Sends a request. Returns its id and the response stream.
    pub async fn open(&mut self, method: &str, params: Value) -> (u64, McpHttpReply) {
        self.next_id += 1;
        let params = self.with_meta(params);
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
            _ => None,
        };
        let body = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        let headers = self.headers(Some(method), name);
        (self.next_id, self.server.post(&headers, body.to_string()).await)
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> u16 {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let reply = self.server.post(&self.headers(Some(method), None), body.to_string()).await;
        reply.status
    }

    /// Opens the stream with messages that belong to no request, in versions with a handshake.
    pub async fn listen(&self) -> McpHttpReply {
        self.server.send("GET", &self.headers(None, None), String::new()).await
    }

    /// Ends its MCP session.
    pub async fn close(&self) -> u16 {
        self.server.send("DELETE", &self.headers(None, None), String::new()).await.status
    }

    /// Returns the entries of all pages of a list, byte for byte.
    ///
    /// # Panics
    /// If it can't be listed.
    pub async fn list(&mut self, method: &str, key: &str) -> Vec<String> {
        let (mut entries, mut params) = (Vec::new(), json!({}));
        loop {
            let page = self.request(method, params.clone()).await;
            let parts: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&page.raw).unwrap();
            let items = parts.get(key).unwrap_or_else(|| panic!("{method}: {}", page.raw));
            let items: Vec<Box<RawValue>> = serde_json::from_str(items.get()).unwrap();
            entries.extend(items.iter().map(|item| item.get().to_owned()));
            match page.json().get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => return entries,
            }
        }
    }

    fn headers<'a>(&'a self, method: Option<&'a str>, name: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
        let mut headers = Vec::new();
        if self.is_modern() {
            headers.extend(method.map(|method| ("mcp-method", method)));
            headers.extend(name.map(|name| ("mcp-name", name)));
        }
        if self.is_modern() || self.session.is_some() {
            headers.push(("mcp-protocol-version", self.version.as_str()));
        }
        headers.extend(self.session.iter().map(|session| ("mcp-session-id", session.as_str())));
        headers
    }

    fn with_meta(&self, mut params: Value) -> Value {
        if self.is_modern() {
            let meta = &mut params["_meta"];
            meta[format!("{META_PREFIX}protocolVersion")] = json!(self.version);
            meta[format!("{META_PREFIX}clientInfo")] = json!({"name": "differential", "version": "1"});
            meta[format!("{META_PREFIX}clientCapabilities")] = self.capabilities.clone();
            if let Some(level) = self.log_level {
                meta[format!("{META_PREFIX}logLevel")] = json!(level);
            }
        }
        params
    }

    fn store_session(&mut self, reply: &McpHttpReply) {
        if let Some(session) = reply.header("mcp-session-id") {
            self.session = Some(session.to_owned());
        }
    }
}

/// Returns the value of `result` or `error`, byte for byte; an error in an object with this name.
fn extract_outcome(message: &str) -> String {
    let parts: BTreeMap<String, Box<RawValue>> = serde_json::from_str(message).unwrap();
    match (parts.get("result"), parts.get("error")) {
        (Some(result), _) => result.get().to_owned(),
        (None, Some(error)) => format!(r#"{{"error":{}}}"#, error.get()),
        (None, None) => panic!("neither result nor error: {message}"),
    }
}

/// Returns the answer of a person or their program.
fn answer_server_request(method: &str) -> Value {
    match method {
        "elicitation/create" => json!({
            "action": "accept",
            "content": {"name": "Alice", "color": "blue", "ok": true, "confirm": true}
        }),
        "sampling/createMessage" => json!({
            "role": "assistant",
            "content": {"type": "text", "text": "Paris"},
            "model": "a-model",
            "stopReason": "endTurn"
        }),
        "roots/list" => json!({"roots": [{"uri": "file:///home/alice", "name": "Home"}]}),
        other => panic!("asked for {other}"),
    }
}
