//! Connections with an engine behind them, spoken to in the texts of JSON-RPC.

use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;
use toolway_core::{
    Arguments, BlockingPool, CallContext, Caller, Engine, EngineParts, EntryPoint, Lease, Registry,
    SourceRetention, Tool, ToolSpec,
};
use toolway_types::{
    Principal, PrincipalId, RawJson, Role, SpecDocument, SystemClock, ToolError, ToolOutput,
};

use super::*;
use crate::offering::NoOfferings;
use crate::server::EndpointScope;

const MESSAGE_BYTES: usize = 1 << 20;
const IN_FLIGHT: usize = 4;
const SCHEMA: &str = r#"{"type":"object","z":1.0,"a":2}"#;

/// `echo` returns its arguments, `wait` runs until it is cancelled.
struct SocketTestTool {
    spec: Arc<ToolSpec>,
    cancelled: mpsc::UnboundedSender<()>,
}

struct CancelReport(mpsc::UnboundedSender<()>);

impl Drop for CancelReport {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[async_trait]
impl Tool for SocketTestTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, _: &CallContext) -> Result<ToolOutput, ToolError> {
        if self.spec.name().as_str() == "wait" {
            let _report = CancelReport(self.cancelled.clone());
            std::future::pending::<()>().await;
        }
        Ok(ToolOutput::text(arguments.raw().get()))
    }
}

struct SocketTestClient {
    outgoing: mpsc::Sender<SocketMessage>,
    incoming: mpsc::Receiver<String>,
    cancelled: mpsc::UnboundedReceiver<()>,
    cancel: CancellationToken,
    serving: AbortOnDropHandle<()>,
    _lease: Lease,
}

impl SocketTestClient {
    fn new() -> Self {
        let (to, messages) = mpsc::channel(4);
        let (outlet, from) = mpsc::channel(4);
        let (tell, cancelled) = mpsc::unbounded_channel();
        let registry = Registry::new();
        let lease = registry.lease("desk".parse().unwrap(), SourceRetention::Nothing);
        let tool = |name: &str| {
            let document = SpecDocument {
                parameters: Some(RawJson::parse(SCHEMA).unwrap()),
                ..SpecDocument::named(name)
            };
            let spec = Arc::new(ToolSpec::compile(document).unwrap());
            Arc::new(SocketTestTool { spec, cancelled: tell.clone() }) as Arc<dyn Tool>
        };
        lease.replace(vec![tool("echo"), tool("wait")]);
        let clock = Arc::new(SystemClock);
        let engine = Engine::new(EngineParts::new(registry, Arc::clone(&clock) as _));
        let jobs = Arc::new(BlockingPool::new(1, 1));
        let shared =
            McpServerState::new(engine, Arc::new(NoOfferings), "1", Duration::from_secs(20), clock, jobs);
        let principal = Principal { id: PrincipalId::from("t"), role: Role::Owner, agent: None };
        let scope = ClientScope {
            caller: Caller::new(Arc::new(principal), EntryPoint::Mcp),
            scope: EndpointScope::Source("desk".parse().unwrap()),
            restrictions: Arc::default(),
            revoked: CancellationToken::new(),
        };
        let config = SocketConfig { max_message_bytes: MESSAGE_BYTES, max_requests_in_flight: IN_FLIGHT };
        let cancel = CancellationToken::new();
        let connection = McpConnection::new(shared, scope, messages, Arc::new(outlet), config);
        let serving = AbortOnDropHandle::new(tokio::spawn(connection.serve(cancel.clone())));
        Self { outgoing: to, incoming: from, cancelled, cancel, serving, _lease: lease }
    }

    /// One whose handshake is done.
    async fn initialized(version: &str) -> Self {
        let mut client = Self::new();
        let said = client.request(&initialize(version)).await;
        assert_eq!(said["result"]["protocolVersion"], version);
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        client
    }

    async fn send(&self, text: &str) {
        self.outgoing.send(Bytes::copy_from_slice(text.as_bytes()).into()).await.unwrap();
    }

    async fn receive_text(&mut self) -> String {
        let text = tokio::time::timeout(Duration::from_secs(20), self.incoming.recv()).await;
        text.expect("an answer in time").expect("an open connection")
    }

    async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.receive_text().await).unwrap()
    }

    async fn request(&mut self, text: &str) -> Value {
        self.send(text).await;
        self.receive().await
    }
}

