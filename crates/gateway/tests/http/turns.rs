//! Turns over WebSocket in both protocol versions.

use serde_json::{Value, json};
use toolway_fake_models::{RequestMatcher, ResponseEnd, ResponseStep, ScriptedFailure, ScriptedResponse};

use crate::chat_harness::{ChatHarness, message, tools};
use crate::websocket::WebSocketClient;

#[tokio::test]
async fn an_answer_arrives_in_chunks_and_then_as_a_whole() {
    let it = ChatHarness::new().await;
    it.fakes.answer(ScriptedResponse::new().text_deltas(["Hel", "lo."]).usage(12, 3));
    let mut chat = it.client().await;
    chat.send(message("hi")).await;
    let mut text = String::new();
    let done = loop {
        let frame = chat.receive().await;
        match frame["type"].as_str() {
            Some("chunk") => text.push_str(frame["content"].as_str().unwrap()),
            _ => break frame,
        }
    };
    assert_eq!(text, "Hello.");
    assert_eq!(
        done,
        json!({"type": "done", "full_response": "Hello.", "rounds": 1, "tool_calls": 0, "finish_reason": "stop",
               "usage": {"input": 12, "output": 3, "cached": done["usage"]["cached"], "reasoning": done["usage"]["reasoning"]}})
    );
    assert_eq!(it.fakes.requests()[0].said.last_user_text(), "hi");
}

/// A client of version 1: chat and its own tool on the same socket, with only known messages.
#[tokio::test]
async fn a_client_of_version_1_registers_chats_and_runs_its_tool_on_one_socket() {
    let it = ChatHarness::new().await;
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().text_deltas(["One moment."]).tool_call("device_info", json!({})),
    );
    it.fakes.when(RequestMatcher::result_of("device_info"), ScriptedResponse::text("It is a Pixel 8."));
    let token = it.create_token("companion").await;
    let mut phone =
        WebSocketClient::open(&it.gateway, "/ws/chat?session_id=phone-1&name=Pixel", &token, None).await;
    // Without waiting for a response.
    phone.send(json!({"type": "connect", "session_id": "phone-1", "device_name": "Pixel 8", "capabilities": ["chat"]})).await;
    phone.send(json!({"type": "register_tools", "tools": tools(&["device_info"])})).await;
    phone.send(message("which phone is this?")).await;
    let mut seen = Vec::new();
    loop {
        let frame = phone.receive().await;
        assert_known_to_version_1(&frame);
        if frame["type"] == "tool_call_request" {
            assert_eq!((&frame["name"], &frame["args"]), (&json!("device_info"), &json!({})));
            phone.send(json!({"type": "tool_result", "id": frame["id"], "output": "{\"model\":\"Pixel 8\"}", "success": true})).await;
        }
        let is_last = frame["type"] == "done";
        seen.push(frame);
        if is_last {
            break;
        }
    }
    let kinds: Vec<&str> = seen.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["session_start", "connected", "tools_registered"]);
    assert_eq!(seen[0]["session_id"], "phone-1");
    assert_eq!(seen[1], json!({"type": "connected", "v": 1, "message": "Connection established"}));
    assert_eq!(seen[2], json!({"type": "tools_registered", "count": 1, "registered": 1}));
    let of = |kind: &str| seen.iter().find(|frame| frame["type"] == kind).unwrap();
    let id = &of("tool_call_request")["id"];
    assert_eq!(*of("tool_call"), json!({"type": "tool_call", "id": id, "name": "device_info", "args": {}}));
    let result =
        json!({"type": "tool_result", "id": id, "name": "device_info", "output": "{\"model\":\"Pixel 8\"}"});
    assert_eq!(*of("tool_result"), result);
    assert_eq!(*of("result_acknowledged"), json!({"type": "result_acknowledged", "id": id}));
    let said: String = seen
        .iter()
        .filter(|frame| frame["type"] == "chunk")
        .map(|frame| frame["content"].as_str().unwrap())
        .collect();
    assert_eq!(*of("done"), json!({"type": "done", "full_response": said}));
    assert!(said.starts_with("One moment.") && said.ends_with("It is a Pixel 8."), "{said}");
    // The model got the tool under its bare name, and read its result.
    let requests = it.fakes.requests();
    assert!(requests[0].said.tools.contains(&"device_info".to_owned()), "{:?}", requests[0].said.tools);
    assert!(requests[1].said.new_results()[0].text.contains("Pixel 8"));
}

