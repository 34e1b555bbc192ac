//! An MCP client that sends exactly the given messages, in the form of one protocol era.

use serde_json::{Value, json};
use toolway_types::RawJson;

use crate::support::{GatewayHarness, HttpAnswer};

/// Protocol era of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpEra {
    Modern,
    Nov2025,
    June2025,
    March2025,
}

impl McpEra {
    pub(crate) const ALL: [Self; 4] = [Self::Modern, Self::Nov2025, Self::June2025, Self::March2025];

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Nov2025 => "2025-11-25",
            Self::June2025 => "2025-06-18",
            Self::March2025 => "2025-03-26",
        }
    }
}

pub(crate) struct McpTestClient<'b> {
    bench: &'b GatewayHarness,
    path: String,
    token: String,
    pub(crate) era: McpEra,
    capabilities: Value,
    /// The MCP session, if the era has sessions.
    pub(crate) session: Option<String>,
    next: i64,
}

impl<'b> McpTestClient<'b> {
    /// Creates a client without capabilities.
    pub(crate) async fn at(bench: &'b GatewayHarness, path: &str, token: &str, era: McpEra) -> Self {
        Self::with(bench, path, token, era, json!({})).await
    }

    /// Creates a client with these capabilities, and initializes it if the era requires that.
    pub(crate) async fn with(
        bench: &'b GatewayHarness,
        path: &str,
        token: &str,
        era: McpEra,
        capabilities: Value,
    ) -> Self {
        let (path, token) = (path.to_owned(), token.to_owned());
        let mut client = Self { bench, path, token, era, capabilities, session: None, next: 1 };
        if era != McpEra::Modern {
            let params = json!({
                "protocolVersion": era.version(), "capabilities": client.capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            });
            let answer = client.post(&message(Some(0), "initialize", &params.to_string())).await;
            client.session = answer.header("mcp-session-id").map(str::to_owned);
            let initialized = last_message(&answer);
            assert_eq!(initialized["result"]["protocolVersion"], era.version(), "{answer:?}");
            let told = client.post(&message(None, "notifications/initialized", "{}")).await;
            assert_eq!(told.status, 202, "{told:?}");
        }
        client
    }

    /// Sends a request and returns the response.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.request_raw(method, &RawJson::from(&params)).await
    }

    /// Sends a request with unchanged parameters.
    pub(crate) async fn request_raw(&mut self, method: &str, params: &RawJson) -> Value {
        last_message(&self.send(method, params.get()).await)
    }

    /// Sends a request and returns the bytes of the response.
    pub(crate) async fn request_text(&mut self, method: &str, params: Value) -> String {
        self.send(method, &params.to_string()).await.body
    }

    /// Sends a request and returns the HTTP response.
    pub(crate) async fn send(&mut self, method: &str, params: &str) -> HttpAnswer {
        let id = self.next;
        self.next += 1;
        let params = match self.era {
            McpEra::Modern => self.with_meta(params),
            _ => params.to_owned(),
        };
        self.post(&message(Some(id), method, &params)).await
    }

    /// Adds the client's description, which a request of 2026-07-28 contains first.
    fn with_meta(&self, params: &str) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": self.era.version(),
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        let given: Value = serde_json::from_str(params).unwrap();
        if given.get("_meta").is_some() {
            let mut given = given;
            given["_meta"].as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
            return given.to_string();
        }
        let inside = params.trim_start().strip_prefix('{').unwrap();
        let comma = if inside.trim_start().starts_with('}') { "" } else { "," };
        format!(r#"{{"_meta":{meta}{comma}{inside}"#)
    }

    /// Sends a message unchanged.
    pub(crate) async fn post(&self, body: &str) -> HttpAnswer {
        let said: Value = serde_json::from_str(body).unwrap();
        let mut headers = self.headers();
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        if self.era == McpEra::Modern {
            headers.push(("Mcp-Method".to_owned(), said["method"].as_str().unwrap_or_default().to_owned()));
            let params = &said["params"];
            let name = params["name"].as_str().or(params["uri"].as_str()).or(params["taskId"].as_str());
            headers.extend(name.map(|name| ("Mcp-Name".to_owned(), name.to_owned())));
        }
        self.bench.send_raw("POST", &self.path, &headers, body).await
    }

    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![
            ("Host".to_owned(), self.bench.address().to_string()),
            ("Authorization".to_owned(), format!("Bearer {}", self.token)),
            ("Accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        if self.session.is_some() || self.era == McpEra::Modern {
            headers.push(("MCP-Protocol-Version".to_owned(), self.era.version().to_owned()));
        }
        headers.extend(self.session.clone().map(|session| ("Mcp-Session-Id".to_owned(), session)));
        headers
    }
}

fn message(id: Option<i64>, method: &str, params: &str) -> String {
    let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#)
}

/// Returns all messages of a response, in JSON or as events.
#[track_caller]
pub(crate) fn messages(answer: &HttpAnswer) -> Vec<Value> {
    if answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return vec![answer.json()];
    }
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(str::trim)
        .filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[track_caller]
fn last_message(answer: &HttpAnswer) -> Value {
    messages(answer).pop().unwrap_or_else(|| panic!("no message: {answer:?}"))
}

/// Returns the result of a response.
#[track_caller]
pub(crate) fn result(answer: &Value) -> &Value {
    assert!(answer["error"].is_null(), "{answer}");
    &answer["result"]
}
