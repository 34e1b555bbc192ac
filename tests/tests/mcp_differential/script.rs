//! The actions of the client and the record of results.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolway_tests::mcp::{McpExchange, McpHttpReply, McpServerAddress, McpTestClient};
use toolway_tests::{poll_until, with_timeout};

/// Results by action. Texts are unparsed bytes.
pub(super) type ObservedResults = BTreeMap<String, Value>;

/// Tools and arguments.
fn calls() -> Vec<(&'static str, Value)> {
    let exact: Value = json!({"zeta": 1.5, "alpha": {"next": {}}});
    vec![
        ("test_simple_text", json!({})),
        ("test_image_content", json!({})),
        ("test_audio_content", json!({})),
        ("test_embedded_resource", json!({})),
        ("test_multiple_content_types", json!({})),
        ("test_resource_link", json!({})),
        ("test_error_handling", json!({})),
        ("test_protocol_error", json!({})),
        ("test_exact", exact),
        ("test_structured", json!({"a": 1, "b": 2.5})),
        ("test_echo", json!({"z": [1, null, {"y": 1.0}], "a": "é"})),
        ("json_schema_2020_12_tool", json!({"name": "n", "contactMethod": "email", "email": "e"})),
        ("test_tool_with_logging", json!({})),
        ("test_sampling", json!({"prompt": "Which?"})),
        ("test_missing_capability", json!({})),
        ("test_elicitation", json!({"message": "Who?"})),
        ("test_pushed_elicitation", json!({})),
        ("test_streaming_elicitation", json!({})),
        ("test_elicitation_sep1034_defaults", json!({})),
        ("test_elicitation_sep1330_enums", json!({})),
        ("test_elicitation_url", json!({})),
        ("test_list_roots", json!({})),
        ("test_input_required_result_elicitation", json!({})),
        ("test_input_required_result_sampling", json!({})),
        ("test_input_required_result_list_roots", json!({})),
        ("test_input_required_result_request_state", json!({})),
        ("test_input_required_result_multiple_inputs", json!({})),
        ("test_input_required_result_multi_round", json!({})),
        ("test_input_required_result_capabilities", json!({})),
        ("greet", json!({"name": "Alice"})),
        ("slow_compute", json!({"seconds": 0, "label": "sums"})),
        ("failing_job", json!({})),
        ("protocol_error_job", json!({})),
        ("confirm_delete", json!({"filename": "a.txt"})),
        ("multi_input", json!({})),
        ("no_such_tool", json!({})),
    ]
}

/// The lists, and the field of their entries.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// Requests other than calls and lists.
fn requests() -> Vec<(&'static str, &'static str, Value)> {
    let completion = |kind: &str, key: &str, name: &str, argument: &str, value: &str| {
        json!({
            "ref": {"type": kind, key: name},
            "argument": {"name": argument, "value": value}
        })
    };
    let mut with_context = completion("ref/prompt", "name", "test_prompt_with_arguments", "arg2", "paris-p");
    with_context["context"] = json!({"arguments": {"arg1": "paris"}});
    vec![
        ("simple", "prompts/get", json!({"name": "test_simple_prompt"})),
        (
            "arguments",
            "prompts/get",
            json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
        ),
        (
            "resource",
            "prompts/get",
            json!({"name": "test_prompt_with_embedded_resource", "arguments": {"resourceUri": "test://x"}}),
        ),
        ("image", "prompts/get", json!({"name": "test_prompt_with_image"})),
        ("asking", "prompts/get", json!({"name": "test_input_required_result_prompt"})),
        ("argument missing", "prompts/get", json!({"name": "test_prompt_with_arguments"})),
        ("unknown", "prompts/get", json!({"name": "no_such_prompt"})),
        ("text", "resources/read", json!({"uri": "test://static-text"})),
        ("binary", "resources/read", json!({"uri": "test://static-binary"})),
        ("template", "resources/read", json!({"uri": "test://template/7/data"})),
        ("asking", "resources/read", json!({"uri": "test://asking"})),
        ("unknown", "resources/read", json!({"uri": "test://nowhere"})),
        (
            "prompt",
            "completion/complete",
            completion("ref/prompt", "name", "test_prompt_with_arguments", "arg1", "par"),
        ),
        ("context", "completion/complete", with_context),
        (
            "template",
            "completion/complete",
            completion("ref/resource", "uri", "test://template/{id}/data", "id", "1"),
        ),
        ("unknown", "completion/complete", completion("ref/prompt", "name", "no_such_prompt", "a", "")),
        ("ping", "ping", json!({})),
        ("unknown", "no/such/method", json!({})),
    ]
}

