//! Questions over WebSocket: to whoever made the call, if they know what a question is.

use serde_json::{Value, json};
use toolway_types::{RawJson, SpecDocument};

use crate::events::SseTestReader;
use crate::probe_tools::ProbeTools;
use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

/// A gateway that asks before a tool may use a permission.
async fn asking() -> GatewayHarness {
    GatewayHarness::with(json!({"permissions": {"default": "ask"}})).await
}

fn locate(bench: &GatewayHarness) -> ProbeTools {
    ProbeTools::with_permissions(bench, "desk", "locate", &["device.location"])
}

async fn approvals(bench: &GatewayHarness, token: &str) -> Vec<Value> {
    let answer = bench.send("GET", "/api/approvals", Some(token), None).await;
    answer.json()["approvals"].as_array().unwrap().clone()
}

#[tokio::test]
async fn whoever_calls_is_asked_for_the_permission_and_answers_it() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = locate(&bench);
    let mut chat = WebSocketClient::chat_at(&bench, &client.token, "/ws/chat?session_id=s-1").await;
    chat.start("a", "locate", json!({"exact": true, "password": "hunter2"})).await;
    let question = chat.expect("permission_request").await;
    assert_eq!(
        question,
        json!({
            "type": "permission_request", "id": question["id"], "kind": "permission", "tool": "desk__locate",
            "permission": "device.location", "reason": "desk/locate needs the permission device.location",
            "args_preview": r#"{"exact":true,"password":"[redacted]"}"#, "expires_ms": 120_000,
        })
    );
    let seen = approvals(&bench, &client.token).await;
    assert_eq!((&seen[0]["id"], &seen[0]["session_id"]), (&question["id"], &json!("s-1")));
    assert_eq!(seen[0]["caller_may_answer"], true);
    // The scope may be left out.
    let id = &question["id"];
    chat.send(json!({"type": "permission_answer", "id": id, "decision": "granted"})).await;
    let result = chat.expect("call_result").await;
    assert_eq!(
        (&result["id"], &result["status"], &result["result"]),
        (&json!("a"), &json!("success"), &json!("ran"))
    );
    assert_eq!(probe.run_count(), 1);
    let path = format!("/api/calls/{}", result["call_id"].as_str().unwrap());
    assert_eq!(bench.send_as_owner("GET", &path, None).await.json()["approved_by"], client.id.as_str());

    // Once was once.
    chat.start("b", "locate", json!({})).await;
    let question = chat.expect("permission_request").await;
    chat.decide(&question, "denied", "once").await;
    let denied = chat.expect("call_result").await;
    assert_eq!(
        (&denied["code"], &denied["message"]),
        (&json!("denied"), &json!("Permission device.location was denied by the user"))
    );
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn two_questions_are_open_at_the_same_time_and_each_gets_its_answer_e1() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = locate(&bench);
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    chat.start("one", "locate", json!({"n": 1})).await;
    let one = chat.expect("permission_request").await;
    chat.start("two", "locate", json!({"n": 2})).await;
    let two = chat.expect("permission_request").await;
    assert_eq!((&one["args_preview"], &two["args_preview"]), (&json!(r#"{"n":1}"#), &json!(r#"{"n":2}"#)));
    assert_eq!(approvals(&bench, &client.token).await.len(), 2);
    // Other calls go on meanwhile.
    assert_eq!(chat.call("get_current_time", json!({})).await["status"], "success");
    chat.decide(&two, "granted", "once").await;
    let result = chat.expect("call_result").await;
    assert_eq!((&result["id"], &result["status"]), (&json!("two"), &json!("success")));
    assert_eq!(probe.run_count(), 1);
    chat.decide(&one, "denied", "once").await;
    let result = chat.expect("call_result").await;
    assert_eq!((&result["id"], &result["code"]), (&json!("one"), &json!("denied")));
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn several_permissions_of_one_call_are_requested_in_sequence_e1() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::with_permissions(
        &bench,
        "desk",
        "photo",
        &["device.camera", "android.permission.CAMERA", "files.write"],
    );
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    chat.start("a", "photo", json!({})).await;
    for permission in ["device.camera", "files.write"] {
        let question = chat.expect("permission_request").await;
        assert_eq!(question["permission"], permission);
        chat.decide(&question, "granted", "once").await;
    }
    assert_eq!(chat.expect("call_result").await["status"], "success");
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn a_client_is_not_asked_for_approval_and_may_not_give_it() {
    let bench = GatewayHarness::with(json!({"approval": {"default": "always"}})).await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    assert_eq!(chat.call("lamp", json!({})).await["code"], "approval_unavailable");

    let mut watch = SseTestReader::watch(&bench).await;
    chat.start("a", "lamp", json!({})).await;
    let question = watch.expect("approval_requested").await;
    chat.decide(&question, "granted", "once").await;
    let refused = chat.expect("error").await;
    assert_eq!(refused["code"], "INVALID_MESSAGE");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("only the owner may answer") && message.contains(question["id"].as_str().unwrap())
    );
    assert_eq!(probe.run_count(), 0);
    let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    assert_eq!(bench.send_as_owner("POST", &path, Some(json!({"decision": "granted"}))).await.status, 204);
    assert_eq!(chat.expect("call_result").await["status"], "success");
}

#[tokio::test]
async fn where_the_rules_open_approval_to_the_caller_it_is_asked() {
    let rule = json!({"mode": "always", "caller_may_answer": true});
    let bench = GatewayHarness::with(json!({"approval": {"rules": [rule]}})).await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    chat.start("a", "lamp", json!({})).await;
    let question = chat.expect("permission_request").await;
    assert_eq!((&question["kind"], question.get("permission")), (&json!("approval"), None));
    for scope in ["agent", "always"] {
        chat.decide(&question, "granted", scope).await;
        let refused = chat.expect("error").await;
        assert!(refused["message"].as_str().unwrap().contains("choose once or session"), "{refused}");
    }
    // It is still open, and holds for the session if the client says so.
    chat.decide(&question, "granted", "session").await;
    assert_eq!(chat.expect("call_result").await["status"], "success");
    assert_eq!(chat.call("lamp", json!({})).await["status"], "success");
    assert_eq!(probe.run_count(), 2);
}

#[tokio::test]
async fn the_owners_own_chat_is_asked_what_only_an_owner_may_answer() {
    let bench = GatewayHarness::with(json!({"approval": {"default": "always"}})).await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut chat = WebSocketClient::chat(&bench, &bench.owner).await;
    chat.start("a", "lamp", json!({})).await;
    let question = chat.expect("permission_request").await;
    chat.decide(&question, "granted", "always").await;
    assert_eq!(chat.expect("call_result").await["status"], "success");
    assert_eq!(chat.call("lamp", json!({})).await["status"], "success");
    assert_eq!(probe.run_count(), 2);
}

#[tokio::test]
async fn nobody_answers_or_hears_of_the_questions_of_others() {
    let bench = asking().await;
    let (one, other) = (bench.create_token("client").await, bench.create_token("client").await);
    let probe = locate(&bench);
    let mut mine = WebSocketClient::chat_at(&bench, &one.token, "/ws/chat?session_id=same").await;
    let mut theirs = WebSocketClient::chat_at(&bench, &other.token, "/ws/chat?session_id=same").await;
    mine.start("a", "locate", json!({})).await;
    let question = mine.expect("permission_request").await;
    assert_eq!(approvals(&bench, &other.token).await, [Value::Null; 0]);
    theirs.decide(&question, "granted", "once").await;
    let refused = theirs.expect("error").await;
    assert!(refused["message"].as_str().unwrap().contains("no question with this id is open"), "{refused}");
    // Over REST the same person answers as well: whoever shows the question need not be who called.
    let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let body = json!({"decision": "granted"});
    assert_eq!(bench.send("POST", &path, Some(&other.token), Some(body.clone())).await.status, 404);
    assert_eq!(probe.run_count(), 0);
    assert_eq!(bench.send("POST", &path, Some(&one.token), Some(body)).await.status, 204);
    assert_eq!(mine.expect("call_result").await["status"], "success");
    // Whoever was not asked heard nothing but the refusal.
    assert_eq!(theirs.call("get_current_time", json!({})).await["status"], "success");
}

#[tokio::test]
async fn an_answer_to_no_question_or_too_late_is_told_and_the_connection_stays() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let _probe = locate(&bench);
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    for id in ["nonsense", "01920000-0000-7000-8000-0000000000ab", ""] {
        chat.decide(&json!({"id": id}), "granted", "once").await;
        let refused = chat.expect("error").await;
        assert_eq!(refused["code"], "INVALID_MESSAGE", "{id}");
        assert!(
            refused["message"].as_str().unwrap().contains("no question with this id is open"),
            "{refused}"
        );
    }
    for bad in [
        json!({"type": "permission_answer", "id": "x", "decision": "yes"}),
        json!({"type": "permission_answer", "id": "x"}),
        json!({"type": "permission_answer", "id": "x", "decision": "granted", "scope": "ever"}),
    ] {
        chat.send(bad.clone()).await;
        assert_eq!(chat.expect("error").await["code"], "INVALID_MESSAGE", "{bad}");
    }
    chat.start("a", "locate", json!({})).await;
    let question = chat.expect("permission_request").await;
    chat.decide(&question, "granted", "once").await;
    chat.decide(&question, "denied", "once").await;
    let mut frames = [chat.receive().await, chat.receive().await];
    frames.sort_by_key(|frame| frame["type"].to_string());
    assert_eq!((&frames[0]["type"], &frames[0]["status"]), (&json!("call_result"), &json!("success")));
    assert_eq!(frames[1]["type"], "error");
}

#[tokio::test]
async fn a_client_of_version_1_is_never_asked() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = locate(&bench);
    let mut old = WebSocketClient::chat_version_1(&bench, &client.token).await;
    let refused = old.call("locate", json!({})).await;
    assert_eq!(refused["code"], "approval_unavailable");
    let grant = format!("`toolway grants add desk/locate --for {} --permission device.location`", client.id);
    assert!(refused["hint"].as_str().unwrap().contains(&grant), "{refused}");
    // An owner who watches can be asked instead; the client sees its result and nothing else.
    let mut watch = SseTestReader::watch(&bench).await;
    old.start("b", "locate", json!({})).await;
    let question = watch.expect("approval_requested").await;
    let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    assert_eq!(bench.send_as_owner("POST", &path, Some(json!({"decision": "granted"}))).await.status, 204);
    assert_eq!(old.expect("call_result").await["status"], "success");
    assert_eq!(probe.run_count(), 1);
    // One that says that it knows version 2 is asked from then on.
    old.send(json!({"type": "connect", "v": 2})).await;
    old.expect("connected").await;
    old.start("c", "locate", json!({})).await;
    old.expect("permission_request").await;
}

