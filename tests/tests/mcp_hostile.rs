//! Malicious and careless MCP clients with a real gateway, over HTTP as bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

use serde_json::{Value, json};
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};
use toolway_tests::mcp::{MODERN_VERSION, McpHttpReply, McpServerAddress, McpTestClient};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::{poll_until, rest};

/// The version with a handshake in these tests.
const LEGACY_VERSION: &str = "2025-11-25";
/// The tool that asks once.
const ASKING_TOOL: &str = "test_input_required_result_elicitation";
const META_PREFIX: &str = "io.modelcontextprotocol/";

struct HostileHarness {
    gateway: GatewayProcess,
    /// Token of a client.
    token: String,
    _folder: TestFolder,
    _server: FakeMcp,
}

/// Starts a gateway in front of a server, with these settings.
async fn start_harness(settings: &str) -> HostileHarness {
    let folder = TestFolder::new();
    std::fs::create_dir_all(folder.data_path()).unwrap();
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let definition = format!("[servers.fixture]\nurl = \"{}\"\n", server.url());
    std::fs::write(folder.data_path().join("mcp.toml"), definition).unwrap();
    std::fs::write(folder.data_path().join("toolway.toml"), settings).unwrap();
    let gateway = folder.serve(&[]).await;
    poll_until("the server is connected", async || {
        let listed = rest::get_json(gateway.address(), &gateway.token, "/api/mcp/servers").await;
        (listed["servers"][0]["status"]["state"] == "connected").then_some(())
    })
    .await;
    let token = create_client_token(&gateway).await;
    HostileHarness { gateway, token, _folder: folder, _server: server }
}

/// Creates a token for another client.
async fn create_client_token(gateway: &GatewayProcess) -> String {
    let body = json!({"role": "client", "label": "somebody"});
    let (status, made) =
        rest::send_request(gateway.address(), &gateway.token, "POST", "/api/tokens", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    made["token"].as_str().unwrap().to_owned()
}

impl HostileHarness {
    fn server_address(&self, token: &str) -> McpServerAddress {
        let url = format!("{}/mcp/sources/fixture", self.gateway.url());
        McpServerAddress::from_url(&url, (!token.is_empty()).then_some(token))
    }
}

fn initialize_request() -> String {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": LEGACY_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "hostile", "version": "1"}
        }
    })
    .to_string()
}

/// Creates a request of version 2026-07-28 that contains this version.
fn discover_request(version: &str) -> String {
    let meta = json!({format!("{META_PREFIX}protocolVersion"): version, format!("{META_PREFIX}clientCapabilities"): {}});
    json!({"jsonrpc": "2.0", "id": 7, "method": "server/discover", "params": {"_meta": meta}}).to_string()
}

async fn error_code(reply: McpHttpReply) -> Value {
    let text = reply.text().await;
    serde_json::from_str::<Value>(&text).map(|error| error["error"]["code"].clone()).unwrap_or_default()
}

#[tokio::test]
async fn other_origins_and_unknown_hosts_are_refused() {
    let there = start_harness("").await;
    let place = there.server_address(&there.token);
    for headers in [
        [("host", "evil.example.com"), ("origin", "http://evil.example.com")],
        [("host", "evil.example.com"), ("accept", "application/json, text/event-stream")],
        [("origin", "https://evil.example.com"), ("accept", "application/json, text/event-stream")],
        [("origin", "null"), ("accept", "application/json, text/event-stream")],
    ] {
        let reply = place.post(&headers, initialize_request()).await;
        assert!((400..500).contains(&reply.status), "{headers:?}: {}", reply.status);
        assert_eq!(reply.header("mcp-session-id"), None, "{headers:?}");
    }
}

#[tokio::test]
async fn requests_without_a_suitable_token_are_refused() {
    let there = start_harness("").await;
    for token in ["", "nonsense"] {
        let reply = there.server_address(token).post(&[], initialize_request()).await;
        assert_eq!(reply.status, 401);
    }
}

#[tokio::test]
async fn unsupported_and_contradicting_versions_are_refused() {
    let there = start_harness("").await;
    let place = there.server_address(&there.token);
    let with = |version: &'static str| [("mcp-protocol-version", version), ("mcp-method", "server/discover")];
    let unknown = place.post(&with("v999.0.0"), discover_request("v999.0.0")).await;
    assert_eq!(unknown.status, 400);
    let said: Value = serde_json::from_str(&unknown.text().await).unwrap();
    assert_eq!(said["error"]["code"], -32022, "{said}");
    assert_eq!(said["error"]["data"]["requested"], "v999.0.0", "{said}");
    let contradicts = place.post(&with(MODERN_VERSION), discover_request("v999.0.0")).await;
    assert_eq!(contradicts.status, 400);
    assert_eq!(error_code(contradicts).await, -32020);
    let no_capabilities =
        json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}).to_string();
    let bare = place.post(&with(MODERN_VERSION), no_capabilities).await;
    assert_eq!(bare.status, 400);
    assert_eq!(error_code(bare).await, -32602);
}

