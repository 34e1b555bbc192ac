//! Tools that sources may register by the owner's rules, and names that no source can take over.

use serde_json::{Value, json};

use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name, "description": "A tool"})).collect()
}

/// Returns the rejected names and the reasons.
fn rejected(answer: &Value) -> Vec<(&str, &str)> {
    let all = answer.get("rejected").and_then(Value::as_array);
    let pair = |it: &'static str| it;
    let (name, reason) = (pair("name"), pair("reason"));
    all.into_iter().flatten().map(|it| (it[name].as_str().unwrap(), it[reason].as_str().unwrap())).collect()
}

async fn ids(bench: &GatewayHarness, source: &str) -> Vec<String> {
    let listed = bench.send_as_owner("GET", "/api/tools", None).await.json();
    let listed = listed["tools"].as_array().unwrap();
    let mine = listed.iter().filter(|tool| tool["source"] == source);
    mine.map(|tool| tool["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_device_cannot_replace_a_tool_of_the_gateway_r5() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    let names = ["read_file", "get_current_time", "shell", "builtin__read_file"];
    let registered = device.register(tools(&names)).await;
    assert_eq!(registered["registered"], 4, "{registered}");
    let time = "2023-11-14T22:13:20+00:00";
    // The bare name resolves to the gateway's tool, for every entry point and caller.
    let companion = bench.create_token("companion").await;
    let mut chat = WebSocketClient::chat(&bench, &companion.token).await;
    chat.register(tools(&["get_current_time"])).await;
    for token in [&bench.owner, &companion.token] {
        assert_eq!(bench.call(token, "get_current_time", json!({})).await["result"], time);
    }
    assert_eq!(chat.call("get_current_time", json!({})).await["result"], time);
    let missing = bench.call(&bench.owner, "read_file", json!({"path": "none.txt"})).await;
    assert_eq!(missing["message"], "File not found: none.txt");
    // The device's tool has its full name.
    let (outcome, request) = tokio::join!(
        bench.call(&bench.owner, "pixel__read_file", json!({"path": "none.txt"})),
        device.answer("from the device")
    );
    assert_eq!((&outcome["result"], &request["name"]), (&json!("from the device"), &json!("read_file")));
    // A bare name that no other tool has can be used for the device's tool.
    let (outcome, _) =
        tokio::join!(bench.call(&bench.owner, "shell", json!({})), device.answer("no shell here"));
    assert_eq!(outcome["result"], "no shell here");
    let outcome = bench.call(&bench.owner, "builtin__read_file", json!({"path": "none.txt"})).await;
    assert_eq!(outcome["code"], "tool_not_available", "a name that looks like a full one is none");

    // A source can't take the name of one of the gateway's own sources.
    for reserved in ["builtin", "own", "shared"] {
        let mut pretender = WebSocketClient::open(&bench, "/ws/device", &token, Some("toolway.v2")).await;
        pretender
            .send(json!({"type": "connect", "v": 2, "device_id": reserved, "device_name": reserved}))
            .await;
        let source = pretender.receive_until("connected").await["source"].clone();
        assert_eq!(source, format!("{reserved}-2"));
    }
    assert_eq!(ids(&bench, "builtin").await.len(), 6);
}

#[tokio::test]
async fn names_that_the_owner_does_not_allow_are_refused_one_by_one() {
    let rules = json!({"registration": {"rules": [
        {"sources": ["pixel*"], "names": ["camera_*", "lamp"]},
    ]}});
    let bench = GatewayHarness::with(rules).await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    let answer = device.register(tools(&["camera_on", "shell", "lamp", "my_camera_on", "lamp2"])).await;
    assert_eq!((&answer["count"], &answer["registered"]), (&json!(5), &json!(2)));
    let reason = "the owner allows this source to register only camera_*, lamp";
    assert_eq!(rejected(&answer), [("shell", reason), ("my_camera_on", reason), ("lamp2", reason)]);
    assert_eq!(ids(&bench, "pixel").await, ["pixel/camera_on", "pixel/lamp"]);
    // Other sources are not limited.
    let mut other = WebSocketClient::device(&bench, &token, "desk").await;
    assert_eq!(other.register(tools(&["shell"])).await["registered"], 1);
}

#[tokio::test]
async fn the_first_matching_rule_wins() {
    let bench = GatewayHarness::new().await;
    let (trusted, other) = (bench.create_token("device").await, bench.create_token("device").await);
    let rules = json!({"registration": {"rules": [
        {"principals": [trusted.id]},
        {"sources": ["desk"], "max_tools": 1},
        {"names": ["lamp"]},
    ]}});
    bench.apply(rules).await.unwrap();
    let mut free = WebSocketClient::device(&bench, &trusted.token, "free").await;
    assert_eq!(free.register(tools(&["anything", "else"])).await["registered"], 2);
    let mut desk = WebSocketClient::device(&bench, &other.token, "desk").await;
    let answer = desk.register(tools(&["anything", "else"])).await;
    assert_eq!(rejected(&answer), [("else", "the owner allows this source to register at most 1 tools")]);
    let mut rest = WebSocketClient::device(&bench, &other.token, "rest").await;
    let answer = rest.register(tools(&["anything", "lamp"])).await;
    assert_eq!(rejected(&answer), [("anything", "the owner allows this source to register only lamp")]);
}

#[tokio::test]
async fn the_number_of_tools_is_limited_by_the_owner() {
    let rules = json!({"registration": {"rules": [{"max_tools": 2}]}});
    let bench = GatewayHarness::with(rules).await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    let add = async |device: &mut WebSocketClient, names: &[&str]| {
        device.send(json!({"type": "register_tools", "mode": "add", "tools": tools(names)})).await;
        device.receive_until("tools_registered").await
    };
    let refusal = "the owner allows this source to register at most 2 tools";
    let answer = device.register(tools(&["a", "b", "c"])).await;
    assert_eq!((&answer["registered"], rejected(&answer)), (&json!(2), vec![("c", refusal)]));
    assert_eq!(rejected(&add(&mut device, &["b", "c"]).await), [("c", refusal)], "b takes no more room");
    // Another list replaces the previous one.
    assert_eq!(device.register(tools(&["d"])).await["registered"], 1);
    assert_eq!(add(&mut device, &["e"]).await["registered"], 2);
    assert_eq!(rejected(&add(&mut device, &["f"]).await), [("f", refusal)]);
    assert_eq!(ids(&bench, "pixel").await, ["pixel/d", "pixel/e"]);
    // New rules apply to the next registration.
    bench.apply(json!({"registration": {"rules": [{"max_tools": 3, "names": ["f", "g"]}]}})).await.unwrap();
    let answer = add(&mut device, &["f", "g", "h"]).await;
    let only = "the owner allows this source to register only f, g";
    let most = "the owner allows this source to register at most 3 tools";
    assert_eq!(rejected(&answer), [("g", most), ("h", only)]);
    assert_eq!(ids(&bench, "pixel").await, ["pixel/d", "pixel/e", "pixel/f"]);
}

#[tokio::test]
async fn the_connections_of_one_source_share_its_limit() {
    let bench = GatewayHarness::with(json!({"registration": {"rules": [{"max_tools": 2}]}})).await;
    let companion = bench.create_token("companion").await;
    let (mut one, mut two) = (
        WebSocketClient::chat_at(&bench, &companion.token, "/ws/chat?name=pixel").await,
        WebSocketClient::chat_at(&bench, &companion.token, "/ws/chat?name=pixel").await,
    );
    assert_eq!(one.register(tools(&["a"])).await["registered"], 1);
    let answer = two.register(tools(&["a", "b", "c"])).await;
    let refusal = ("c", "the owner allows this source to register at most 2 tools");
    assert_eq!((&answer["registered"], rejected(&answer)), (&json!(2), vec![refusal]));
    let answer = one.register(tools(&["a", "c"])).await;
    assert_eq!(rejected(&answer), [refusal]);
    assert_eq!(ids(&bench, "pixel").await, ["pixel/a", "pixel/b"]);
    // Capacity that one connection frees is available to the other.
    two.close().await;
    assert_eq!(one.register(tools(&["a", "c"])).await["registered"], 2);
}

#[tokio::test]
async fn a_client_of_version_1_gets_the_number_of_registered_tools_and_the_reasons() {
    let bench = GatewayHarness::with(json!({"registration": {"rules": [{"names": ["lamp"]}]}})).await;
    let companion = bench.create_token("companion").await;
    let mut old = WebSocketClient::chat_version_1(&bench, &companion.token).await;
    let answer = old.register(tools(&["shell", "lamp"])).await;
    let refusal = "the owner allows this source to register only lamp";
    assert_eq!((&answer["count"], &answer["registered"]), (&json!(2), &json!(1)));
    assert_eq!(rejected(&answer), [("shell", refusal)]);
}

/// A device that looks fine but has no tools would mislead its owner.
#[tokio::test]
async fn a_connected_device_without_tools_is_reported_r16() {
    let bench =
        GatewayHarness::with(json!({"registration": {"rules": [{"sources": ["mute"], "names": ["none"]}]}}))
            .await;
    let token = bench.create_token("device").await.token;
    let warned = async || {
        let listed = bench.send_as_owner("GET", "/api/devices", None).await.json();
        let device = &listed["devices"][0];
        (device["status"].clone(), device["tools"].clone(), device["warnings"].clone())
    };
    let mut device = WebSocketClient::device(&bench, &token, "mute").await;
    let nothing = (json!("online"), json!(0), json!(["It is connected, but offers no tools."]));
    assert_eq!(warned().await, nothing, "it has registered nothing");
    assert_eq!(device.register(tools(&["camera"])).await["registered"], 0);
    assert_eq!(warned().await, nothing, "all that it has was refused");
    assert_eq!(device.register(tools(&["none"])).await["registered"], 1);
    assert_eq!(warned().await, (json!("online"), json!(1), json!([])));
    assert_eq!(device.register(json!([])).await["registered"], 0);
    assert_eq!(warned().await, nothing, "it took back what it had");
    device.close().await;
    assert_eq!(
        warned().await,
        (json!("offline"), json!(0), json!([])),
        "of one that is away nothing is expected"
    );
}

/// Valid tools are registered in order; each of the rest is refused by name.
#[tokio::test]
async fn the_first_tools_within_the_limit_of_a_connection_are_registered() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    let names: Vec<String> = (0..5000).map(|number| format!("t{number:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let answer = device.register(tools(&names)).await;
    assert_eq!((&answer["count"], &answer["registered"]), (&json!(5000), &json!(4096)));
    let reason = "a connection may register at most 4096 tools";
    let expected: Vec<(&str, &str)> = names[4096..].iter().map(|name| (*name, reason)).collect();
    assert_eq!(rejected(&answer), expected);
    let shown = bench.send_as_owner("GET", "/api/devices/pixel", None).await.json();
    assert_eq!(shown["tools"], 4096);
    let full: Vec<String> = names[..4096].iter().map(|name| format!("pixel__{name}")).collect();
    assert_eq!(shown["tool_names"], json!(full));
    let (outcome, _) = tokio::join!(
        bench.call(&bench.owner, "pixel__t4095", json!({})),
        device.answer("the last one that fits")
    );
    assert_eq!(outcome["result"], "the last one that fits");
    let outcome = bench.call(&bench.owner, "pixel__t4096", json!({})).await;
    assert_eq!(outcome["code"], "tool_not_available");
}

/// Every device may register tools, so a schema must not stall the others. Fifty of these patterns take 285 MB
/// and seconds to compile.
#[tokio::test]
async fn a_tool_with_expensive_patterns_is_refused_by_name() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    let patterns: Vec<_> =
        (0..50).map(|at| json!({"pattern": format!(r"[\p{{L}}\p{{N}}]{{100}}|x{at}")})).collect();
    let parameters = json!({"type": "object", "properties": {"a": {"allOf": patterns}}});
    let answer = device
        .register(json!([
            {"name": "heavy", "description": "A tool", "parameters": parameters},
            {"name": "light", "description": "A tool"},
            {"name": "heavy_result", "description": "A tool", "output_schema": parameters},
        ]))
        .await;
    assert_eq!((&answer["count"], &answer["registered"]), (&json!(3), &json!(1)));
    let refused = rejected(&answer);
    let names: Vec<_> = refused.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["heavy", "heavy_result"]);
    for ((_, reason), field) in refused.iter().zip(["parameters", "output_schema"]) {
        assert_eq!(
            *reason,
            format!(
                r#"{field}: the schema has the pattern "[\\p{{L}}\\p{{N}}]{{100}}|x0" at /properties/a/allOf/0/pattern, which would take more than 8388608 bytes when compiled; use smaller repetitions"#
            )
        );
    }
    assert_eq!(ids(&bench, "pixel").await, ["pixel/light"]);
}

#[tokio::test]
async fn a_client_gets_a_refusal_for_every_message_of_a_tool_provider() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await.token;
    for mut chat in
        [WebSocketClient::chat(&bench, &client).await, WebSocketClient::chat_version_1(&bench, &client).await]
    {
        for message in [
            json!({"type": "register_tools", "tools": []}),
            json!({"type": "unregister_tools", "names": ["a"]}),
            json!({"type": "get_registered_tools"}),
            json!({"type": "tool_result", "id": "c1", "output": "x"}),
            json!({"type": "tool_error", "id": "c1", "error": "x"}),
            json!({"type": "tool_progress", "id": "c1", "progress": 1}),
        ] {
            chat.send(message.clone()).await;
            let error = chat.receive_until("error").await;
            assert_eq!(error["code"], "FORBIDDEN", "{message}");
            assert!(error["message"].as_str().unwrap().contains("may not offer tools"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_tool_named_like_anothers_full_name_is_not_suggested_for_it() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut evil = WebSocketClient::device(&bench, &token, "evil").await;
    assert_eq!(evil.register(tools(&["pixel__unlock"])).await["registered"], 1);
    let outcome = bench.call(&bench.owner, "pixel__unlock", json!({})).await;
    assert_eq!(outcome["code"], "tool_not_available");
    assert!(!outcome.to_string().contains("evil"), "{outcome}");
    let shown = bench.send_as_owner("GET", "/api/tools/pixel__unlock", None).await;
    assert!(shown.status == 404 && !shown.body.contains("evil"), "{shown:?}");
}
