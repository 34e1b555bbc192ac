//! Prompts that a person gets on a device, as seen by callers of the tool.

use serde_json::{Value, json};
use toolway_fake_models::{RequestMatcher, ScriptedResponse};

use crate::chat_harness::{ChatHarness, message, tools};
use crate::events::SseTestReader;
use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

const PROMPT: &str = "Finance wants to be allowed first: nobody allowed it";
const HINT: &str = "open Finance on the phone";
const ASKED: &str = "Finance wants to be allowed first: nobody allowed it (open Finance on the phone)";

/// Reports that a person is asked with this text.
async fn wait(device: &mut WebSocketClient, id: &Value, words: Value) {
    let mut waiting = json!({"type": "tool_waiting", "id": id, "for": "authorization"});
    waiting.as_object_mut().unwrap().extend(words.as_object().unwrap().clone());
    device.send(waiting).await;
}

fn words() -> Value {
    json!({"prompt": PROMPT, "hint": HINT})
}

async fn device(bench: &GatewayHarness) -> WebSocketClient {
    let mut device = WebSocketClient::device(bench, &bench.create_token("device").await.token, "pixel").await;
    device.register(tools(&["spend"])).await;
    device
}

#[tokio::test]
async fn a_websocket_caller_gets_the_prompt_of_its_call() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench).await;
    let mut chat = WebSocketClient::chat(&bench, &bench.create_token("client").await.token).await;
    chat.start("1", "pixel__spend", json!({})).await;
    let request = device.receive_until("tool_call_request").await;
    let id = &request["id"];
    let told = |progress: f64, message: &str| {
        let (kind, name) = ("tool_progress", "pixel__spend");
        json!({"type": kind, "id": "1", "name": name, "progress": progress, "message": message})
    };
    wait(&mut device, id, words()).await;
    assert_eq!(chat.receive().await, told(0.0, ASKED));
    device.send(json!({"type": "tool_progress", "id": id, "progress": 3.0, "total": 4.0})).await;
    chat.expect("tool_progress").await;
    wait(&mut device, id, json!({"prompt": PROMPT})).await;
    let mut expected = told(3.0, PROMPT);
    expected["total"] = json!(4.0);
    assert_eq!(chat.receive().await, expected);
    wait(&mut device, id, json!({"prompt": " ", "hint": HINT})).await;
    expected["message"] = json!(HINT);
    assert_eq!(chat.receive().await, expected);
    // A long question is truncated between characters.
    wait(&mut device, id, json!({"prompt": "\u{1b}é".repeat(1500), "hint": HINT})).await;
    expected["message"] = json!("\u{1b}é".repeat(1000));
    assert_eq!(chat.receive().await, expected);
    // Without a text, nothing is passed on.
    wait(&mut device, id, json!({})).await;
    wait(&mut device, id, json!({"prompt": "", "hint": ""})).await;
    device.send(json!({"type": "tool_result", "id": id, "output": "81"})).await;
    assert_eq!(chat.expect("call_result").await["result"], "81");
    // Nor after the call has ended.
    wait(&mut device, id, words()).await;
    device.register(json!([])).await;
    assert_eq!(chat.call("pixel__spend", json!({})).await["code"], "tool_not_available");
}

#[tokio::test]
async fn only_the_device_that_runs_a_call_can_report_a_prompt() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench).await;
    let mut other =
        WebSocketClient::device(&bench, &bench.create_token("device").await.token, "tablet").await;
    let mut chat = WebSocketClient::chat(&bench, &bench.create_token("client").await.token).await;
    chat.start("1", "pixel__spend", json!({})).await;
    let request = device.receive_until("tool_call_request").await;
    wait(&mut other, &request["id"], words()).await;
    other.register(json!([])).await;
    device.send(json!({"type": "tool_result", "id": request["id"], "output": "81"})).await;
    assert_eq!(chat.expect("call_result").await["result"], "81");
}

#[tokio::test]
async fn a_rest_caller_gets_the_prompt_in_its_stream() {
    let bench = GatewayHarness::new().await;
    let mut device = device(&bench).await;
    let token = bench.create_token("client").await.token;
    let called = async { SseTestReader::call(&bench, &token, "pixel__spend", json!({"args": {}})).await };
    let (mut events, request) = tokio::join!(called, device.receive_until("tool_call_request"));
    wait(&mut device, &request["id"], words()).await;
    assert_eq!(events.expect("progress").await, json!({"progress": 0.0, "message": ASKED}));
    device.send(json!({"type": "tool_result", "id": request["id"], "output": "81"})).await;
    assert_eq!(events.expect("outcome").await["result"], "81");
    events.end().await;
}

#[tokio::test]
async fn viewers_of_a_turn_get_the_prompt() {
    let it = ChatHarness::new().await;
    let mut device = device(&it.gateway).await;
    // For three turns.
    for _ in 0..3 {
        it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("pixel__spend", json!({})));
        it.fakes.when(RequestMatcher::result_of("pixel__spend"), ScriptedResponse::text("81."));
    }
    let answers = async |device: &mut WebSocketClient| {
        let request = device.receive_until("tool_call_request").await;
        wait(device, &request["id"], words()).await;
        device.send(json!({"type": "tool_result", "id": request["id"], "output": "81"})).await;
    };
    let mut chat = it.client().await;
    chat.send(message("how much?")).await;
    let call = chat.expect("tool_call").await;
    answers(&mut device).await;
    let told = json!({
        "type": "tool_progress", "id": call["id"], "name": "pixel__spend", "progress": 0.0, "message": ASKED,
    });
    assert_eq!(chat.receive().await, told);
    chat.expect("tool_result").await;
    chat.receive_until("done").await;

    let mut old = it.client_version_1().await;
    old.send(message("how much?")).await;
    old.expect("tool_call").await;
    answers(&mut device).await;
    old.expect("tool_result").await;
    old.receive_until("done").await;

    let token = it.create_token("client").await;
    let body = json!({"content": "how much?"});
    let mut events = SseTestReader::open(&it.gateway, "POST", "/api/chat", &token, Some(body)).await;
    answers(&mut device).await;
    loop {
        let (name, data) = events.next().await;
        assert_ne!(name, "tool_result", "told before");
        if name == "tool_progress" {
            assert_eq!((&data["message"], &data["progress"]), (&json!(ASKED), &json!(0.0)));
            break;
        }
    }
}