#[tokio::test]
async fn a_request_state_is_valid_once_for_its_request_and_principal() {
    let there = start_harness("").await;
    let asks = || json!({"name": ASKING_TOOL, "arguments": {}});
    let place = there.server_address(&there.token);
    let (mut client, _) = McpTestClient::connect(place.clone(), MODERN_VERSION).await;
    let retry = |state: &str, tool: &str| {
        json!({
            "name": tool,
            "arguments": {},
            "requestState": state,
            "inputResponses": {"user_name": {"action": "accept", "content": {"name": "Mallory"}}}
        })
    };
    let told = async |client: &mut McpTestClient, params: Value| -> Value {
        let (_, mut reply) = client.open("tools/call", params).await;
        loop {
            let message: Value = serde_json::from_str(&reply.next_message().await.unwrap()).unwrap();
            if message.get("method").is_none() {
                return message;
            }
        }
    };
    let state = |asked: &Value| {
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        asked["result"]["requestState"].as_str().unwrap().to_owned()
    };

    let first = state(&told(&mut client, asks()).await);
    let ended = told(&mut client, retry(&first, ASKING_TOOL)).await;
    assert_eq!(ended["result"]["content"][0]["text"], "Hello, Mallory!", "{ended}");
    let replayed = told(&mut client, retry(&first, ASKING_TOOL)).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");

    let second = state(&told(&mut client, asks()).await);
    let of_another_tool = told(&mut client, retry(&second, "test_simple_text")).await;
    assert_eq!(of_another_tool["error"]["code"], -32602, "{of_another_tool}");

    let third = state(&told(&mut client, asks()).await);
    let (mut other, _) = McpTestClient::connect(
        there.server_address(&create_client_token(&there.gateway).await),
        MODERN_VERSION,
    )
    .await;
    let of_another_principal = told(&mut other, retry(&third, ASKING_TOOL)).await;
    assert_eq!(of_another_principal["error"]["code"], -32602, "{of_another_principal}");

    let fourth = state(&told(&mut client, asks()).await);
    let tampered = told(&mut client, retry(&format!("{fourth}0"), ASKING_TOOL)).await;
    assert_eq!(tampered["error"]["code"], -32602, "{tampered}");
    // The valid state was not used up.
    let ended = told(&mut client, retry(&fourth, ASKING_TOOL)).await;
    assert_eq!(ended["result"]["content"][0]["text"], "Hello, Mallory!", "{ended}");
}

#[tokio::test]
async fn an_mcp_session_belongs_to_its_client() {
    let there = start_harness("").await;
    let (client, _) = McpTestClient::connect(there.server_address(&there.token), LEGACY_VERSION).await;
    let session = client.session().unwrap().to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}).to_string();
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", LEGACY_VERSION)];
    let other = there.server_address(&create_client_token(&there.gateway).await);
    assert_eq!(other.post(&headers, list.clone()).await.status, 404);
    assert_eq!(other.send("DELETE", &headers, String::new()).await.status, 404);
    let own = there.server_address(&there.token);
    assert_eq!(own.post(&headers, list).await.status, 200);
}

#[tokio::test]
async fn mcp_sessions_are_limited_and_an_ended_one_frees_capacity() {
    let there = start_harness("[mcp]\nsessions = 4\n").await;
    // One client may have half of all sessions.
    let mut greedy = Vec::new();
    for _ in 0..2 {
        greedy.push(open_session(there.server_address(&there.token)).await);
    }
    assert_retry_later(&there.server_address(&there.token).post(&[], initialize_request()).await);
    // Others can start sessions up to the total limit.
    let mut others = Vec::new();
    for _ in 0..2 {
        others.push(open_session(there.server_address(&create_client_token(&there.gateway).await)).await);
    }
    let late = there.server_address(&create_client_token(&there.gateway).await);
    assert_retry_later(&late.post(&[], initialize_request()).await);
    // Open sessions continue.
    for (client, _) in greedy.iter_mut().chain(&mut others) {
        assert_eq!(client.request("ping", json!({})).await.status, 200);
    }
    let (client, stream) = greedy.pop().unwrap();
    drop(stream);
    assert!(matches!(client.close().await, 200..=204));
    open_session(late).await;
}

#[tokio::test]
async fn an_idle_session_is_replaced_by_another_of_its_client() {
    let there = start_harness("[mcp]\nsessions = 4\n").await;
    let place = there.server_address(&there.token);
    let (mut oldest, _) = McpTestClient::connect(place.clone(), LEGACY_VERSION).await;
    let (mut newer, _) = McpTestClient::connect(place.clone(), LEGACY_VERSION).await;
    open_session(place).await;
    assert_eq!(newer.request("ping", json!({})).await.status, 200);
    let (_, gone) = oldest.open("ping", json!({})).await;
    assert_eq!(gone.status, 404);
}

/// Opens an MCP session that is in use, because its stream is open.
async fn open_session(place: McpServerAddress) -> (McpTestClient, McpHttpReply) {
    let (client, _) = McpTestClient::connect(place, LEGACY_VERSION).await;
    let stream = client.listen().await;
    assert_eq!(stream.status, 200);
    (client, stream)
}

fn assert_retry_later(reply: &McpHttpReply) {
    assert_eq!(reply.status, 503);
    assert!(reply.header("retry-after").is_some());
}
