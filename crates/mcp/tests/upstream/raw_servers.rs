//! Servers that are no more than what a test writes, and transports that libraries have given up.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolway_mcp::upstream::TransportKind;

use crate::harness::{UpstreamHarness, at};

/// Serves this on a port that is free; gives its address.
pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, router).into_future());
    format!("http://{address}/mcp")
}

/// A message that was posted.
pub(crate) struct PostedMessage {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl PostedMessage {
    /// None where it is no POST of a message.
    pub(crate) async fn read(request: Request) -> Option<Self> {
        if request.method() != Method::POST {
            return None;
        }
        let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.ok()?;
        let message: Value = serde_json::from_slice(&body).ok()?;
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        Some(Self { id: message["id"].clone(), method, params: message["params"].clone() })
    }

    /// The tool that it calls.
    pub(crate) fn tool(&self) -> &str {
        self.params["name"].as_str().unwrap_or_default()
    }

    /// That the server is there, in the version that the client named.
    pub(crate) fn initialized(&self) -> Response {
        result_response(&self.id, &initialized(&self.params).to_string())
    }
}

pub(crate) fn initialized(params: &Value) -> Value {
    json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "raw", "version": "1"},
    })
}

pub(crate) fn result_response(id: &Value, result: &str) -> Response {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

pub(crate) fn accepted_response() -> Response {
    StatusCode::ACCEPTED.into_response()
}

pub(crate) fn tool_list(tools: &[&str]) -> String {
    let tools = tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    json!({"tools": tools.collect::<Vec<_>>()}).to_string()
}

pub(crate) fn event_stream_response(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], body.into()).into_response()
}

/// A server of 2024-11-05.
#[derive(Default)]
struct LegacySseServer {
    stream: Mutex<Option<mpsc::UnboundedSender<String>>>,
}

async fn legacy_sse(State(server): State<Arc<LegacySseServer>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    if request.method() == Method::GET && path == "/mcp" {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        sender.send("event: endpoint\ndata: /messages?session=1\n\n".to_owned()).unwrap();
        *server.stream.lock() = Some(sender);
        let stream = futures_util::stream::poll_fn(move |cx| {
            receiver.poll_recv(cx).map(|text| text.map(Ok::<_, Infallible>))
        });
        return event_stream_response(Body::from_stream(stream));
    }
    if path != "/messages" {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let Some(sent) = PostedMessage::read(request).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let result = match sent.method.as_str() {
        "initialize" => json!({
            "protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "0"},
        }),
        "tools/list" => serde_json::from_str(&tool_list(&["greet"])).unwrap(),
        "tools/call" => json!({"content": [{"type": "text", "text": sent.params["arguments"]["who"]}]}),
        _ => return accepted_response(),
    };
    let message = json!({"jsonrpc": "2.0", "id": sent.id, "result": result});
    let stream = server.stream.lock();
    stream.as_ref().unwrap().send(format!("event: message\ndata: {message}\n\n")).unwrap();
    accepted_response()
}

#[tokio::test]
async fn http_with_sse_is_found_by_trying() {
    let server = Arc::new(LegacySseServer::default());
    let url = serve(Router::new().fallback(legacy_sse).with_state(Arc::clone(&server))).await;
    let bench = UpstreamHarness::connected_at(&url).await;
    let status = bench.status("up");
    assert_eq!(status.transport, Some(TransportKind::Sse));
    assert_eq!(status.protocol_version.as_deref(), Some("2024-11-05"));
    assert_eq!(bench.call("up__greet", r#"{"who":"Ada"}"#).await.unwrap().joined_text(), "Ada");
    // Its stream ends, and it is connected to anew.
    *server.stream.lock() = None;
    let again = async {
        while bench.call("up__greet", r#"{"who":"Eve"}"#).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::harness::TIMEOUT, again).await.unwrap();
}

/// A result that looks like the internal form in which earlier versions passed JSON-RPC errors on.
const RESULT_LIKE_AN_ERROR: &str = r#"{"toolway/refused":{"code":-32000,"message":"no"}}"#;

#[tokio::test]
async fn a_result_is_never_taken_for_a_json_rpc_error() {
    let router = Router::new().fallback(async |request: Request| {
        let Some(sent) = PostedMessage::read(request).await else {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        };
        match sent.method.as_str() {
            "initialize" => sent.initialized(),
            "tools/list" => result_response(&sent.id, &tool_list(&["refuse"])),
            "tools/call" => result_response(&sent.id, RESULT_LIKE_AN_ERROR),
            _ => accepted_response(),
        }
    });
    let url = serve(router).await;
    let bench = UpstreamHarness::connected_at(&url).await;
    let finished = bench.finish(crate::harness::call("up__refuse", "{}")).await;
    assert_eq!(finished.outcome.original_result().unwrap().get(), RESULT_LIKE_AN_ERROR);
    assert!(crate::harness::call_result(&finished).unwrap().content.is_empty());
}

#[tokio::test]
async fn keys_are_sent_and_named_nowhere() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let router = Router::new()
        .fallback(async |State(seen): State<Arc<Mutex<Vec<String>>>>, request: Request| {
            let key = request.headers().get("x-api-key").map(|key| key.to_str().unwrap().to_owned());
            seen.lock().push(key.unwrap_or_default());
            (StatusCode::FORBIDDEN, "wrong key").into_response()
        })
        .with_state(Arc::clone(&seen));
    let url = serve(router).await;
    let bench = UpstreamHarness::new();
    let mut definition = at(format!("{url}?token=hush"));
    definition.headers.insert("X-Api-Key".to_owned(), "hush-hush".to_owned());
    bench.apply([("up", definition)]);
    let status = bench.wait_failed("up").await;
    assert_eq!(seen.lock()[0], "hush-hush");
    let shown = format!("{status:?} {:?}", bench.server("up"));
    assert!(!shown.contains("hush"), "{shown}");
    assert!(shown.contains("403") && shown.contains("wrong key"), "{shown}");
}
