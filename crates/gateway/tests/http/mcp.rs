//! MCP clients at `/mcp`: both protocol eras over real sockets, with raw bytes if necessary.

use serde_json::{Value, json};
use toolway_types::{RawJson, SpecDocument};

use crate::mcp_client::{McpEra, McpTestClient, result};
use crate::probe_tools::ProbeTools;
use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

const SCHEMA: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"z":{"$ref":"#/$defs/n"},"a":{"type":"number","maximum":1e3,"minimum":1.0}},"$defs":{"n":{"$anchor":"n","type":"integer"}},"x-own":[1.50]}"##;

fn spec(name: &str) -> SpecDocument {
    SpecDocument { parameters: Some(RawJson::parse(SCHEMA).unwrap()), ..SpecDocument::named(name) }
}

/// Connects a device with these tools.
pub(crate) async fn device(bench: &GatewayHarness, tools: Value) -> WebSocketClient {
    let made = bench.create_token("device").await;
    let mut device = WebSocketClient::device(bench, &made.token, "phone").await;
    device.register(tools).await;
    device
}

#[tokio::test]
async fn both_eras_get_the_same_tools_with_unchanged_specs() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::with(&bench, "desk", vec![spec("b"), spec("a")]);
    let token = bench.create_token("client").await.token;
    for era in McpEra::ALL {
        let mut client = McpTestClient::at(&bench, "/mcp/sources/desk", &token, era).await;
        let listed = client.request_text("tools/list", json!({})).await;
        let wanted = format!(
            r#""tools":[{{"name":"a","inputSchema":{SCHEMA}}},{{"name":"b","inputSchema":{SCHEMA}}}]"#
        );
        assert!(listed.contains(&wanted), "{era:?}: {listed}");
        let mut everything = McpTestClient::at(&bench, "/mcp", &token, era).await;
        let listed = everything.request("tools/list", json!({})).await;
        let names: Vec<_> =
            listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(
            names.contains(&&json!("desk__a")) && names.contains(&&json!("get_current_time")),
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn only_a_newer_client_gets_the_lifetime_of_a_list() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    let mut newer = McpTestClient::at(&bench, "/mcp/sources/desk", &token, McpEra::Modern).await;
    let listed = newer.request("tools/list", json!({})).await["result"].clone();
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(5000), &json!("private")));
    let mut older = McpTestClient::at(&bench, "/mcp/sources/desk", &token, McpEra::Nov2025).await;
    let listed = older.request("tools/list", json!({})).await["result"].clone();
    assert_eq!(listed.as_object().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_devices_tool_is_called_with_the_callers_own_bytes() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "echo"}])).await;
    let token = bench.create_token("client").await.token;
    for era in McpEra::ALL {
        let mut client = McpTestClient::at(&bench, "/mcp", &token, era).await;
        let arguments = r#"{"z":1.0,"a":1e3,"big":12345678901234567890123}"#;
        let params = RawJson::parse(&format!(r#"{{"name":"phone__echo","arguments":{arguments}}}"#)).unwrap();
        let calling = client.request_raw("tools/call", &params);
        let answering = device.answer("done");
        let (answer, asked) = tokio::join!(calling, answering);
        assert_eq!(asked["args"]["a"], 1000.0);
        assert_eq!(result(&answer)["content"], json!([{"type": "text", "text": "done"}]), "{answer}");
        assert_eq!(result(&answer)["isError"], false);
        let latest = bench.send_as_owner("GET", "/api/calls?limit=1", None).await.json();
        let path = format!("/api/calls/{}", latest["calls"][0]["call_id"].as_str().unwrap());
        let recorded = bench.send_as_owner("GET", &path, None).await;
        assert!(recorded.body.contains(arguments), "{recorded:?}");
        assert!(recorded.body.contains(r#""via":"mcp""#), "{recorded:?}");
    }
}

#[tokio::test]
async fn unknown_and_hidden_tools_are_protocol_errors() {
    let bench = GatewayHarness::with(
        json!({"policy": {"rules": [{"when": {"tools": ["desk/hidden"]}, "effect": "deny"}]}}),
    )
    .await;
    let probe = ProbeTools::offer(&bench, "desk", &["hidden", "seen"]);
    let token = bench.create_token("client").await.token;
    for era in McpEra::ALL {
        let mut client = McpTestClient::at(&bench, "/mcp", &token, era).await;
        for name in ["desk__hidden", "nobody__has_it", "desk__"] {
            let answer = client.request("tools/call", json!({"name": name, "arguments": {}})).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            assert_eq!(answer["error"]["message"], format!("Tool {name} is not available"));
        }
        let answer = client.request("tools/call", json!({"name": "desk__seen"})).await;
        assert_eq!(result(&answer)["content"][0]["text"], "ran");
    }
    assert_eq!(probe.run_count(), McpEra::ALL.len());
}

#[tokio::test]
async fn invalid_arguments_are_a_result_with_all_problems() {
    let bench = GatewayHarness::new().await;
    let probe = ProbeTools::with(&bench, "desk", vec![spec("a")]);
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Modern).await;
    let answer =
        client.request("tools/call", json!({"name": "desk__a", "arguments": {"z": "no", "a": 2000}})).await;
    assert_eq!(result(&answer)["isError"], true);
    let envelope: Value =
        serde_json::from_str(result(&answer)["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(envelope["error_type"], "validation_error");
    let words = envelope["message"].as_str().unwrap();
    assert!(words.contains("/z") && words.contains("/a"), "{words}");
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn the_entry_point_of_an_agent_has_only_its_tools() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a", "b"]);
    let token = bench.create_token("client").await.token;
    let made = bench.send_as_owner("PUT", "/api/agents/narrow", Some(json!({"tools": ["desk/a"]}))).await;
    assert_eq!(made.status, 201, "{made:?}");
    let mut client = McpTestClient::at(&bench, "/mcp/agents/narrow", &token, McpEra::Modern).await;
    let listed = client.request("tools/list", json!({})).await;
    let names: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    // A client with an agent can search the agent's tools.
    assert_eq!(names, ["find_tools", "desk__a"]);
    let answer = client.request("tools/call", json!({"name": "desk__b"})).await;
    assert_eq!(answer["error"]["code"], -32602);
    let unknown = bench.send("POST", "/mcp/agents/nobody", Some(&token), Some(json!({}))).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "agent_not_found"));
    let bound = bench.create_agent_token("other").await.token;
    let forbidden = bench.send("POST", "/mcp/agents/narrow", Some(&bound), Some(json!({}))).await;
    assert_eq!((forbidden.status, forbidden.code().as_str()), (403, "agent_forbidden"));
}

#[tokio::test]
async fn requests_without_a_suitable_token_are_refused_at_every_entry_point() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let device = bench.create_token("device").await.token;
    for path in ["/mcp", "/mcp/agents/default", "/mcp/sources/desk"] {
        let refused = bench.send("POST", path, None, Some(json!({}))).await;
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"), "{path}");
        assert_eq!(bench.send("POST", path, Some(&device), Some(json!({}))).await.status, 403, "{path}");
    }
    let token = bench.create_token("client").await.token;
    let unknown = bench.send("POST", "/mcp/sources/nobody", Some(&token), Some(json!({}))).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "source_not_found"));
}