fn initialize(version: &str) -> String {
    json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"},
    }})
    .to_string()
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string()
}

fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// What every request of 2026-07-28 says of its client.
fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn cancelled(id: impl Into<Value>) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into()}})
        .to_string()
}

#[tokio::test]
async fn every_version_with_a_handshake_is_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = SocketTestClient::initialized(version).await;
        let said = client.request(&call(7, "echo", json!({"a": 1}))).await;
        assert_eq!(said["result"]["content"][0]["text"], r#"{"a":1}"#, "{version}");
        assert_eq!(said["id"], 7);
    }
}

#[tokio::test]
async fn the_version_without_a_handshake_is_spoken() {
    let mut client = SocketTestClient::new();
    let said = client.request(&request(0, "server/discover", json!({"_meta": modern_meta()}))).await;
    let versions = said["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{said}");
    let said = client
        .request(&request(1, "tools/call", json!({"name": "echo", "arguments": {}, "_meta": modern_meta()})))
        .await;
    assert_eq!(said["result"]["content"][0]["text"], "{}");
}

/// Schemas keep the order of their keys and the form of their numbers, and so do arguments.
#[tokio::test]
async fn raw_json_goes_out_as_it_was_written() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    client.send(&request(1, "tools/list", json!({}))).await;
    let text = client.receive_text().await;
    assert!(text.contains(&format!(r#""tools":[{{"name":"echo","inputSchema":{SCHEMA}}},"#)), "{text}");
    let arguments = r#"{"z":1.0,"a":1e3}"#;
    let said = client
        .request(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        ))
        .await;
    assert_eq!(said["result"]["content"][0]["text"], arguments);
}

#[tokio::test]
async fn half_a_surrogate_pair_in_arguments_reaches_the_tool_as_a_replacement() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":"x \ud83d"}}}"#;
    let said = client.request(call).await;
    assert_eq!(said["result"]["content"][0]["text"], r#"{"a":"x \ufffd"}"#);
}

#[tokio::test]
async fn both_eras_can_share_a_connection() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    let said = client
        .request(&request(1, "tools/call", json!({"name": "echo", "arguments": {}, "_meta": modern_meta()})))
        .await;
    assert_eq!(said["result"]["resultType"], "complete", "{said}");
    let said = client.request(&call(2, "echo", json!({}))).await;
    assert_eq!(said["result"]["resultType"], Value::Null, "{said}");
}

#[tokio::test]
async fn a_request_without_a_session_must_describe_its_client() {
    let mut client = SocketTestClient::new();
    let said = client.request(&request(1, "tools/list", json!({}))).await;
    assert_eq!((&said["id"], &said["error"]["code"]), (&json!(1), &json!(-32602)), "{said}");
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let said = client.request(&request(2, "tools/list", json!({"_meta": meta}))).await;
    assert_eq!(said["error"]["code"], -32022, "{said}");
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_the_connection_goes_on() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    for (text, code, id) in [
        ("{", -32700, Value::Null),
        ("not JSON", -32700, Value::Null),
        ("[{]", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":3}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, -32600, json!(3)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","result":{}}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":4,"method":"initialize"}"#, -32602, json!(4)),
        (r#"{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}"#, -32602, json!(4)),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":5}}"#,
            -32602,
            json!(4),
        ),
        (r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"arguments":{}}}"#, -32602, json!(4)),
        (r#"{"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"x"}}"#, -32601, json!(4)),
        ("7", -32600, Value::Null),
        ("[]", -32600, Value::Null),
    ] {
        let said = client.request(text).await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&json!(code), &id), "{text}: {said}");
        assert!(said.get("id").is_some(), "{text}");
    }
    // Not answered, since nobody asks.
    for text in
        ["", " \t", r#"{"jsonrpc":"1.0","method":"odd"}"#, r#"{"jsonrpc":"2.0","method":"other/thing"}"#]
    {
        client.send(text).await;
    }
    assert_eq!(
        client.request("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\r\n").await["id"],
        9
    );
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_under_its_id() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    let said = client.request(&call(5, "echo", json!({"a": "x".repeat(MESSAGE_BYTES)}))).await;
    assert_eq!((&said["id"], &said["error"]["code"]), (&json!(5), &json!(-32600)));
    assert!(said["error"]["message"].as_str().unwrap().contains("1048576"), "{said}");
    // One that is long and is taken goes through another thread.
    let long = "y".repeat(MESSAGE_BYTES / 2);
    let said = client.request(&call(5, "echo", json!({"a": long}))).await;
    assert_eq!(
        said["result"]["content"][0]["text"].as_str().unwrap().len(),
        long.len() + r#"{"a":""}"#.len()
    );
}