/// Asserts that a frame has only messages and fields of version 1, from the protocol document.
fn assert_known_to_version_1(frame: &Value) {
    let fields: &[&str] = match frame["type"].as_str().unwrap() {
        "session_start" => &["v", "session_id", "resumed", "message_count", "name", "persona"],
        "connected" => &["v", "message"],
        "tools_registered" => &["count", "registered", "rejected"],
        "chunk" | "thinking" => &["content"],
        "chunk_reset" | "aborted" => &[],
        "tool_call" | "tool_call_request" => &["id", "name", "args"],
        "tool_result" => &["id", "name", "output"],
        "result_acknowledged" => &["id"],
        "debug_prompt" => &["messages", "estimated_tokens"],
        "done" => &["full_response"],
        "abort_ack" => &["status"],
        "title_updated" => &["title"],
        "error" => &["message", "code"],
        other => panic!("version 1 knows no {other}: {frame}"),
    };
    for (name, value) in frame.as_object().unwrap() {
        assert!(name == "type" || fields.contains(&name.as_str()), "{name} in {frame}");
        assert!(!value.is_null(), "{name} in {frame}");
    }
    for name in ["content", "output", "full_response", "session_id", "message"] {
        assert!(frame.get(name).is_none_or(Value::is_string), "{name} in {frame}");
    }
    assert!(frame.get("args").is_none_or(Value::is_object), "{frame}");
}

#[tokio::test]
async fn version_2_gets_the_outcome_of_a_tool() {
    let it = ChatHarness::new().await;
    let mut phone = WebSocketClient::device(&it.gateway, &it.create_token("device").await, "pixel").await;
    phone.register(tools(&["battery"])).await;
    it.fakes
        .when(RequestMatcher::user(), ScriptedResponse::new().tool_call("pixel__battery", json!({"a": 1})));
    it.fakes.when(RequestMatcher::result_of("pixel__battery"), ScriptedResponse::text("81 percent."));
    let mut chat = it.client().await;
    chat.send(message("battery?")).await;
    let call = chat.expect("tool_call").await;
    assert_eq!((&call["name"], &call["args"]), (&json!("pixel__battery"), &json!({"a": 1})));
    let request = phone.receive_until("tool_call_request").await;
    assert_eq!(request["id"], call["id"], "one call, one id");
    let progress =
        json!({"type": "tool_progress", "id": request["id"], "progress": 1, "total": 2, "message": "half"});
    phone.send(progress).await;
    let progress = chat.expect("tool_progress").await;
    assert_eq!(
        (&progress["id"], &progress["name"], &progress["message"]),
        (&call["id"], &json!("pixel__battery"), &json!("half"))
    );
    phone.send(json!({"type": "tool_result", "id": request["id"], "output": "81", "structured": {"percent": 81}})).await;
    let result = chat.expect("tool_result").await;
    assert_eq!(
        (&result["id"], &result["output"], &result["status"], &result["result"]),
        (&call["id"], &json!("81"), &json!("success"), &json!({"percent": 81}))
    );
    assert!(result["duration_ms"].is_f64(), "{result}");
    chat.receive_until("done").await;
    // The call record has the session and the turn.
    let path = format!("/api/calls/{}", call["id"].as_str().unwrap());
    let record = it.send_as_owner("GET", &path, None).await.json();
    assert_eq!(
        (&record["agent"], &record["tool_id"]),
        (&json!("default"), &json!("pixel/battery")),
        "{record}"
    );
    assert!(record["session_id"].is_string() && record["turn_id"].is_string(), "{record}");
}

#[tokio::test]
async fn a_tool_registered_in_mid_turn_is_usable_in_the_next_request_r11() {
    let it = ChatHarness::new().await;
    let mut phone = WebSocketClient::device(&it.gateway, &it.create_token("device").await, "pixel").await;
    phone.register(tools(&["battery"])).await;
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("pixel__battery", json!({})));
    it.fakes.when(
        RequestMatcher::result_of("pixel__battery"),
        ScriptedResponse::new().tool_call("torch", json!({"on": true})),
    );
    it.fakes.when(RequestMatcher::result_of("torch"), ScriptedResponse::text("It is on."));
    // No tool of the client is registered when the turn begins.
    let mut chat = it.client_version_1().await;
    chat.send(message("light, please")).await;
    let request = phone.receive_until("tool_call_request").await;
    chat.send(json!({"type": "register_tools", "tools": tools(&["torch"])})).await;
    assert_eq!(chat.receive_until("tools_registered").await["registered"], 1);
    phone.send(json!({"type": "tool_result", "id": request["id"], "output": "81"})).await;
    let request = chat.answer("on").await;
    assert_eq!((&request["name"], &request["args"]), (&json!("torch"), &json!({"on": true})));
    assert_eq!(chat.receive_until("done").await["full_response"], "It is on.");
    let offered: Vec<_> =
        it.fakes.requests().iter().map(|request| request.said.tools.contains(&"torch".to_owned())).collect();
    assert_eq!(offered, [false, true, true]);
}