#[tokio::test]
async fn query_parameters_can_only_narrow_the_tools() {
    let bench = GatewayHarness::with(json!({"policy": {"trusted_sources": ["desk"]}})).await;
    let reading = SpecDocument {
        annotations: Some(RawJson::parse(r#"{"readOnlyHint":true}"#).unwrap()),
        ..SpecDocument::named("read")
    };
    let _probe = ProbeTools::with(&bench, "desk", vec![reading, SpecDocument::named("write")]);
    let token = bench.create_token("client").await.token;
    for (query, wanted) in [
        ("?read_only=true", vec!["read"]),
        ("?only=desk/w*", vec!["write"]),
        ("?only=desk/w*,desk/r*", vec!["read", "write"]),
        ("?only=other/*", vec![]),
    ] {
        let path = format!("/mcp/sources/desk{query}");
        let mut client = McpTestClient::at(&bench, &path, &token, McpEra::Modern).await;
        let listed = client.request("tools/list", json!({})).await;
        let names: Vec<_> =
            listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, wanted, "{query}");
    }
}

/// Starts a gateway that asks before a tool may use a permission.
async fn asking() -> (GatewayHarness, ProbeTools, String) {
    let bench = GatewayHarness::with(json!({"permissions": {"default": "ask"}})).await;
    let probe = ProbeTools::with_permissions(&bench, "desk", "locate", &["device.location"]);
    let token = bench.create_token("client").await.token;
    (bench, probe, token)
}

const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

fn forms() -> Value {
    serde_json::from_str(FORMS).unwrap()
}

fn consent(decision: &str) -> Value {
    json!({"consent": {"action": "accept", "content": {"decision": decision}}})
}

#[tokio::test]
async fn a_newer_client_answers_a_permission_question_in_its_next_request() {
    let (bench, probe, token) = asking().await;
    let mut client = McpTestClient::with(&bench, "/mcp", &token, McpEra::Modern, forms()).await;
    let call = json!({"name": "desk__locate", "arguments": {"exact": true}});
    let asked = result(&client.request("tools/call", call.clone()).await).clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["consent"];
    assert_eq!(question["method"], "elicitation/create");
    let words = question["params"]["message"].as_str().unwrap();
    assert!(
        words.contains("desk__locate") && words.contains("device.location") && words.contains("exact"),
        "{words}"
    );
    assert_eq!(probe.run_count(), 0);

    let mut again = call.clone();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = consent("allow");
    let done = result(&client.request("tools/call", again.clone()).await).clone();
    assert_eq!((&done["content"][0]["text"], probe.run_count()), (&json!("ran"), 1), "{done}");

    // The request state worked only once.
    let replayed = client.request("tools/call", again).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn a_request_state_is_bound_to_its_request_and_principal() {
    let (bench, probe, token) = asking().await;
    let mut client = McpTestClient::with(&bench, "/mcp", &token, McpEra::Modern, forms()).await;
    let other = bench.create_token("client").await.token;
    let mut stranger = McpTestClient::with(&bench, "/mcp", &other, McpEra::Modern, forms()).await;
    let call = |n: u32| json!({"name": "desk__locate", "arguments": {"n": n}});
    let with = |state: &Value, n: u32| {
        let mut call = call(n);
        call["requestState"] = state.clone();
        call["inputResponses"] = consent("allow");
        call
    };
    let mut states = Vec::new();
    for n in 0..3 {
        states.push(client.request("tools/call", call(n)).await["result"]["requestState"].clone());
    }
    let changed = json!(format!("{}x", states[0].as_str().unwrap()));
    assert_eq!(client.request("tools/call", with(&changed, 0)).await["error"]["code"], -32602);
    // A state of another principal, and of another request.
    assert_eq!(stranger.request("tools/call", with(&states[1], 1)).await["error"]["code"], -32602);
    assert_eq!(client.request("tools/call", with(&states[2], 7)).await["error"]["code"], -32602);
    assert_eq!(probe.run_count(), 0);
    let done = client.request("tools/call", with(&states[0], 0)).await;
    assert_eq!(result(&done)["content"][0]["text"], "ran", "{done}");
}

#[tokio::test]
async fn a_declined_or_unrelated_answer_does_not_approve_the_call_e9() {
    let (bench, probe, token) = asking().await;
    let mut client = McpTestClient::with(&bench, "/mcp", &token, McpEra::Modern, forms()).await;
    let answers = [
        json!({"consent": {"action": "decline"}}),
        json!({"consent": {"action": "cancel", "content": {"decision": "allow"}}}),
        json!({"consent": {"action": "accept", "content": {"decision": "yes"}}}),
        json!({"consent": true, "approved": true}),
        json!({}),
    ];
    for answer in answers {
        let mut call = json!({"name": "desk__locate", "arguments": {"approved": true}});
        call["requestState"] =
            client.request("tools/call", call.clone()).await["result"]["requestState"].clone();
        call["inputResponses"] = answer.clone();
        let denied = result(&client.request("tools/call", call).await).clone();
        let envelope: Value = serde_json::from_str(denied["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(
            (&denied["isError"], &envelope["error_type"]),
            (&json!(true), &json!("permission_denied")),
            "{answer}"
        );
    }
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn a_client_without_elicitation_gets_a_hint_instead_of_a_question() {
    let (bench, probe, token) = asking().await;
    for (era, capabilities) in
        [(McpEra::Modern, json!({})), (McpEra::Nov2025, json!({"elicitation": {"url": {}}}))]
    {
        let mut client = McpTestClient::with(&bench, "/mcp", &token, era, capabilities).await;
        let denied = result(&client.request("tools/call", json!({"name": "desk__locate"})).await).clone();
        let envelope: Value = serde_json::from_str(denied["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(envelope["error_type"], "permission_denied", "{denied}");
        assert!(envelope["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{envelope}");
    }
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn an_mcp_session_belongs_to_its_principal_and_can_be_deleted() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Nov2025).await;
    let other = bench.create_token("client").await.token;
    let mut stranger = McpTestClient::at(&bench, "/mcp", &other, McpEra::Nov2025).await;
    let own = std::mem::replace(&mut stranger.session, client.session.clone());
    let refused = stranger.send("tools/list", "{}").await;
    assert_eq!(refused.status, 404, "{refused:?}");
    stranger.session = own;
    assert_eq!(stranger.send("tools/list", "{}").await.status, 200);
    // The same token at another entry point has another session.
    let mut elsewhere = McpTestClient::at(&bench, "/mcp/sources/desk", &token, McpEra::Nov2025).await;
    elsewhere.session = client.session.clone();
    assert_eq!(elsewhere.send("tools/list", "{}").await.status, 404);

    let mut headers = client.headers();
    let ended = bench.send_raw("DELETE", "/mcp", &headers, "").await;
    assert_eq!(ended.status, 204, "{ended:?}");
    headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    let gone = bench.send_raw("POST", "/mcp", &headers, r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#).await;
    assert_eq!(gone.status, 404);
}

#[tokio::test]
async fn the_number_of_mcp_sessions_is_limited() {
    let bench = GatewayHarness::with(json!({"mcp": {"max_sessions": 4}})).await;
    let (one, two, three) = (
        bench.create_token("client").await.token,
        bench.create_token("client").await.token,
        bench.create_token("client").await.token,
    );
    let mut first = McpTestClient::at(&bench, "/mcp", &one, McpEra::Nov2025).await;
    let mut second = McpTestClient::at(&bench, "/mcp", &one, McpEra::Nov2025).await;
    // One principal has at most half of all sessions; the longest idle one is ended for a third.
    assert_eq!(second.send("ping", "{}").await.status, 200);
    let _third = McpTestClient::at(&bench, "/mcp", &one, McpEra::Nov2025).await;
    assert_eq!(first.send("ping", "{}").await.status, 404);
    assert_eq!(second.send("ping", "{}").await.status, 200);
    let _more = (
        McpTestClient::at(&bench, "/mcp", &two, McpEra::Nov2025).await,
        McpTestClient::at(&bench, "/mcp", &two, McpEra::Nov2025).await,
    );
    // Sessions of other principals are not ended.
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let headers = [
        ("Host".to_owned(), bench.address().to_string()),
        ("Authorization".to_owned(), format!("Bearer {three}")),
        ("Accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ("Content-Type".to_owned(), "application/json".to_owned()),
    ];
    let refused = bench.send_raw("POST", "/mcp", &headers, &body).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.contains("mcp.max_sessions"), "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("60"));
    // A client without a session is served.
    let mut modern = McpTestClient::at(&bench, "/mcp", &three, McpEra::Modern).await;
    assert_eq!(modern.send("tools/list", "{}").await.status, 200);
}

#[tokio::test]
async fn an_idle_mcp_session_ends() {
    let bench = GatewayHarness::with(json!({"mcp": {"session_idle_s": 0.2}})).await;
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Nov2025).await;
    let sessions = || bench.gateway.app().mcp.sessions().len();
    assert_eq!(sessions(), 1);
    let ended = async {
        while sessions() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), ended).await.expect("it ends");
    assert_eq!(client.send("ping", "{}").await.status, 404);
}

#[tokio::test]
async fn an_unknown_version_is_refused_with_the_supported_ones() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Modern).await;
    let mut headers = client.headers();
    headers.retain(|(name, _)| name != "MCP-Protocol-Version");
    headers.push(("MCP-Protocol-Version".to_owned(), "1999-01-01".to_owned()));
    headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    headers.push(("Mcp-Method".to_owned(), "tools/list".to_owned()));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "1999-01-01",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}).to_string();
    let refused = bench.send_raw("POST", "/mcp", &headers, &body).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], -32022, "{refused:?}");
    assert!(refused.body.contains("2026-07-28"), "{refused:?}");
}