/// Runs all actions once.
pub(super) async fn record_all(place: McpServerAddress, version: &str) -> ObservedResults {
    let mut record = ObservedResults::new();
    let (mut client, hello) = McpTestClient::connect(place.clone(), version).await;
    record.insert("hello".to_owned(), hello.json());
    record_lists(&mut client, &mut record).await;
    let stream = if client.is_modern() {
        client.log_level = Some("notice");
        None
    } else {
        let level = client.request("logging/setLevel", json!({"level": "notice"})).await;
        record_exchange(&mut record, "logging/setLevel", &level);
        Some(client.listen().await)
    };
    let stream = record_logs(&mut client, stream, &mut record).await;
    for (name, arguments) in calls() {
        let called = client.request("tools/call", json!({"name": name, "arguments": arguments})).await;
        record_exchange(&mut record, &format!("tools/call {name}"), &called);
    }
    let params =
        json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p-1"}});
    record_exchange(&mut record, "tools/call with progress", &client.request("tools/call", params).await);
    for (what, method, params) in requests() {
        record_exchange(&mut record, &format!("{method} {what}"), &client.request(method, params).await);
    }
    record_undeclared(place, version, &mut record).await;
    record_changes(&mut client, stream, &mut record).await;
    record_cancellation(&mut client, &mut record).await;
    if !client.is_modern() {
        record.insert("DELETE".to_owned(), json!(client.close().await));
        let (_, after) = client.open("tools/list", json!({})).await;
        record.insert("after DELETE".to_owned(), json!(after.status));
    }
    record
}

fn record_exchange(record: &mut ObservedResults, name: &str, exchange: &McpExchange) {
    let told = json!({
        "status": exchange.status,
        "said": exchange.notifications,
        "asked": exchange.server_requests,
        "result": exchange.json(),
    });
    record.insert(name.to_owned(), told);
    // The result of a server's tool must be passed through unchanged.
    for what in ["content", "structuredContent"] {
        if let Some(bytes) = json_member(&exchange.raw, what) {
            record.insert(format!("{name}: bytes of {what}"), json!(bytes));
        }
    }
}

/// Returns a member of an object, byte for byte.
fn json_member(object: &str, key: &str) -> Option<String> {
    let parts: BTreeMap<String, Box<RawValue>> = serde_json::from_str(object).ok()?;
    parts.get(key).map(|part| part.get().to_owned())
}

async fn record_lists(client: &mut McpTestClient, record: &mut ObservedResults) {
    for tool in client.list("tools/list", "tools").await {
        let parsed: Value = serde_json::from_str(&tool).unwrap();
        let name = parsed["name"].as_str().unwrap().to_owned();
        for schema in ["inputSchema", "outputSchema"] {
            let bytes = json_member(&tool, schema);
            record.insert(format!("tools/list {name}: bytes of {schema}"), json!(bytes));
        }
        record.insert(format!("tools/list {name}"), parsed);
    }
    for (method, key) in LISTS {
        // Fields of a page other than its entries.
        let mut page = client.request(method, json!({})).await.json();
        page.as_object_mut().unwrap().remove(key);
        record.insert(format!("{method}: page"), page);
        if method == "tools/list" {
            continue;
        }
        let entries = client.list(method, key).await;
        let entries =
            entries.iter().map(|entry| serde_json::from_str(entry).unwrap()).collect::<Vec<Value>>();
        record.insert(method.to_owned(), json!(entries));
    }
}

/// Records the server's log during a call: with the answer, or on the MCP session's own stream.
async fn record_logs(
    client: &mut McpTestClient,
    mut stream: Option<McpHttpReply>,
    record: &mut ObservedResults,
) -> Option<McpHttpReply> {
    let called = client.request("tools/call", json!({"name": "test_logging_tool", "arguments": {}})).await;
    let mut told: Vec<Value> = called.notifications.iter().map(|(_, params)| params.clone()).collect();
    if let Some(stream) = &mut stream {
        while told.iter().all(|params| params["level"] != "emergency") {
            told.push(wait_for_notification(stream, "notifications/message").await["params"].clone());
        }
    }
    record.insert("log".to_owned(), json!(told));
    stream
}

/// Records the results for a client without capabilities.
async fn record_undeclared(place: McpServerAddress, version: &str, record: &mut ObservedResults) {
    let (mut client, _) = McpTestClient::connect_as(place, version, json!({})).await;
    for name in ["test_elicitation", "test_sampling", "test_list_roots", "test_missing_capability"] {
        let arguments = json!({"message": "m", "prompt": "p"});
        let called = client.request("tools/call", json!({"name": name, "arguments": arguments})).await;
        record_exchange(record, &format!("undeclared {name}"), &called);
    }
    for (method, params) in [
        ("prompts/get", json!({"name": "test_input_required_result_prompt"})),
        ("resources/read", json!({"uri": "test://asking"})),
    ] {
        record_exchange(record, &format!("undeclared {method}"), &client.request(method, params).await);
    }
}