#[tokio::test]
async fn an_abort_ends_the_models_answer_at_once_and_keeps_its_text_r10() {
    let it = ChatHarness::new().await;
    it.fakes.answer(
        ScriptedResponse::text("I think that").gate("never").then(ResponseStep::Text(" nothing".to_owned())),
    );
    let mut chat = it.client().await;
    chat.send(message("hi")).await;
    assert_eq!(chat.expect("chunk").await["content"], "I think that");
    it.fakes.wait_for_gate("never").await;
    chat.send(json!({"type": "abort"})).await;
    assert_eq!(chat.expect("abort_ack").await["status"], "aborting");
    let aborted = chat.expect("aborted").await;
    assert!(aborted.get("usage").is_some());
    assert_eq!(it.fakes.wait_for_end(0).await, ResponseEnd::Dropped, "the model's server is told");
    // The session is free, and nothing is lost.
    it.fakes.answer(ScriptedResponse::text("Again."));
    chat.send(message("go on")).await;
    assert_eq!(chat.receive_until("done").await["full_response"], "Again.");
    let said = &it.fakes.requests()[1].said.messages;
    let texts: Vec<_> = said.iter().map(|message| (message.role.as_str(), message.text.as_str())).collect();
    assert_eq!((texts[0], texts.last().unwrap()), (("user", "hi"), &("user", "go on")));
    assert!(
        texts.iter().any(|(role, text)| *role == "assistant" && text.contains("I think that")),
        "{texts:?}"
    );
    chat.send(json!({"type": "abort"})).await;
    assert_eq!(chat.expect("abort_ack").await["status"], "idle");
}

#[tokio::test]
async fn an_abort_reaches_the_device_and_does_not_wait_for_the_tool_r10() {
    let it = ChatHarness::new().await;
    let mut phone = WebSocketClient::device(&it.gateway, &it.create_token("device").await, "pixel").await;
    phone.register(tools(&["slow"])).await;
    it.fakes.answer(ScriptedResponse::new().tool_call("pixel__slow", json!({})));
    let token = it.create_token("client").await;
    let mut chat = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    chat.send(message("go")).await;
    let call = chat.expect("tool_call").await;
    phone.receive_until("tool_call_request").await;
    // Over REST, like some clients.
    let answer = it.gateway.send("POST", "/api/sessions/s1/abort", Some(&token), None).await;
    assert_eq!((answer.status, answer.json()), (200, json!({"status": "aborting"})));
    let cancel = phone.receive_until("tool_call_cancel").await;
    assert_eq!((&cancel["id"], &cancel["reason"]), (&call["id"], &json!("cancelled")));
    chat.receive_until("aborted").await;
    let answer = it.gateway.send("POST", "/api/sessions/s1/abort", Some(&token), None).await;
    assert_eq!(answer.json(), json!({"status": "idle"}));
}

#[tokio::test]
async fn one_turn_per_session_and_many_sessions_in_parallel() {
    let it = ChatHarness::new().await;
    for user in ["one", "two"] {
        it.fakes.when(
            RequestMatcher::user_has(user),
            ScriptedResponse::text(format!("To {user}: "))
                .gate(user)
                .then(ResponseStep::Text("done.".to_owned())),
        );
    }
    let (mut one, mut two) = (it.client().await, it.client().await);
    one.send(message("one")).await;
    two.send(message("two")).await;
    assert_eq!(one.expect("chunk").await["content"], "To one: ");
    assert_eq!(two.expect("chunk").await["content"], "To two: ");
    one.send(message("one more")).await;
    let busy = one.expect("error").await;
    assert_eq!((&busy["code"], busy["hint"].is_string()), (&json!("SESSION_BUSY"), true));
    it.fakes.open("two");
    assert_eq!(two.receive_until("done").await["full_response"], "To two: done.");
    it.fakes.open("one");
    assert_eq!(one.receive_until("done").await["full_response"], "To one: done.");
}

#[tokio::test]
async fn nothing_of_one_session_reaches_another_r12() {
    let it = ChatHarness::new().await;
    it.fakes.when(RequestMatcher::user_has("secret"), ScriptedResponse::status(401));
    it.fakes.when(RequestMatcher::user_has("open"), ScriptedResponse::text("fine"));
    let (mut one, mut two) = (it.client().await, it.client().await);
    one.send(message("secret")).await;
    assert_eq!(one.receive_until("error").await["code"], "AUTH_ERROR");
    two.send(message("open")).await;
    assert_eq!(two.expect("chunk").await["content"], "fine");
    two.expect("done").await;
    // Any other frame would come before this one.
    two.send(json!({"type": "abort"})).await;
    two.expect("abort_ack").await;
}