/// Capabilities of a client that supports tasks.
pub(crate) fn tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {"form": {}}})
}

/// Polls a task until it is in none of these states.
pub(crate) async fn task_beyond(client: &mut McpTestClient<'_>, id: &Value, stages: &[&str]) -> Value {
    let beyond = async {
        loop {
            let task = result(&client.request("tasks/get", json!({"taskId": id})).await).clone();
            if !stages.iter().any(|stage| task["status"] == *stage) {
                return task;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), beyond).await.expect("in time")
}

#[tokio::test]
async fn a_long_call_becomes_a_task_with_an_unchanged_result() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "slow"}])).await;
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::with(&bench, "/mcp", &token, McpEra::Modern, tasks()).await;
    let made = result(&client.request("tools/call", json!({"name": "phone__slow"})).await).clone();
    assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")), "{made}");
    let id = &made["taskId"];
    assert_eq!(made["createdAt"], "2023-11-14T22:13:20.000Z");
    // Another principal does not see it.
    let other = bench.create_token("client").await.token;
    let mut stranger = McpTestClient::with(&bench, "/mcp", &other, McpEra::Modern, tasks()).await;
    for method in ["tasks/get", "tasks/cancel"] {
        assert_eq!(stranger.request(method, json!({"taskId": id})).await["error"]["code"], -32602);
    }
    device.answer("done").await;
    let task = task_beyond(&mut client, id, &["working"]).await;
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["result"]["content"], json!([{"type": "text", "text": "done"}]), "{task}");
}