#[tokio::test]
async fn a_question_goes_with_its_client_and_with_its_call() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = locate(&bench);
    let mut watch = SseTestReader::watch(&bench).await;
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    chat.start("a", "locate", json!({})).await;
    let question = chat.expect("permission_request").await;
    watch.expect("approval_requested").await;
    chat.send(json!({"type": "cancel_call", "id": "a"})).await;
    assert_eq!(chat.expect("call_result").await["code"], "cancelled");
    assert_eq!(
        watch.expect("approval_resolved").await,
        json!({"id": question["id"], "resolution": "cancelled"})
    );
    chat.decide(&question, "granted", "once").await;
    chat.expect("error").await;

    chat.start("b", "locate", json!({})).await;
    let question = chat.expect("permission_request").await;
    watch.expect("approval_requested").await;
    chat.close().await;
    assert_eq!(
        watch.expect("approval_resolved").await,
        json!({"id": question["id"], "resolution": "cancelled"})
    );
    assert_eq!(approvals(&bench, &bench.owner).await, [Value::Null; 0]);
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn approval_fields_in_call_tool_are_ignored_e9() {
    let bench =
        GatewayHarness::with(json!({"approval": {"default": "always"}, "permissions": {"default": "ask"}}))
            .await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    for field in ["approved", "approval", "approved_by", "permissions", "grant", "role", "principal"] {
        let mut call = json!({"type": "call_tool", "id": field, "name": "lamp", "args": {}});
        call[field] = json!("owner");
        chat.send(call).await;
        let refused = chat.expect("call_result").await;
        assert_eq!((&refused["id"], &refused["code"]), (&json!(field), &json!("approval_unavailable")));
    }
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn a_permanent_denial_over_websocket_lasts_for_the_session_e2() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = locate(&bench);
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    chat.start("a", "locate", json!({})).await;
    let question = chat.expect("permission_request").await;
    chat.send(json!({"type": "permission_answer", "id": question["id"], "decision": "denied_always"})).await;
    let message = "Permission device.location was denied by the user permanently; do not ask again";
    for result in [chat.expect("call_result").await, chat.call("locate", json!({})).await] {
        assert_eq!((&result["code"], &result["message"]), (&json!("denied_always"), &json!(message)));
        assert!(result["hint"].as_str().unwrap().contains("toolway grants revoke"), "{result}");
    }
    let mut elsewhere = WebSocketClient::chat(&bench, &client.token).await;
    elsewhere.start("b", "locate", json!({})).await;
    elsewhere.expect("permission_request").await;
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn long_arguments_are_cut_in_the_question_and_marked_secrets_left_out() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let parameters = r#"{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}"#;
    let _probe = ProbeTools::with(
        &bench,
        "desk",
        vec![SpecDocument {
            permissions: vec!["device.door".to_owned()],
            parameters: RawJson::parse(parameters).ok(),
            ..SpecDocument::named("open")
        }],
    );
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;
    chat.start("a", "open", json!({"pin": "1234", "note": "é".repeat(5000)})).await;
    let question = chat.expect("permission_request").await;
    let preview = question["args_preview"].as_str().unwrap();
    assert!(preview.len() < 2500 && preview.contains("bytes more") && !preview.contains("1234"), "{preview}");
}