#[tokio::test]
async fn a_mid_answer_failure_is_shown_and_the_partial_text_is_marked_m12() {
    let it = ChatHarness::new().await;
    it.fakes.answer(
        ScriptedResponse::text("Half of")
            .then(ResponseStep::Error(ScriptedFailure::status(500).with_message("the engine burns"))),
    );
    let token = it.create_token("client").await;
    let mut chat = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    chat.send(message("hi")).await;
    assert_eq!(chat.expect("chunk").await["content"], "Half of");
    let error = chat.receive_until("error").await;
    assert_eq!((&error["code"], &error["reason"]), (&json!("PROVIDER_ERROR"), &json!("provider")));
    assert!(error["message"].as_str().unwrap().contains("the engine burns"), "{error}");
    let session = it.gateway.send("GET", "/api/sessions/s1", Some(&token), None).await.json();
    let history = session["messages"].as_array().unwrap();
    assert_eq!(
        (&history[1]["role"], &history[1]["truncated"]),
        (&json!("assistant"), &json!(true)),
        "{session}"
    );
    assert_eq!(history[1]["parts"][0]["text"], "Half of");
    assert_eq!(session["turns"][0]["status"], "failed");
    // The session continues.
    it.fakes.answer(ScriptedResponse::text("Whole."));
    chat.send(message("again?")).await;
    assert_eq!(chat.receive_until("done").await["full_response"], "Whole.");
}

#[tokio::test]
async fn a_device_disconnect_in_a_turn_ends_its_call_and_not_the_turn_r1() {
    let it = ChatHarness::new().await;
    let phone = it.create_token("companion").await;
    let mut device = WebSocketClient::open(&it.gateway, "/ws/chat?name=phone", &phone, None).await;
    device.expect("session_start").await;
    device.register(tools(&["slow"])).await;
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("phone__slow", json!({})));
    it.fakes.when(RequestMatcher::result_of("phone__slow"), ScriptedResponse::text("It is gone."));
    let mut chat = it.client().await;
    chat.send(message("go")).await;
    chat.expect("tool_call").await;
    device.receive_until("tool_call_request").await;
    drop(device);
    let result = chat.expect("tool_result").await;
    assert_eq!((&result["status"], &result["code"]), (&json!("error"), &json!("device_disconnected")));
    assert_eq!(result["dispatched"], true);
    assert_eq!(chat.receive_until("done").await["full_response"], "It is gone.");
    it.fakes.answer(ScriptedResponse::text("Free."));
    chat.send(message("free?")).await;
    chat.receive_until("done").await;
}

#[tokio::test]
async fn a_large_output_is_truncated_for_the_model_and_kept_in_the_record_r19() {
    let it = ChatHarness::with(json!({"limits": {"model_result_bytes": 2000}})).await;
    let mut phone = WebSocketClient::device(&it.gateway, &it.create_token("device").await, "pixel").await;
    phone.register(tools(&["dump"])).await;
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("pixel__dump", json!({})));
    it.fakes.when(RequestMatcher::result_of("pixel__dump"), ScriptedResponse::text("Long."));
    let mut chat = it.client().await;
    chat.send(message("dump")).await;
    phone.answer(&"x".repeat(300_000)).await;
    let call = chat.receive_until("tool_call").await;
    let result = chat.receive_until("tool_result").await;
    assert!(result["output"].as_str().unwrap().len() < 3000, "shown as the model is told");
    chat.receive_until("done").await;
    let requests = it.fakes.requests();
    let text = &requests[1].said.new_results()[0].text;
    assert!(text.len() < 4000, "{} bytes", text.len());
    assert!(text.contains("[truncated: "), "the note is missing: {text}");
    let path = format!("/api/calls/{}", call["id"].as_str().unwrap());
    let record = it.send_as_owner("GET", &path, None).await.body;
    assert!(record.len() > 300_000, "{} bytes", record.len());
}

#[tokio::test]
async fn regenerate_answers_the_last_message_again() {
    let it = ChatHarness::new().await;
    let token = it.create_token("client").await;
    let mut chat = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    chat.send(json!({"type": "regenerate"})).await;
    assert_eq!(chat.expect("error").await["code"], "NO_USER_MESSAGE");
    it.fakes.answers([ScriptedResponse::text("Red."), ScriptedResponse::text("Blue.")]);
    chat.send(message("a colour?")).await;
    assert_eq!(chat.receive_until("done").await["full_response"], "Red.");
    chat.send(json!({"type": "regenerate"})).await;
    assert_eq!(chat.receive_until("done").await["full_response"], "Blue.");
    let again = &it.fakes.requests()[1].said.messages;
    assert_eq!((again.len(), again[0].text.as_str()), (1, "a colour?"), "the first answer is not in the way");
    let session = it.gateway.send("GET", "/api/sessions/s1", Some(&token), None).await.json();
    assert_eq!(session["messages"][1]["parts"][0]["text"], "Blue.");
    assert_eq!(session["message_count"], 2);
}

