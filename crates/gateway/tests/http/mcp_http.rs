//! The HTTP side of `/mcp`: the form of answers, malformed requests, batches, and paths.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use toolway_types::{RawJson, SpecDocument};

use crate::mcp::device;
use crate::mcp_client::{McpEra, McpTestClient, messages, result};
use crate::probe_tools::ProbeTools;
use crate::support::{GatewayHarness, HttpAnswer, read_answer};

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn call(name: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments},{META}}}}}"#
    )
}

/// The headers of a client, with another `Accept`, or none.
fn accepting(client: &McpTestClient<'_>, accept: Option<&str>) -> Vec<(String, String)> {
    let mut headers = client.headers();
    headers.retain(|(name, _)| name != "Accept");
    headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    headers.extend(accept.map(|accept| ("Accept".to_owned(), accept.to_owned())));
    headers
}

#[track_caller]
fn assert_refused(answer: &HttpAnswer, status: u16, code: i32, id: &Value) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
    let body = answer.json();
    assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(code)), "{answer:?}");
    assert_eq!(body.get("id"), Some(id), "{answer:?}");
}

#[tokio::test]
async fn an_answer_has_the_form_that_the_client_accepts() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    const JSON: &str = "application/json";
    const STREAM: &str = "text/event-stream";
    for (accept, modern_form, session_form) in [
        (None, JSON, STREAM),
        (Some("*/*"), JSON, STREAM),
        (Some("application/json"), JSON, JSON),
        (Some("text/event-stream"), STREAM, STREAM),
        (Some("application/*;q=0.5, text/event-stream"), STREAM, STREAM),
        (Some("application/json, text/event-stream;q=0.5"), JSON, JSON),
    ] {
        for era in McpEra::ALL {
            let client = McpTestClient::at(&bench, "/mcp", &token, era).await;
            let mut headers = accepting(&client, accept);
            headers.push(("Mcp-Method".to_owned(), "tools/call".to_owned()));
            headers.push(("Mcp-Name".to_owned(), "desk__a".to_owned()));
            let answer = match era {
                McpEra::Modern => bench.send_raw("POST", "/mcp", &headers, &call("desk__a", "{}")).await,
                _ => {
                    let call =
                        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk__a"}}"#;
                    bench.send_raw("POST", "/mcp", &headers, call).await
                }
            };
            let form = if era == McpEra::Modern { modern_form } else { session_form };
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (200, Some(form)),
                "{era:?} {accept:?}"
            );
            let said = messages(&answer).pop().unwrap();
            assert_eq!(result(&said)["content"][0]["text"], "ran", "{era:?} {accept:?}");
        }
    }
}

#[tokio::test]
async fn a_form_that_does_not_exist_is_refused_under_the_id() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Nov2025).await;
    for accept in ["text/html", "application/json;q=0, text/event-stream;q=0.0", "*/*;q=0"] {
        let refused = bench.send_raw("POST", "/mcp", &accepting(&client, Some(accept)), PING).await;
        assert_refused(&refused, 406, -32600, &json!(7));
    }
    let refused = bench.send_raw("GET", "/mcp", &accepting(&client, Some("application/json")), "").await;
    assert_refused(&refused, 406, -32600, &Value::Null);
}

