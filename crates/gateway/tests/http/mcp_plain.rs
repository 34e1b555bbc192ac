//! Plain calls at `/mcp`, the most frequent requests, and requests that are nearly plain.

use serde_json::{Value, json};

use crate::mcp::device;
use crate::mcp_client::{McpEra, McpTestClient, result};
use crate::probe_tools::ProbeTools;
use crate::support::GatewayHarness;

/// The same call of 2026-07-28 in equivalent forms.
#[tokio::test]
async fn equivalent_forms_of_a_call_have_the_same_response() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "echo"}])).await;
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Modern).await;
    let meta = |more: &str| {
        format!(
            r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{more}}}"#
        )
    };
    let call = |arguments: &str, meta: &str, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"é\n1","method":"tools/call","params":{{"name":"phone__echo",{arguments}{meta}{more}}}}}"#
        )
    };
    let arguments = r#""arguments":{"b":1.0,"a":[1e3]},"#;
    let forms = [
        call(arguments, &meta(""), ""),
        call(
            arguments,
            &meta(r#","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#),
            "",
        ),
        call(arguments, &meta(r#","progressToken":7"#), ""),
        call(arguments, &meta(r#","io.modelcontextprotocol/logLevel":"error""#), ""),
        call(arguments, &meta(""), r#","unknown":[]"#),
    ];
    let mut bodies = Vec::new();
    for form in &forms {
        let (answer, asked) = tokio::join!(client.post(form), device.answer("done \u{7f}\"\\"));
        assert_eq!(answer.status, 200, "{form}: {answer:?}");
        assert_eq!(asked["args"], json!({"b": 1.0, "a": [1000.0]}), "{form}");
        assert!(answer.header("content-type").is_some_and(|kind| kind == "application/json"), "{answer:?}");
        bodies.push(answer.body);
    }
    for (form, body) in forms.iter().zip(&bodies) {
        assert_eq!(body, &bodies[0], "{form}");
    }
    let answer: Value = serde_json::from_str(&bodies[0]).unwrap();
    assert_eq!((&answer["id"], &answer["jsonrpc"]), (&json!("é\n1"), &json!("2.0")));
    assert_eq!(result(&answer)["content"], json!([{"type": "text", "text": "done \u{7f}\"\\"}]));
}

#[tokio::test]
async fn nearly_plain_calls_are_refused_as_specified() {
    let bench = GatewayHarness::new().await;
    let probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = bench.create_token("client").await.token;
    let client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Modern).await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"desk__a","arguments":{{}},{meta}}}}}"#
    );
    let mut plain = client.headers();
    for (name, value) in
        [("Content-Type", "application/json"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "desk__a")]
    {
        plain.push((name.to_owned(), value.to_owned()));
    }
    let with = |name: &str, value: Option<&str>| {
        let mut headers = plain.clone();
        headers.retain(|(known, _)| known != name);
        headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        headers
    };
    let post = async |headers: Vec<(String, String)>, body: &str| {
        bench.send_raw("POST", "/mcp", &headers, body).await
    };
    assert_eq!(post(plain.clone(), &body).await.status, 200);
    assert_eq!(probe.run_count(), 1);
    // -32020 is HeaderMismatch; missing fields of the body are -32602. Both have the status 400.
    for (name, value) in [
        ("Mcp-Name", Some("desk__b")),
        ("Mcp-Name", None),
        ("Mcp-Method", Some("tools/list")),
        ("MCP-Protocol-Version", Some("2025-11-25")),
    ] {
        let refused = post(with(name, value), &body).await;
        assert_eq!(refused.status, 400, "{name} {value:?}: {refused:?}");
        assert_eq!(refused.json()["error"]["code"], -32020, "{name} {value:?}: {refused:?}");
    }
    let mut twice = plain.clone();
    twice.push(("Mcp-Name".to_owned(), "desk__a".to_owned()));
    let twice = post(twice, &body).await;
    assert_eq!((twice.status, &twice.json()["error"]["code"]), (400, &json!(-32020)), "{twice:?}");
    let unread = post(with("Accept", Some("text/html")), &body).await;
    assert_eq!((unread.status, &unread.json()["id"]), (406, &json!(1)), "{unread:?}");
    let as_text = post(with("Content-Type", Some("text/plain")), &body).await;
    assert_eq!(as_text.status, 415, "{as_text:?}");
    let without = body.replace(r#","io.modelcontextprotocol/clientCapabilities":{}"#, "");
    let refused = post(plain.clone(), &without).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32602)), "{refused:?}");
    let deep = format!(r#""arguments":{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let refused = post(plain.clone(), &body.replace(r#""arguments":{}"#, &deep)).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32600)), "{refused:?}");
    assert_eq!(refused.json()["id"], 1, "{refused:?}");
    assert_eq!(probe.run_count(), 1, "nothing that was refused has run");
}

#[tokio::test]
async fn a_plain_call_is_cancelled_when_its_client_disconnects() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench, json!([{"name": "slow"}])).await;
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::at(&bench, "/mcp", &token, McpEra::Modern).await;
    tokio::select! {
        answer = client.request("tools/call", json!({"name": "phone__slow"})) => panic!("{answer}"),
        _ = device.receive_until("tool_call_request") => {}
    }
    let told = device.receive_until("tool_call_cancel").await;
    assert_eq!(told["reason"], "cancelled", "{told}");
    let latest = bench.send_as_owner("GET", "/api/calls?limit=1", None).await.json();
    assert_eq!(latest["calls"][0]["code"], "cancelled", "{latest}");
}
