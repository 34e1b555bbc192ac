//! Tests of version 1 clients with several connections. `tests/data/version-1` has their single conversations.

use serde_json::json;
use toolway_fake_models::ScriptedResponse;

use crate::chat_harness::{ChatHarness, message, tools};
use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

async fn open(bench: &GatewayHarness, token: &str, path: &str) -> WebSocketClient {
    let mut peer = WebSocketClient::open(bench, path, token, None).await;
    peer.expect("session_start").await;
    peer
}

#[tokio::test]
async fn a_connection_without_a_name_takes_the_place_of_the_one_before_in_its_session() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("companion").await.token;
    let mut connections = Vec::new();
    // More than a token's sources. All stay open, as after a change of the network.
    for _ in 0..12 {
        let mut phone = open(&bench, &token, "/ws/chat?session_id=s1").await;
        assert_eq!(phone.register(tools(&["battery"])).await["registered"], 1);
        connections.push(phone);
    }
    let listed = bench.send_as_owner("GET", "/api/tools", None).await.json();
    let of_phones: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["name"].as_str().unwrap().ends_with("__battery"))
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    let [name] = of_phones.as_slice() else { panic!("{of_phones:?}") };
    // The newest one gets the calls, and an earlier one is not closed.
    let mut newest = connections.pop().unwrap();
    let call = bench.call(&bench.owner, name, json!({}));
    let answer = newest.answer("81");
    assert_eq!(tokio::join!(call, answer).0["result"], "81");
    let mut earlier = connections.pop().unwrap();
    earlier.send(json!({"type": "get_registered_tools"})).await;
    assert_eq!(earlier.expect("registered_tools").await["tools"], json!([]));
    // Another session is another source, and one that was replaced can come back.
    let mut other = open(&bench, &token, "/ws/chat?session_id=s2").await;
    assert_eq!(other.register(tools(&["torch"])).await["registered"], 1);
    assert_eq!(earlier.register(tools(&["battery"])).await["registered"], 1);
    newest.close().await;
    let call = bench.call(&bench.owner, name, json!({}));
    let answer = earlier.answer("82");
    assert_eq!(tokio::join!(call, answer).0["result"], "82");
}

#[tokio::test]
async fn only_one_message_waits_for_the_turn_of_a_lost_connection() {
    let it = ChatHarness::new().await;
    let token = it.create_token("companion").await;
    it.fakes.answer(ScriptedResponse::text("One").gate("first"));
    let mut lost = open(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    lost.send(message("one")).await;
    it.fakes.wait_for_gate("first").await;
    drop(lost);
    let mut back = open(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    back.send(message("two")).await;
    back.send(message("three")).await;
    assert_eq!(back.receive_until("error").await["code"], "SESSION_BUSY");
    it.fakes.answer(ScriptedResponse::text("Two"));
    it.fakes.open("first");
    assert_eq!(back.receive_until("done").await["full_response"], "One");
    assert_eq!(back.receive_until("done").await["full_response"], "Two");
    // A turn of this connection is busy, as before.
    it.fakes.answer(ScriptedResponse::text("Three").gate("second"));
    back.send(message("four")).await;
    it.fakes.wait_for_gate("second").await;
    back.send(message("five")).await;
    assert_eq!(back.receive_until("error").await["code"], "SESSION_BUSY");
    it.fakes.open("second");
    back.receive_until("done").await;
}

#[tokio::test]
async fn a_persona_is_an_agent_and_keeps_the_fields_that_version_1_does_not_know() {
    let it = ChatHarness::new().await;
    it.put_agent("cook", json!({"prompt": "Cook.", "approval": "always", "tools": ["*/*", "!pixel/camera"]}))
        .await;
    let path = "/api/personas/cook";
    let shown = it.send_as_owner("GET", path, None).await.json();
    assert_eq!(
        shown,
        json!({"name": "cook", "is_persona": true, "has_identity": false, "has_system_prompt": true,
               "system_prompt": "Cook.", "allowed_tools": [], "denied_tools": ["pixel__camera"], "denied_skills": []})
    );
    let change = json!({"system_prompt": "Bake.", "allowed_tools": ["read_file", "pixel__torch"], "denied_tools": [],
                        "model": "fake-model", "avatar": "x.png"});
    let changed = it.send_as_owner("PUT", path, Some(change)).await;
    assert_eq!((changed.status, changed.json()), (200, json!({"status": "ok", "name": "cook"})));
    let agent = it.send_as_owner("GET", "/api/agents/cook", None).await.json();
    assert_eq!(
        (&agent["prompt"], &agent["tools"], &agent["model"], &agent["approval"]),
        (
            &json!("Bake."),
            &json!(["*/read_file", "pixel/torch"]),
            &json!("fake/fake-model"),
            &json!("always")
        )
    );
    // Others see the name only.
    let token = it.create_token("companion").await;
    let listed = it.gateway.send("GET", "/api/personas", Some(&token), None).await.json();
    assert!(!listed.to_string().contains("Bake") && !listed.to_string().contains("torch"), "{listed}");
    let removed = it.send_as_owner("DELETE", path, None).await;
    assert_eq!((removed.status, removed.json()), (200, json!({"status": "ok", "name": "cook"})));
    assert_eq!(it.send_as_owner("GET", path, None).await.status, 404);
}

#[tokio::test]
async fn resources_of_version_1_are_deprecated_and_times_are_rfc_3339() {
    let it = ChatHarness::new().await;
    let document = it.send_as_owner("GET", "/api/openapi.json", None).await.json();
    for (path, method) in [
        ("/api/personas", "get"),
        ("/api/personas/{name}", "put"),
        ("/api/provider/models", "get"),
        ("/api/sessions/{id}", "put"),
    ] {
        assert_eq!(document["paths"][path][method]["deprecated"], true, "{method} {path}");
    }
    assert!(document["paths"]["/api/sessions/{id}"]["patch"].get("deprecated").is_none());
    it.fakes.answer(ScriptedResponse::text("Hello."));
    let mut chat = it.client().await;
    chat.send(message("hi")).await;
    chat.receive_until("done").await;
    let listed = it.send_as_owner("GET", "/api/sessions", None).await.json();
    let session = &listed["sessions"][0];
    assert_eq!(
        (&session["created_at"], &session["last_activity"]),
        (&json!("2023-11-14T22:13:20Z"), &json!("2023-11-14T22:13:20Z"))
    );
}
