//! Messages that can't be read, or not entirely: each costs as little as possible.

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolway_fake_models::ScriptedResponse;

use crate::chat_harness::{ChatHarness, message, tools};
use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

/// A gateway with a device that has the tool `battery`.
struct DeviceHarness {
    gateway: std::sync::Arc<GatewayHarness>,
    device: WebSocketClient,
}

impl DeviceHarness {
    async fn new(version: u32) -> Self {
        let gateway = std::sync::Arc::new(GatewayHarness::new().await);
        let token = gateway.create_token("device").await.token;
        let device = match version {
            1 => {
                let mut device = WebSocketClient::open(&gateway, "/ws/device?name=pixel", &token, None).await;
                device.send(json!({"type": "connect", "device_name": "pixel"})).await;
                device.expect("connected").await;
                device
            }
            _ => WebSocketClient::device(&gateway, &token, "pixel").await,
        };
        let mut it = Self { gateway, device };
        it.device.register(tools(&["battery"])).await;
        it
    }

    /// Calls the tool. The device answers with a frame in which `ID` is the call's id. Returns the id as well.
    async fn call(&mut self, answer: &str) -> (String, JoinHandle<Value>) {
        let gateway = std::sync::Arc::clone(&self.gateway);
        let call =
            tokio::spawn(
                async move { gateway.call(&gateway.owner.clone(), "pixel__battery", json!({})).await },
            );
        let request = self.device.receive_until("tool_call_request").await;
        let id = request["id"].as_str().unwrap().to_owned();
        self.device.send_text(&answer.replace("ID", &id)).await;
        (id, call)
    }
}

#[tokio::test]
async fn an_unreadable_answer_of_a_device_ends_its_call_and_the_device_learns_which() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for version in [1, 2] {
        let mut it = DeviceHarness::new(version).await;
        for (answer, expected, code) in [
            (
                format!(r#"{{"type":"tool_result","id":"ID","output":"","structured":{deep}}}"#),
                "it is nested deeper than 128 levels",
                "INVALID_JSON",
            ),
            (r#"{"type":"tool_result","id":"ID","output":NaN}"#.to_owned(), "expected value", "INVALID_JSON"),
            (
                r#"{"type":"tool_result","id":"ID","output":"","content":"x"}"#.to_owned(),
                "a field of the wrong form",
                "INVALID_MESSAGE",
            ),
            (
                r#"{"type":"tool_error","id":"ID","error":{"code":1}}"#.to_owned(),
                "a field of the wrong form",
                "INVALID_MESSAGE",
            ),
        ] {
            let (id, call) = it.call(&answer).await;
            let refusal = it.device.expect("error").await;
            assert_eq!(refusal["code"], code, "{refusal}");
            let text = refusal["message"].as_str().unwrap();
            assert!(text.contains(expected) && text.contains(&id), "{text}");
            // Version 1 has no such field.
            assert_eq!(refusal.get("id"), (version == 2).then(|| json!(id)).as_ref(), "{refusal}");
            let outcome = call.await.unwrap();
            assert_eq!((&outcome["code"], &outcome["dispatched"]), (&json!("tool_failed"), &json!(true)));
            let text = outcome["message"].as_str().unwrap();
            assert!(text.starts_with("The device's answer can't be read: "), "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }
}

#[tokio::test]
async fn an_output_that_is_no_string_is_json_on_version_1_and_an_error_on_version_2() {
    let mut older = DeviceHarness::new(1).await;
    let (_, call) = older.call(r#"{"type":"tool_result","id":"ID","output":{"percent":81.50}}"#).await;
    older.device.expect("result_acknowledged").await;
    let outcome = call.await.unwrap();
    assert_eq!((&outcome["status"], &outcome["result"]), (&json!("success"), &json!({"percent": 81.50})));
    let mut newer = DeviceHarness::new(2).await;
    let (id, call) = newer.call(r#"{"type":"tool_result","id":"ID","output":{"percent":81}}"#).await;
    assert_eq!(newer.device.expect("error").await["id"], id);
    let outcome = call.await.unwrap();
    assert!(outcome["message"].as_str().unwrap().contains("`output` must be a string"), "{outcome}");
}

#[tokio::test]
async fn an_unreadable_message_of_a_client_is_refused_with_its_id() {
    let gateway = GatewayHarness::new().await;
    let mut chat = WebSocketClient::chat(&gateway, &gateway.owner).await;
    chat.send_text(r#"{"type":"call_tool","id":"c1","name":"a","timeout_ms":-1}"#).await;
    let refusal = chat.expect("error").await;
    assert_eq!((&refusal["code"], &refusal["id"]), (&json!("INVALID_MESSAGE"), &json!("c1")));
}

#[tokio::test]
async fn half_a_surrogate_pair_in_a_devices_answer_costs_only_itself() {
    let mut it = DeviceHarness::new(2).await;
    let (_, call) = it.call(r#"{"type":"tool_result","id":"ID","output":"x \ud83d"}"#).await;
    it.device.expect("result_acknowledged").await;
    assert_eq!(call.await.unwrap()["result"], "x \u{FFFD}");
    it.device
        .send_text(r#"{"type":"register_tools","tools":[{"name":"battery","description":"\ude00 charge"}]}"#)
        .await;
    assert_eq!(it.device.receive_until("tools_registered").await["registered"], 1);
    let tool = it.gateway.send_as_owner("GET", "/api/tools/pixel__battery", None).await.json();
    assert_eq!(tool["description"], "\u{FFFD} charge", "{tool}");
}

#[tokio::test]
async fn half_a_surrogate_pair_reaches_a_model_as_a_replacement() {
    let it = ChatHarness::new().await;
    let body = r#"{"model":"default","messages":[{"role":"user","content":"x \ud83d"}]}"#;
    let headers = [
        ("Host".to_owned(), it.gateway.address().to_string()),
        ("Authorization".to_owned(), format!("Bearer {}", it.gateway.owner)),
        ("Content-Type".to_owned(), "application/json".to_owned()),
    ];
    it.fakes.answer(ScriptedResponse::text("Hello."));
    let answer = it.gateway.send_raw("POST", "/v1/chat/completions", &headers, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    it.fakes.answer(ScriptedResponse::text("Hello."));
    let body = r#"{"content":"\ude00 y","stream":false}"#;
    let answer = it.gateway.send_raw("POST", "/api/chat", &headers, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut chat = it.client().await;
    it.fakes.answer(ScriptedResponse::text("Hello."));
    chat.send_text(&message("z").to_string().replace('z', r"\ud83d z")).await;
    chat.receive_until("done").await;
    let said: Vec<_> =
        it.fakes.requests().iter().map(|request| request.said.last_user_text().to_owned()).collect();
    assert_eq!(said, ["x \u{FFFD}", "\u{FFFD} y", "\u{FFFD} z"]);
}