#[tokio::test]
async fn a_malformed_message_is_a_json_rpc_error_with_its_id() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Nov2025).await;
    let headers = accepting(&client, Some("application/json"));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"desk__a","arguments":{{"a":{}{}}}}}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    for (body, status, code, id) in [
        ("", 400, -32700, Value::Null),
        ("{", 400, -32700, Value::Null),
        ("no JSON", 400, -32700, Value::Null),
        ("7", 400, -32600, Value::Null),
        ("[]", 400, -32600, Value::Null),
        (r#"{"id":7,"method":"ping"}"#, 400, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"x","method":5}"#, 400, -32600, json!("x")),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#, 400, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#, 400, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#, 400, -32602, json!(7)),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"desk__a","arguments":5}}"#,
            200,
            -32602,
            json!(7),
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#, 200, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such/method"}"#, 200, -32601, json!(7)),
        (deep.as_str(), 400, -32600, json!(7)),
    ] {
        assert_refused(&bench.send_raw("POST", "/mcp", &headers, body).await, status, code, &id);
    }
    let mut without_type = headers.clone();
    without_type.retain(|(name, _)| name != "Content-Type");
    assert_refused(&bench.send_raw("POST", "/mcp", &without_type, PING).await, 415, -32600, &json!(7));
    assert_refused(&bench.send_raw("PUT", "/mcp", &headers, PING).await, 405, -32600, &Value::Null);
    let odd_query = bench.send_raw("POST", "/mcp?read_only=maybe", &headers, PING).await;
    assert_refused(&odd_query, 400, -32600, &Value::Null);
    // A notification gets no answer, even an invalid one.
    let told = bench.send_raw("POST", "/mcp", &headers, r#"{"jsonrpc":"1.0","method":"odd"}"#).await;
    assert_eq!((told.status, told.body.as_str()), (202, ""), "{told:?}");
}

#[tokio::test]
async fn a_request_names_its_session() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::at(&bench, "/mcp", &token, McpEra::June2025).await;
    client.session = Some("no-such-session".to_owned());
    let json = Some("application/json");
    let refused = bench.send_raw("POST", "/mcp", &accepting(&client, json), PING).await;
    assert_refused(&refused, 404, -32001, &json!(7));
    let mut headers = accepting(&client, json);
    headers.retain(|(name, _)| name != "Mcp-Session-Id");
    assert_refused(&bench.send_raw("POST", "/mcp", &headers, PING).await, 400, -32600, &json!(7));
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_refused(&bench.send_raw("POST", "/mcp", &headers, told).await, 400, -32600, &Value::Null);
    for (name, value) in &mut headers {
        if name == "MCP-Protocol-Version" {
            "2001-01-01".clone_into(value);
        }
    }
    assert_refused(&bench.send_raw("POST", "/mcp", &headers, PING).await, 400, -32022, &json!(7));
}

#[tokio::test]
async fn a_batch_is_answered_in_its_version_only() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    let call = r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"desk__a"}}"#;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let batch = format!(r#"[{PING},{told},{call},3,{{"jsonrpc":"2.0","id":8,"method":"initialize"}}]"#);
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::March2025).await;
    let ids = |answers: &[Value]| {
        let mut ids: Vec<String> = answers.iter().map(|answer| answer["id"].to_string()).collect();
        ids.sort();
        ids
    };
    let json = bench.send_raw("POST", "/mcp", &accepting(&client, Some("application/json")), &batch).await;
    assert_eq!((json.status, json.header("content-type")), (200, Some("application/json")), "{json:?}");
    let answers = json.json().as_array().unwrap().clone();
    assert_eq!(ids(&answers), ["\"c\"", "7", "8", "null"], "{json:?}");
    let stream = bench.send_raw("POST", "/mcp", &accepting(&client, None), &batch).await;
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(ids(&messages(&stream)), ["\"c\"", "7", "8", "null"], "{stream:?}");
    let quiet = bench.send_raw("POST", "/mcp", &accepting(&client, None), &format!("[{told}]")).await;
    assert_eq!((quiet.status, quiet.body.as_str()), (202, ""), "{quiet:?}");

    let newer = McpTestClient::at(&bench, "/mcp", &token, McpEra::June2025).await;
    let refused = bench.send_raw("POST", "/mcp", &accepting(&newer, None), &batch).await;
    assert_refused(&refused, 400, -32600, &Value::Null);
}