#[tokio::test]
async fn requests_in_flight_are_bounded_and_their_ids_are_their_own() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    for id in 0..IN_FLIGHT {
        client.send(&call(id, "wait", json!({}))).await;
    }
    let said = client.request(&request("more", "ping", json!({}))).await;
    assert_eq!((&said["id"], &said["error"]["code"]), (&json!("more"), &json!(-32000)));
    let said = client.request(&request(0, "ping", json!({}))).await;
    assert_eq!((&said["id"], &said["error"]["code"]), (&Value::Null, &json!(-32600)));
    client.send(&cancelled(0)).await;
    client.cancelled.recv().await.unwrap();
    // A cancelled request is not answered, and is in flight no more.
    assert_eq!(
        client.request(&request(0, "ping", json!({}))).await,
        json!({"jsonrpc": "2.0", "id": 0, "result": {}})
    );
}

#[tokio::test]
async fn a_batch_is_answered_in_one_where_its_version_has_batches() {
    let mut client = SocketTestClient::initialized("2025-03-26").await;
    let parts = [
        call(1, "wait", json!({})),
        request(2, "ping", json!({})),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        "3".to_owned(),
        cancelled(1),
        request("4", "ping", json!({})),
    ];
    let said = client.request(&format!("[{}]", parts.join(","))).await;
    let mut ids: Vec<String> =
        said.as_array().unwrap().iter().map(|answer| answer["id"].to_string()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["\"4\"", "2", "null"], "{said}");
    // Nothing in it wants an answer.
    client.send(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#).await;
    assert_eq!(client.request(&request(5, "ping", json!({}))).await["id"], 5);
}

#[tokio::test]
async fn other_versions_have_no_batches() {
    let mut client = SocketTestClient::initialized("2025-06-18").await;
    let said = client.request(&format!("[{}]", request(1, "ping", json!({})))).await;
    assert_eq!(said["error"]["code"], -32600);
    assert!(said["error"]["message"].as_str().unwrap().contains("2025-03-26"), "{said}");
}

#[tokio::test]
async fn what_comes_before_anything_was_asked_is_for_nobody() {
    let mut client = SocketTestClient::new();
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    client.send(&cancelled(1)).await;
    client.send(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#).await;
    assert_eq!(client.request(&request(1, "ping", json!({}))).await["id"], 1);
    assert_eq!(client.request(&initialize("2025-11-25")).await["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn the_end_of_a_connection_ends_what_runs() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    client.send(&call(1, "wait", json!({}))).await;
    assert_eq!(client.request(&request(2, "ping", json!({}))).await["id"], 2);
    client.cancel.cancel();
    client.cancelled.recv().await.unwrap();
    client.serving.await.unwrap();
}

#[tokio::test]
async fn a_connection_that_its_client_ends_is_over() {
    let client = SocketTestClient::initialized("2025-11-25").await;
    let SocketTestClient { outgoing, serving, .. } = client;
    drop(outgoing);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_message_nested_too_deep_is_refused_under_its_id() {
    let mut client = SocketTestClient::initialized("2025-11-25").await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":{deep}}}}}}}"#
    );
    let said = client.request(&text).await;
    assert_eq!((&said["id"], &said["error"]["code"]), (&json!(6), &json!(-32600)), "{said}");
}

proptest! {
    /// Whatever comes in, what goes out is JSON on one line, and a request with an id is answered under it.
    #[test]
    fn refusals_are_json(text in "\\PC{0,60}", id in any::<i64>()) {
        for text in [text.clone(), json!({"id": id, "method": text}).to_string()] {
            if let ParsedText::Invalid(MessageError { id: given, error }) = parse(text.as_bytes(), 40) {
                let said = error_message(given.as_deref(), &error);
                let answer: Value = serde_json::from_str(&said).unwrap();
                prop_assert!(!said.contains('\n') && answer["error"]["code"].is_i64());
                if text.starts_with("{\"id\":") {
                    prop_assert_eq!(&answer["id"], &json!(id));
                }
            }
        }
    }
}