#[tokio::test]
async fn debug_shows_the_request_to_the_model_with_string_contents() {
    let it = ChatHarness::new().await;
    it.fakes.answer(ScriptedResponse::text("ok"));
    let mut chat = it.client_version_1().await;
    chat.send(json!({"type": "message", "content": "look", "debug": true,
                    "attachments": [{"type": "image", "data": "iVBORw0=", "mimeType": "image/png"}]}))
        .await;
    let prompt = chat.expect("debug_prompt").await;
    assert_known_to_version_1(&prompt);
    // Version 1 reads a string.
    let messages: Value = serde_json::from_str(prompt["messages"].as_str().unwrap()).unwrap();
    let messages = messages.as_array().unwrap();
    assert!(prompt["estimated_tokens"].as_u64().unwrap() > 0, "{prompt}");
    assert!(messages.iter().all(|message| message["content"].is_string()), "{prompt}");
    assert!(messages.iter().any(|message| message["role"] == "user" && message["content"].as_str().unwrap().contains("look")));
    chat.receive_until("done").await;
    assert_eq!(it.fakes.requests()[0].said.messages[0].images, 1, "the picture was sent");
}

#[tokio::test]
async fn invalid_messages_are_refused_with_the_reason() {
    let it = ChatHarness::new().await;
    let mut chat = it.client().await;
    for (said, code) in [
        (json!({"type": "message", "content": " \n"}), "EMPTY_CONTENT"),
        (json!({"type": "message"}), "EMPTY_CONTENT"),
        (json!({"type": "message", "content": "x".repeat((1 << 20) + 1)}), "LIMIT_EXCEEDED"),
        (
            json!({"type": "message", "content": "x", "attachments": [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}]}),
            "INVALID_MESSAGE",
        ),
        (
            json!({"type": "message", "content": "x", "attachments": [{"type": "image", "data": "?", "mimeType": "image/png"}]}),
            "INVALID_MESSAGE",
        ),
    ] {
        chat.send(said).await;
        assert_eq!(chat.expect("error").await["code"], code);
    }
    assert_eq!(it.fakes.request_count(), 0, "the model was asked nothing");
}

#[tokio::test]
async fn without_a_model_everything_but_the_turn_works() {
    let bench = crate::support::GatewayHarness::new().await;
    let mut chat = WebSocketClient::chat(&bench, &bench.create_token("companion").await.token).await;
    chat.send(message("hello")).await;
    let error = chat.receive_until("error").await;
    assert_eq!(error["code"], "NO_MODEL");
    assert!(error["hint"].as_str().unwrap().contains("toolway models add"), "{error}");
    assert_eq!(chat.call("get_current_time", json!({})).await["status"], "success");
}

#[tokio::test]
async fn a_question_of_a_turns_call_goes_to_its_chat() {
    let it =
        ChatHarness::with(json!({"chat": {"generate_titles": false}, "permissions": {"default": "ask"}}))
            .await;
    let probe =
        crate::probe_tools::ProbeTools::with_permissions(&it.gateway, "desk", "locate", &["device.location"]);
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("desk__locate", json!({})));
    it.fakes.when(RequestMatcher::result_of("desk__locate"), ScriptedResponse::text("Here."));
    let mut chat = it.client().await;
    chat.send(message("where?")).await;
    let question = chat.receive_until("permission_request").await;
    assert_eq!(question["tool"], "desk__locate");
    chat.decide(&question, "granted", "session").await;
    chat.receive_until("done").await;
    assert_eq!(probe.run_count(), 1);
    // Version 1 has no questions, so there is nobody to ask.
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("desk__locate", json!({})));
    it.fakes.when(RequestMatcher::result_of("desk__locate"), ScriptedResponse::text("I may not."));
    let mut old = it.client_version_1().await;
    old.send(message("where?")).await;
    old.receive_until("done").await;
    assert_eq!(probe.run_count(), 1);
    let told = it.fakes.requests().last().unwrap().said.new_results()[0].text.clone();
    assert!(told.contains("approval_unavailable"), "{told}");
}

#[tokio::test]
async fn a_version_1_chat_says_that_it_waits_for_the_owner_who_watches() {
    let rules = json!([{"name": "careful", "when": {"tools": ["desk/*"]}, "effect": "ask"}]);
    let it = ChatHarness::with(json!({"chat": {"generate_titles": false}, "policy": {"rules": rules}})).await;
    let probe = crate::probe_tools::ProbeTools::offer(&it.gateway, "desk", &["open_door"]);
    let says = "waiting for approval: the rule \"careful\" asks before desk/open_door runs; the owner answers with \
                `toolway approvals watch`";
    for version in [1, 2] {
        it.fakes
            .when(RequestMatcher::user(), ScriptedResponse::new().tool_call("desk__open_door", json!({})));
        it.fakes.when(RequestMatcher::result_of("desk__open_door"), ScriptedResponse::text("It is open."));
        let mut watch = crate::events::SseTestReader::watch(&it.gateway).await;
        let mut chat = if version == 1 { it.client_version_1().await } else { it.client().await };
        chat.send(message("open the door")).await;
        if version == 1 {
            let shown = chat.receive_until("chunk").await;
            assert_known_to_version_1(&shown);
            assert_eq!(shown["content"], format!("\n\n[desk__open_door: {says}]\n\n"));
        } else {
            assert_eq!(chat.receive_until("tool_progress").await["message"], says);
        }
        let question = watch.expect("approval_requested").await;
        let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
        let answer = it.send_as_owner("POST", &path, Some(json!({"decision": "granted"}))).await;
        assert_eq!(answer.status, 204, "{answer:?}");
        let done = chat.receive_until("done").await;
        assert_eq!(done["full_response"], "It is open.", "the notice is not part of the answer");
    }
    assert_eq!(probe.run_count(), 2);
}