/// Records change notifications, and the state after each.
async fn record_changes(
    client: &mut McpTestClient,
    stream: Option<McpHttpReply>,
    record: &mut ObservedResults,
) {
    const WATCHED: &str = "test://watched-resource";
    let mut stream = if let Some(stream) = stream {
        let subscribed = client.request("resources/subscribe", json!({"uri": WATCHED})).await;
        record_exchange(record, "subscribed", &subscribed);
        stream
    } else {
        let wants = json!({
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "resourceSubscriptions": [WATCHED],
        });
        let (_, mut stream) = client.open("subscriptions/listen", json!({"notifications": wants})).await;
        let acknowledged: Value = serde_json::from_str(&stream.next_message().await.unwrap()).unwrap();
        record.insert(
            "subscribed".to_owned(),
            json!([acknowledged["method"], acknowledged["params"]["notifications"]]),
        );
        stream
    };
    for (tool, method) in [
        ("test_trigger_tool_change", "notifications/tools/list_changed"),
        ("test_trigger_prompt_change", "notifications/prompts/list_changed"),
        ("test_trigger_resource_change", "notifications/resources/list_changed"),
        ("test_trigger_resource_update", "notifications/resources/updated"),
    ] {
        client.request("tools/call", json!({"name": tool, "arguments": {}})).await;
        let told = wait_for_notification(&mut stream, method).await;
        record.insert(format!("after {tool}"), told["params"]["uri"].clone());
    }
    let sees = async |client: &mut McpTestClient, method: &str, key: &str, what: &str| {
        let entries = client.list(method, key).await;
        entries.iter().any(|entry| entry.contains(what))
    };
    let seen = [
        sees(client, "tools/list", "tools", "test_sometimes").await,
        sees(client, "prompts/list", "prompts", "test_sometimes_prompt").await,
        sees(client, "resources/list", "resources", "test://sometimes").await,
    ];
    record.insert("what has come is seen".to_owned(), json!(seen));
    let now = client.request("tools/call", json!({"name": "test_sometimes", "arguments": {}})).await;
    record_exchange(record, "what has come is called", &now);
    // Restores the previous state.
    for (tool, method) in [
        ("test_trigger_tool_change", "notifications/tools/list_changed"),
        ("test_trigger_prompt_change", "notifications/prompts/list_changed"),
        ("test_trigger_resource_change", "notifications/resources/list_changed"),
    ] {
        client.request("tools/call", json!({"name": tool, "arguments": {}})).await;
        wait_for_notification(&mut stream, method).await;
    }
    if !client.is_modern() {
        let unsubscribed = client.request("resources/unsubscribe", json!({"uri": WATCHED})).await;
        record_exchange(record, "unsubscribed", &unsubscribed);
    }
}

/// Waits for a notification; others may come before it.
async fn wait_for_notification(stream: &mut McpHttpReply, method: &str) -> Value {
    let waiting = async {
        loop {
            let message = stream.next_message_unbounded().await.unwrap_or_else(|| panic!("no {method}"));
            let parsed: Value = serde_json::from_str(&message).unwrap();
            if parsed["method"] == method {
                return parsed;
            }
        }
    };
    with_timeout(method, waiting).await
}

/// Records a cancelled call: the server is notified.
async fn record_cancellation(client: &mut McpTestClient, record: &mut ObservedResults) {
    let counted = async |client: &mut McpTestClient| {
        let called =
            client.request("tools/call", json!({"name": "test_cancelled_count", "arguments": {}})).await;
        called.json()["content"][0]["text"].as_str().unwrap().parse::<u64>().unwrap()
    };
    let before = counted(client).await;
    let params = json!({"name": "test_until_cancelled", "arguments": {}, "_meta": {"progressToken": "c-1"}});
    let (id, mut stream) = client.open("tools/call", params).await;
    let begun = wait_for_notification(&mut stream, "notifications/progress").await;
    record.insert("begun".to_owned(), begun["params"].clone());
    if client.is_modern() {
        drop(stream);
    } else {
        let status =
            client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"})).await;
        record.insert("notifications/cancelled".to_owned(), json!(status));
    }
    poll_until("the server hears of the cancellation", async || {
        (counted(client).await > before).then_some(())
    })
    .await;
}
