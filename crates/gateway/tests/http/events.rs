//! Reads event streams, one event at a time.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::support::GatewayHarness;

/// Maximum wait for an expected event.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An open event stream.
pub(crate) struct SseTestReader {
    stream: BufReader<TcpStream>,
    text: String,
}

impl SseTestReader {
    /// Opens a stream, which must succeed.
    pub(crate) async fn open(
        bench: &GatewayHarness,
        method: &str,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> Self {
        let stream = TcpStream::connect(bench.address()).await.unwrap();
        let mut events = Self { stream: BufReader::new(stream), text: String::new() };
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Accept: text/event-stream\r\n"
        );
        if !body.is_empty() {
            request
                .push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        request.push_str(&format!("\r\n{body}"));
        events.stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        loop {
            let line = events.line().await;
            if line.is_empty() {
                break;
            }
            head.push(line.to_ascii_lowercase());
        }
        assert_eq!(head.first().map(String::as_str), Some("http/1.1 200 ok"), "{head:?}");
        assert!(head.contains(&"content-type: text/event-stream".to_owned()), "{head:?}");
        events
    }

    /// Watches the questions for an owner.
    pub(crate) async fn watch(bench: &GatewayHarness) -> Self {
        Self::open(bench, "GET", "/api/approvals/watch", &bench.owner, None).await
    }

    /// Makes an interactive call.
    pub(crate) async fn call(bench: &GatewayHarness, token: &str, tool: &str, body: Value) -> Self {
        Self::open(bench, "POST", &format!("/api/tools/{tool}/call"), token, Some(body)).await
    }

    /// Returns the name and data of the next event.
    pub(crate) async fn next(&mut self) -> (String, Value) {
        let next = tokio::time::timeout(TIMEOUT, self.read()).await.expect("an event in time");
        next.expect("an event before the end")
    }

    /// Returns the data of the next event, which must have this name.
    pub(crate) async fn expect(&mut self, name: &str) -> Value {
        let (found, data) = self.next().await;
        assert_eq!(found, name, "{data}");
        data
    }

    /// Reads to the end; there must be no further events.
    pub(crate) async fn end(mut self) {
        let next = tokio::time::timeout(TIMEOUT, self.read()).await.expect("an end in time");
        assert_eq!(next, None);
    }

    async fn read(&mut self) -> Option<(String, Value)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let read = parse(event);
                self.text = rest.to_owned();
                if read.is_some() {
                    return read;
                }
            }
            let size = usize::from_str_radix(&self.line().await, 16).unwrap();
            if size == 0 {
                return None;
            }
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).await.unwrap();
            self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(TIMEOUT, self.stream.read_line(&mut line)).await;
        assert!(read.expect("a line in time").unwrap() > 0, "the stream broke off");
        line.trim_end().to_owned()
    }
}

/// Parses an event. `None` for a comment, which keeps the connection alive.
fn parse(event: &str) -> Option<(String, Value)> {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = field("data")?;
    let data = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
    Some((field("event").unwrap_or_default().to_owned(), data))
}