#[tokio::test]
async fn a_refusal_by_a_person_is_a_permission_error_for_the_model() {
    let it =
        ChatHarness::with(json!({"chat": {"generate_titles": false}, "permissions": {"default": "ask"}}))
            .await;
    let probe =
        crate::probe_tools::ProbeTools::with_permissions(&it.gateway, "desk", "locate", &["device.location"]);
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().tool_call("desk__locate", json!({"exact": true})),
    );
    it.fakes.when(RequestMatcher::result_of("desk__locate"), ScriptedResponse::text("You said no."));
    let mut chat = it.client().await;
    chat.send(message("where am I?")).await;
    let question = chat.receive_until("permission_request").await;
    assert_eq!(
        (&question["kind"], &question["tool"], &question["permission"]),
        (&json!("permission"), &json!("desk__locate"), &json!("device.location"))
    );
    chat.decide(&question, "denied", "once").await;
    let shown = chat.receive_until("tool_result").await;
    assert_eq!((&shown["name"], &shown["code"]), (&json!("desk__locate"), &json!("denied")));
    let done = chat.receive_until("done").await;
    assert_eq!((&done["full_response"], &done["finish_reason"]), (&json!("You said no."), &json!("stop")));
    assert_eq!(probe.run_count(), 0);
    let requests = it.fakes.requests();
    assert_eq!(requests.len(), 2, "it is not asked again");
    let [told] = requests[1].said.new_results() else { panic!("{:?}", requests[1].said) };
    let told: Value = serde_json::from_str(&told.text).unwrap();
    assert_eq!(
        told,
        json!({"status": "error", "error_type": "permission_denied", "code": "denied",
               "message": "Permission device.location was denied by the user",
               "dispatched": false, "retryable": false})
    );
}

#[tokio::test]
async fn tools_past_the_model_limit_are_found_with_find_tools_m6() {
    let it = ChatHarness::new().await;
    let mut phone = WebSocketClient::device(&it.gateway, &it.create_token("device").await, "pixel").await;
    let names: Vec<String> = (0..44).map(|at| format!("sensor_{at:02}")).collect();
    let mut offered = tools(&names.iter().map(String::as_str).collect::<Vec<_>>());
    // The last tool of the list in any order.
    let shutter = json!({"name": "zz_shutter", "description": "Takes a photograph with the rear lens",
                         "parameters": {"type": "object", "properties": {"zoom": {"type": "number"}}}});
    offered.as_array_mut().unwrap().push(shutter);
    assert_eq!(phone.register(offered).await["registered"], 45);
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().tool_call("find_tools", json!({"query": "photograph lens"})),
    );
    it.fakes.when(
        RequestMatcher::result_of("find_tools"),
        ScriptedResponse::new().tool_call("pixel__zz_shutter", json!({"zoom": 2})),
    );
    it.fakes.when(RequestMatcher::result_of("pixel__zz_shutter"), ScriptedResponse::text("Taken."));
    let mut chat = it.client().await;
    chat.send(message("a picture, please")).await;
    let request = phone.answer("photo 1").await;
    assert_eq!((&request["name"], &request["args"]), (&json!("zz_shutter"), &json!({"zoom": 2})));
    let done = chat.receive_until("done").await;
    assert_eq!((&done["full_response"], &done["tool_calls"]), (&json!("Taken."), &json!(2)));
    let requests = it.fakes.requests();
    let has = |at: usize, name: &str| requests[at].said.tools.iter().any(|tool| tool == name);
    for (at, request) in requests.iter().enumerate() {
        assert_eq!(request.said.tools.len(), 40, "as many as are told by default, in request {at}");
        assert!(has(at, "find_tools"), "what is not told can always be looked for");
    }
    let told = [0, 1, 2].map(|at| has(at, "pixel__zz_shutter"));
    assert_eq!(told, [false, true, true], "what was found is there from then on");
    let found: Value = serde_json::from_str(&requests[1].said.new_results()[0].text).unwrap();
    assert_eq!(
        (&found["result"]["tools"][0]["name"], &found["result"]["found"]),
        (&json!("pixel__zz_shutter"), &json!(1))
    );
    assert!(requests[2].said.new_results()[0].text.contains("photo 1"));
}