/// Sends a body that may be no text.
async fn post_bytes(
    bench: &GatewayHarness,
    client: &McpTestClient<'_>,
    name: &str,
    body: &[u8],
) -> HttpAnswer {
    let mut head = "POST /mcp HTTP/1.1\r\nConnection: close\r\n".to_owned();
    for (name, value) in accepting(client, Some("application/json")) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n"));
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut stream = TcpStream::connect(bench.address()).await.unwrap();
    stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
    read_answer(stream).await
}

#[tokio::test]
async fn damaged_text_in_arguments_reaches_the_tool_repaired() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "echo"}])).await;
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Modern).await;
    let bodies: [(&[u8], &str); 4] = [
        (br#"{"a":"x \ud83d"}"#, "x \u{fffd}"),
        (b"{\"a\":\"x \xe9\"}", "x \u{fffd}"),
        (br#"{"a":"\ud83d\ude00"}"#, "\u{1f600}"),
        (br#"{"a":"\\ud83d"}"#, r"\ud83d"),
    ];
    for (arguments, expected) in bodies {
        let [before, after] = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"phone__echo","arguments":"#,
            ",",
        ];
        let body =
            ["\u{feff}".as_bytes(), before.as_bytes(), arguments, after.as_bytes(), META.as_bytes(), b"}}"]
                .concat();
        let (answer, asked) =
            tokio::join!(post_bytes(&bench, &client, "phone__echo", &body), device.answer("done"));
        assert_eq!(answer.status, 200, "{expected}: {answer:?}");
        assert_eq!(asked["args"], json!({"a": expected}));
    }
}

#[tokio::test]
async fn doubled_and_trailing_slashes_lead_to_the_same_place() {
    let bench = GatewayHarness::new().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    for (path, tool) in [
        ("/mcp/", "desk__a"),
        ("//mcp", "desk__a"),
        ("/mcp//", "desk__a"),
        ("/mcp/sources/desk/", "a"),
        ("/mcp//sources//desk", "a"),
        ("//mcp/sources/desk//", "a"),
        ("/mcp/agents/default/", "desk__a"),
    ] {
        let mut client = McpTestClient::at(&bench, path, &token, McpEra::Modern).await;
        let answer = client.request("tools/call", json!({"name": tool})).await;
        assert_eq!(result(&answer)["content"][0]["text"], "ran", "{path}");
    }
    for path in ["/mcp/sources", "/mcp/other/desk", "/mcp/sources/desk/more"] {
        let unknown = bench.send("POST", path, Some(&token), Some(json!({}))).await;
        assert_eq!(unknown.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_first_event_has_no_data_since_2025_11_25_only() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    for era in [McpEra::Nov2025, McpEra::June2025, McpEra::March2025] {
        let client = McpTestClient::at(&bench, "/mcp", &token, era).await;
        let answer = bench.send_raw("POST", "/mcp", &accepting(&client, None), PING).await;
        let events: Vec<&str> = answer.body.split("\n\n").filter(|event| !event.is_empty()).collect();
        let is_primed = era == McpEra::Nov2025;
        assert_eq!(events.len(), if is_primed { 2 } else { 1 }, "{era:?}: {answer:?}");
        assert_eq!(events[0].ends_with("data:"), is_primed, "{era:?}: {answer:?}");
        assert!(
            events.last().unwrap().contains(r#"data: {"jsonrpc":"2.0","id":7,"result":{}}"#),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn a_response_that_was_not_read_can_be_read_again() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "slow"}])).await;
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Nov2025).await;
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"phone__slow"}}"#;
    let headers = accepting(&client, None);
    // The client disconnects while the call runs, which does not end the call.
    let request = tokio::select! {
        answer = bench.send_raw("POST", "/mcp", &headers, call) => panic!("{answer:?}"),
        request = device.receive_until("tool_call_request") => request,
    };
    let mut resuming = headers.clone();
    resuming.push(("Last-Event-ID".to_owned(), "0/1".to_owned()));
    let (again, ()) = tokio::join!(bench.send_raw("GET", "/mcp", &resuming, ""), async {
        device.send(json!({"type": "tool_result", "id": request["id"], "output": "late"})).await;
    });
    let said = messages(&again).pop().unwrap();
    assert_eq!((&said["id"], &result(&said)["content"][0]["text"]), (&json!(5), &json!("late")), "{again:?}");
    // It is gone after it was read. An error would make the client ask for ever.
    let nothing = bench.send_raw("GET", "/mcp", &resuming, "").await;
    assert_eq!((nothing.status, nothing.body.as_str()), (200, ""), "{nothing:?}");
}

#[tokio::test]
async fn only_a_newer_client_gets_a_task() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "slow"}])).await;
    let token = bench.create_token("client").await.token;
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut older = McpTestClient::with(&bench, "/mcp", &token, McpEra::Nov2025, capabilities).await;
    {
        let mut calling = std::pin::pin!(older.request("tools/call", json!({"name": "phone__slow"})));
        // Longer than the time after which a call becomes a task.
        let long = std::time::Duration::from_millis(900);
        assert!(tokio::time::timeout(long, &mut calling).await.is_err(), "it has no answer before its end");
        let (answer, _) = tokio::join!(calling, device.answer("done"));
        assert_eq!(result(&answer)["content"][0]["text"], "done", "{answer}");
    }
    let refused = older.request("tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}

#[tokio::test]
async fn an_output_schema_that_old_clients_refuse_is_left_out_for_them() {
    let bench = GatewayHarness::new().await;
    let with_output = |name: &str, schema: &str| SpecDocument {
        output_schema: Some(RawJson::parse(schema).unwrap()),
        ..SpecDocument::named(name)
    };
    let _probe = ProbeTools::with(
        &bench,
        "desk",
        vec![
            with_output("map", r#"{"type":"object","additionalProperties":{"type":"integer"}}"#),
            with_output("any", r#"{"type":"object","properties":{"a":true}}"#),
            with_output("list", r#"{"type":"array"}"#),
            with_output(
                "plain",
                r#"{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}"#,
            ),
        ],
    );
    let token = bench.create_token("client").await.token;
    for era in McpEra::ALL {
        let mut client = McpTestClient::at(&bench, "/mcp/sources/desk", &token, era).await;
        let listed = client.request("tools/list", json!({})).await;
        let tools = result(&listed)["tools"].as_array().unwrap().clone();
        let with: Vec<&Value> = tools
            .iter()
            .filter(|tool| tool.get("outputSchema").is_some())
            .map(|tool| &tool["name"])
            .collect();
        match era {
            McpEra::Modern => assert_eq!(with, ["any", "list", "map", "plain"]),
            _ => assert_eq!(with, ["plain"], "{era:?}"),
        }
        assert_eq!(tools.len(), 4, "{era:?}");
    }
}

#[tokio::test]
async fn a_bound_token_cannot_tell_other_sources_from_missing_ones() {
    let bench = GatewayHarness::new().await;
    let _desk = ProbeTools::offer(&bench, "desk", &["a"]);
    let _other = ProbeTools::offer(&bench, "other", &["a"]);
    let made = bench.send_as_owner("PUT", "/api/agents/narrow", Some(json!({"tools": ["desk/a"]}))).await;
    assert_eq!(made.status, 201, "{made:?}");
    let bound = bench.create_agent_token("narrow").await.token;
    let answer = async |source: &str| {
        let path = format!("/mcp/sources/{source}");
        let answer = bench.send("POST", &path, Some(&bound), Some(json!({}))).await;
        (answer.status, answer.body.replace(source, "SOURCE"))
    };
    let missing = answer("nobody").await;
    assert_eq!(missing.0, 404);
    assert_eq!(answer("other").await, missing);
    let mut client = McpTestClient::at(&bench, "/mcp/sources/desk", &bound, McpEra::Modern).await;
    let called = client.request("tools/call", json!({"name": "a"})).await;
    assert_eq!(result(&called)["content"][0]["text"], "ran");
}