#[tokio::test]
async fn a_task_that_is_cancelled_ends_its_call() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "slow"}])).await;
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::with(&bench, "/mcp", &token, McpEra::Modern, tasks()).await;
    let made = result(&client.request("tools/call", json!({"name": "phone__slow"})).await).clone();
    client.request("tasks/cancel", json!({"taskId": made["taskId"]})).await;
    let task = task_beyond(&mut client, &made["taskId"], &["working"]).await;
    assert_eq!(task["status"], "cancelled", "{task}");
    device.receive_until("tool_call_request").await;
    let told = device.receive_until("tool_call_cancel").await;
    assert_eq!(told["reason"], "cancelled", "{told}");
}

#[tokio::test]
async fn questions_of_a_task_are_answered_in_the_task() {
    let (bench, probe, token) = asking().await;
    let mut client = McpTestClient::with(&bench, "/mcp", &token, McpEra::Modern, tasks()).await;
    let made = result(&client.request("tools/call", json!({"name": "desk__locate"})).await).clone();
    assert_eq!(made["resultType"], "task", "{made}");
    let id = &made["taskId"];
    let task = task_beyond(&mut client, id, &["working"]).await;
    assert_eq!(task["status"], "input_required", "{task}");
    assert_eq!(task["inputRequests"]["consent"]["method"], "elicitation/create");
    assert_eq!(probe.run_count(), 0);
    let answers = json!({"taskId": id, "inputResponses": consent("allow")});
    assert!(client.request("tasks/update", answers).await["error"].is_null());
    let task = task_beyond(&mut client, id, &["working", "input_required"]).await;
    assert_eq!((&task["status"], probe.run_count()), (&json!("completed"), 1), "{task}");
}