#[tokio::test]
async fn every_entry_point_tells_of_tools_that_are_not_in_the_models_list() {
    let it = ChatHarness::new().await;
    let names: Vec<String> = (0..60).map(|at| format!("sensor_{at:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let _probe = crate::probe_tools::ProbeTools::offer(&it.gateway, "desk", &names);
    for _ in 0..5 {
        it.fakes.answer(ScriptedResponse::text("Hi."));
    }
    // 60 sensors and 6 built-in tools.
    let told = "26 of 66 tools are not in the list for the model; it can find them with find_tools";
    let mut chat = it.client().await;
    chat.send(message("hi")).await;
    let notice = chat.receive().await;
    assert_eq!(notice, json!({"type": "notice", "code": "tools_left_out", "message": told}));
    chat.receive_until("done").await;
    let mut old = it.client_version_1().await;
    old.send(message("hi")).await;
    let thinking = old.receive_until("thinking").await;
    assert_eq!(thinking, json!({"type": "thinking", "content": format!("[{told}]\n")}));
    let body = json!({"content": "hi", "stream": false});
    let answer = it.send_as_owner("POST", "/api/chat", Some(body)).await.json();
    assert_eq!(answer["notices"], json!([{"code": "tools_left_out", "message": told}]));
    for stream in [false, true] {
        let messages = json!([{"role": "user", "content": "hi"}]);
        let body = json!({"model": "default", "messages": messages, "stream": stream});
        let answer = it.send_as_owner("POST", "/v1/chat/completions", Some(body)).await;
        assert_eq!(answer.header("toolway-notice"), Some(&*format!("tools_left_out: {told}")), "{answer:?}");
    }
    for request in it.fakes.requests() {
        for name in ["read_file", "write_file", "list_files", "http_request", "get_current_time"] {
            assert!(request.said.tools.iter().any(|tool| tool == name), "{name}");
        }
    }
}

#[tokio::test]
async fn of_three_hundred_calls_in_one_answer_the_first_256_run_and_the_turn_goes_on() {
    let it = ChatHarness::new().await;
    let probe = crate::probe_tools::ProbeTools::offer(&it.gateway, "desk", &["ping"]);
    let calls = (0..300).fold(ScriptedResponse::new(), |it, _| it.tool_call("desk__ping", json!({})));
    it.fakes.when(RequestMatcher::user(), calls);
    it.fakes.when(RequestMatcher::result_of("desk__ping"), ScriptedResponse::text("Done."));
    let mut chat = it.client().await;
    chat.send(message("ping it 300 times")).await;
    let (mut made, mut refused) = (0, Vec::new());
    let done = loop {
        let frame = chat.receive().await;
        match frame["type"].as_str() {
            Some("tool_result") if frame["status"] == "success" => made += 1,
            Some("tool_result") => refused.push(frame),
            Some("tool_call" | "chunk") => {}
            _ => break frame,
        }
    };
    assert_eq!((done["type"].as_str(), done["full_response"].as_str()), (Some("done"), Some("Done.")));
    assert_eq!((probe.run_count(), made, refused.len()), (256, 256, 44));
    for frame in refused {
        assert_eq!(frame["code"], "overloaded", "{frame}");
        let message =
            "The call was not made: the answer has 300 calls, and only the first 256 of an answer are made";
        assert_eq!(
            (&frame["message"], &frame["hint"]),
            (&json!(message), &json!("Make it again in the next answer"))
        );
    }
    assert_eq!(it.fakes.requests()[1].said.new_results().len(), 300, "each call has its result");
}

/// A phone out of reach does not close its socket; only missing pongs reveal it.
#[tokio::test]
async fn tools_of_a_device_without_pongs_leave_the_next_request_r16() {
    let it = ChatHarness::with(json!({"chat": {"generate_titles": false}, "timeouts": {"heartbeat_s": 0.5}}))
        .await;
    let _probe = crate::probe_tools::ProbeTools::offer(&it.gateway, "desk", &["look"]);
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().gate("silence").tool_call("desk__look", json!({})),
    );
    it.fakes.when(RequestMatcher::result_of("desk__look"), ScriptedResponse::text("The phone is away."));
    let token = it.create_token("companion").await;
    let mut phone = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?name=phone").await;
    phone.register(tools(&["torch"])).await;
    let mut chat = it.client().await;
    // It reads all the time, and so answers its own pings.
    let turn = tokio::spawn(async move {
        chat.send(message("light, please")).await;
        chat.receive_until("done").await
    });
    it.fakes.wait_for_gate("silence").await;
    let status = async || {
        let listed = it.send_as_owner("GET", "/api/devices", None).await.json();
        let phone = listed["devices"].as_array().unwrap().iter().find(|device| device["id"] == "phone");
        let phone = phone.unwrap();
        (phone["status"].clone(), phone["tools"].clone(), phone["connections"].clone())
    };
    assert_eq!(status().await, (json!("online"), json!(1), json!(1)));
    let (pings, code, reason) = phone.expect_close_without_messages().await;
    assert_eq!((code, reason.as_str()), (1013, "two consecutive pings were not answered"));
    assert!((2..=3).contains(&pings), "two that it missed, and perhaps one on its way: {pings}");
    assert_eq!(status().await, (json!("offline"), json!(0), json!(0)), "nothing is shown that is not there");
    it.fakes.open("silence");
    assert_eq!(turn.await.unwrap()["full_response"], "The phone is away.");
    let offered: Vec<_> = it
        .fakes
        .requests()
        .iter()
        .map(|request| {
            ["phone__torch", "desk__look"].map(|name| request.said.tools.iter().any(|it| it == name))
        })
        .collect();
    assert_eq!(offered, [[true, true], [false, true]]);
}

#[tokio::test]
async fn a_base64_photo_of_a_version_1_phone_is_a_picture_for_the_model() {
    let it = ChatHarness::new().await;
    // 3 KiB that begin like a JPEG, as Android wraps base64 in lines.
    let photo = format!("/9j/4AAQSkZJRgABAQAA{}", "QUJD".repeat(1000));
    let lines: Vec<&str> =
        (0..photo.len()).step_by(76).map(|at| &photo[at..photo.len().min(at + 76)]).collect();
    for (name, output) in [
        ("camera", lines.join("\n")),
        ("scanner", json!({"page": 1, "image": format!("data:image/png;base64,{photo}")}).to_string()),
    ] {
        // The picture follows the result in a message of its own.
        it.fakes
            .answers([ScriptedResponse::new().tool_call(name, json!({})), ScriptedResponse::text("A cat.")]);
        let mut phone = it.client_version_1().await;
        phone.send(json!({"type": "register_tools", "tools": tools(&[name])})).await;
        phone.receive_until("tools_registered").await;
        phone.send(message("what do you see?")).await;
        let request = phone.receive_until("tool_call_request").await;
        phone
            .send(json!({"type": "tool_result", "id": request["id"], "output": output, "success": true}))
            .await;
        assert_eq!(phone.receive_until("done").await["full_response"], "A cat.");
        let requests = it.fakes.requests();
        let said = &requests.last().unwrap().said;
        let images: usize = said.messages.iter().map(|message| message.images).sum();
        assert_eq!(images, 1, "{name}: {:?}", said.messages);
        assert!(!said.results()[0].text.contains("QUJDQUJD"), "{name}");
        assert!(said.results()[0].text.contains("image/jpeg"), "{name}: {}", said.results()[0].text);
    }
}

/// The gateway's clock is at 2023-11-14T22:13:20Z.
#[tokio::test]
async fn an_agent_tells_the_time_of_the_clients_time_zone_in_a_chat() {
    let it = ChatHarness::new().await;
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("get_current_time", json!({})));
    it.fakes.when(RequestMatcher::result_of("get_current_time"), ScriptedResponse::text("Morning."));
    let mut chat = it.client().await;
    chat.send(json!({"type": "connect", "v": 2, "time_zone": "Asia/Tokyo"})).await;
    chat.receive_until("connected").await;
    chat.send(message("What time is it?")).await;
    let result = chat.receive_until("tool_result").await;
    assert_eq!(result["result"], "2023-11-15T07:13:20+09:00");
    chat.receive_until("done").await;
}

