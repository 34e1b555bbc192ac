//! Prepared requests of both protocol eras, without ids.

use memchr::memmem;
use serde_json::{Value, json};

/// First id; all ids have the same number of digits.
const FIRST_ID: u64 = 1_000_000_000;

/// Protocol era of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) enum ProtocolEra {
    /// Independent requests.
    #[serde(rename = "2026-07-28")]
    Modern,
    /// Requests in an MCP session after `initialize`.
    #[serde(rename = "2025-11-25")]
    Legacy,
}

impl ProtocolEra {
    /// Returns the protocol version.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

/// An MCP endpoint.
#[derive(Debug, Clone)]
pub(crate) struct McpEndpoint {
    /// `host:port`.
    pub(crate) authority: String,
    pub(crate) path: String,
    /// The bearer token.
    pub(crate) token: Option<String>,
}

/// Creates requests for an endpoint.
#[derive(Debug, Clone)]
pub(crate) struct McpRequestBuilder {
    pub(crate) endpoint: McpEndpoint,
    pub(crate) era: ProtocolEra,
    /// MCP session, if the era has sessions.
    pub(crate) session: Option<String>,
}

/// A prepared request.
#[derive(Debug, Clone)]
pub(crate) struct PreparedMcpRequest {
    bytes: Vec<u8>,
    /// Offset of its id, if it has one.
    id_offset: Option<usize>,
    next_id: u64,
}

impl PreparedMcpRequest {
    /// Returns the bytes with the next id, and the form of this id in the response.
    pub(crate) fn next_request(&mut self) -> (&[u8], String) {
        let id = (FIRST_ID + self.next_id).to_string();
        self.next_id += 1;
        let place = self.id_offset.and_then(|at| self.bytes.get_mut(at..at + id.len()));
        if let Some(place) = place {
            place.copy_from_slice(id.as_bytes());
        }
        (&self.bytes, format!("\"id\":{id}"))
    }
}

impl McpRequestBuilder {
    /// Creates a call of a tool with a text.
    pub(crate) fn call_tool(&self, tool: &str, text: &str) -> PreparedMcpRequest {
        let params = json!({"name": tool, "arguments": {"text": text}});
        self.request("tools/call", Some(tool), params)
    }

    /// Creates a request for the first page of tools.
    pub(crate) fn list_tools(&self) -> PreparedMcpRequest {
        self.request("tools/list", None, json!({}))
    }

    /// Creates the `initialize` request.
    pub(crate) fn initialize(&self) -> PreparedMcpRequest {
        let params = json!({
            "protocolVersion": self.era.version(), "capabilities": {}, "clientInfo": client_info(),
        });
        self.request("initialize", None, params)
    }

    /// Creates the `initialized` notification.
    pub(crate) fn initialized(&self) -> PreparedMcpRequest {
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let head = self.head("POST", &format!("Content-Length: {}\r\n", body.len()));
        PreparedMcpRequest { bytes: format!("{head}{body}").into_bytes(), id_offset: None, next_id: 0 }
    }

    /// Creates the request that opens the server's event stream.
    pub(crate) fn open_stream(&self) -> Vec<u8> {
        self.head("GET", "").into_bytes()
    }

    fn request(&self, method: &str, name: Option<&str>, mut params: Value) -> PreparedMcpRequest {
        if let (ProtocolEra::Modern, Some(params)) = (self.era, params.as_object_mut()) {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": self.era.version(),
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            params.insert("_meta".to_owned(), meta);
        }
        let body = json!({"jsonrpc": "2.0", "id": FIRST_ID, "method": method, "params": params}).to_string();
        let mut more = format!("Content-Length: {}\r\n", body.len());
        if self.era == ProtocolEra::Modern {
            more.push_str(&format!("Mcp-Method: {method}\r\n"));
            more.extend(name.map(|name| format!("Mcp-Name: {name}\r\n")));
        }
        let bytes = format!("{}{body}", self.head("POST", &more)).into_bytes();
        let before = b"\"id\":";
        let id_at =
            memmem::rfind(&bytes, format!("\"id\":{FIRST_ID}").as_bytes()).map(|at| at + before.len());
        PreparedMcpRequest { bytes, id_offset: id_at, next_id: 0 }
    }

    fn head(&self, method: &str, more: &str) -> String {
        let McpEndpoint { authority, path, token } = &self.endpoint;
        let accept =
            if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nAccept: {accept}\r\n");
        if method == "POST" {
            head.push_str("Content-Type: application/json\r\n");
        }
        if self.era == ProtocolEra::Modern || self.session.is_some() {
            head.push_str(&format!("MCP-Protocol-Version: {}\r\n", self.era.version()));
        }
        head.extend(self.session.iter().map(|session| format!("Mcp-Session-Id: {session}\r\n")));
        head.extend(token.iter().map(|token| format!("Authorization: Bearer {token}\r\n")));
        head + more + "\r\n"
    }
}

fn client_info() -> Value {
    json!({"name": "toolway-load", "version": env!("CARGO_PKG_VERSION")})
}

#[cfg(test)]
mod tests;