#[tokio::test]
async fn a_client_without_tasks_gets_none() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Modern).await;
    let refused = client.request("tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[tokio::test]
async fn a_cached_list_changes_with_tools_and_rules() {
    let bench = GatewayHarness::new().await;
    let first = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::at(&bench, "/mcp/sources/desk", &token, McpEra::Modern).await;
    let mut names = async || -> Vec<String> {
        let listed = client.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names().await, ["a"]);
    assert_eq!(names().await, ["a"]);
    let _second = ProbeTools::offer(&bench, "desk", &["b"]);
    assert_eq!(names().await, ["a", "b"]);
    bench
        .apply(json!({"policy": {"rules": [{"when": {"tools": ["desk/b"]}, "effect": "deny"}]}}))
        .await
        .unwrap();
    assert_eq!(names().await, ["a"]);
    drop(first);
    bench.apply(json!({})).await.unwrap();
    assert_eq!(names().await, ["b"]);
}

#[tokio::test]
async fn an_ended_mcp_session_leaves_nothing_behind() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    let engine = &bench.gateway.app().engine;
    let before = std::sync::Arc::strong_count(engine);
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Nov2025).await;
    assert!(std::sync::Arc::strong_count(engine) > before, "somebody looks at the tools for it");
    let ended = bench.send_raw("DELETE", "/mcp", &client.headers(), "").await;
    assert_eq!(ended.status, 204, "{ended:?}");
    let left = async {
        while std::sync::Arc::strong_count(engine) > before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), left).await.expect("it is let go");
}