#[tokio::test]
async fn secrets_of_a_models_calls_are_in_no_message_export_or_record() {
    let it = ChatHarness::new().await;
    let token = it.create_token("companion").await;
    let mut phone = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    let parameters = json!({"type": "object", "properties": {"pin": {"type": "string", "writeOnly": true}}});
    phone.register(json!([{"name": "sign_in", "description": "Signs in", "parameters": parameters}])).await;
    let arguments = json!({"pin": "pin-1234", "password": "hunter2", "user": "ada"});
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("sign_in", arguments.clone()));
    it.fakes.when(RequestMatcher::result_of("sign_in"), ScriptedResponse::text("You are in."));
    phone.send(message("sign in")).await;
    let request = phone.receive_until("tool_call_request").await;
    assert_eq!(request["args"], arguments, "the tool gets the values");
    let output = json!({"token": "t-secret", "user": "ada"});
    phone.send(json!({"type": "tool_result", "id": request["id"], "output": output.to_string(), "structured": output}))
        .await;
    phone.receive_until("done").await;
    let seen = it.fakes.requests()[1].said.new_results()[0].text.clone();
    assert!(seen.contains("t-secret"), "the model gets the result: {seen}");
    let call = format!("/api/calls/{}", request["id"].as_str().unwrap());
    for path in [
        "/api/sessions/s1",
        "/api/sessions/s1/messages",
        "/api/sessions/s1/export?format=json",
        "/api/sessions/s1/export?format=markdown",
        "/api/calls/export",
        &call,
    ] {
        let kept = it.send_as_owner("GET", path, None).await;
        assert_eq!(kept.status, 200, "{path}");
        assert!(kept.body.contains("[redacted]"), "{path}: {}", kept.body);
        for secret in ["pin-1234", "hunter2", "t-secret"] {
            assert!(!kept.body.contains(secret), "{secret} at {path}: {}", kept.body);
        }
    }
}
