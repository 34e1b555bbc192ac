//! Turns and sessions over HTTP.

use serde_json::{Value, json};
use toolway_fake_models::{RequestMatcher, ResponseStep, ScriptedFailure, ScriptedResponse};

use crate::chat_harness::ChatHarness;
use crate::events::SseTestReader;
use crate::probe_tools::ProbeTools;

async fn post_chat(it: &ChatHarness, token: &str, body: Value) -> SseTestReader {
    SseTestReader::open(&it.gateway, "POST", "/api/chat", token, Some(body)).await
}

#[tokio::test]
async fn a_turn_is_a_stream_of_websocket_messages() {
    let it = ChatHarness::new().await;
    let _probe = ProbeTools::offer(&it.gateway, "desk", &["look"]);
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().text_deltas(["One moment."]).tool_call("desk__look", json!({"a": 1})),
    );
    it.fakes.when(RequestMatcher::result_of("desk__look"), ScriptedResponse::text("It ran.").usage(20, 4));
    let mut events = post_chat(&it, &it.create_token("client").await, json!({"content": "look"})).await;
    let start = events.expect("session_start").await;
    assert_eq!(
        (&start["agent"], &start["model"], &start["resumed"], &start["message_count"]),
        (&json!("default"), &json!("fake/fake-model"), &json!(false), &json!(0))
    );
    assert_eq!(events.expect("chunk").await, json!({"type": "chunk", "content": "One moment."}));
    let call = events.expect("tool_call").await;
    assert_eq!((&call["name"], &call["args"]), (&json!("desk__look"), &json!({"a": 1})));
    let result = events.expect("tool_result").await;
    assert_eq!(
        (&result["id"], &result["status"], &result["result"]),
        (&call["id"], &json!("success"), &json!("ran"))
    );
    let mut last = events.next().await;
    while last.0 == "chunk" {
        last = events.next().await;
    }
    assert_eq!(last.0, "done");
    assert_eq!(
        (&last.1["rounds"], &last.1["tool_calls"], &last.1["finish_reason"]),
        (&json!(2), &json!(1), &json!("stop"))
    );
    events.end().await;
    let record =
        it.send_as_owner("GET", &format!("/api/calls/{}", call["id"].as_str().unwrap()), None).await.json();
    assert_eq!((&record["session_id"], &record["turn_id"]), (&start["session_id"], &start["turn_id"]));
}

#[tokio::test]
async fn a_turn_can_be_one_response_at_its_end() {
    let it = ChatHarness::new().await;
    it.fakes.answer(ScriptedResponse::text("Hello.").usage(12, 3));
    let token = it.create_token("client").await;
    let body = json!({"content": "hi", "stream": false, "session_id": "s1"});
    let answer = it.gateway.send("POST", "/api/chat", Some(&token), Some(body)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(
        (&answer["session_id"], &answer["status"], &answer["full_response"], &answer["usage"]["input"]),
        (&json!("s1"), &json!("done"), &json!("Hello."), &json!(12))
    );
    assert!(answer.get("error").is_none());
    // The HTTP status does not depend on the result of the turn.
    it.fakes.answer(ScriptedResponse::status(401));
    let body = json!({"content": "again", "stream": false, "session_id": "s1"});
    let answer = it.gateway.send("POST", "/api/chat", Some(&token), Some(body)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(
        (&answer["status"], &answer["error"]["code"]),
        (&json!("error"), &json!("AUTH_ERROR")),
        "{answer}"
    );
}

#[tokio::test]
async fn closing_the_request_does_not_end_the_turn_and_abort_does() {
    let it = ChatHarness::new().await;
    let token = it.create_token("client").await;
    it.fakes.answer(
        ScriptedResponse::text("Half").gate("rest").then(ResponseStep::Text(" and half.".to_owned())),
    );
    let mut events = post_chat(&it, &token, json!({"content": "hi", "session_id": "s1"})).await;
    events.expect("session_start").await;
    events.expect("chunk").await;
    drop(events);
    let busy = json!({"content": "again", "session_id": "s1"});
    let refused = it.gateway.send("POST", "/api/chat", Some(&token), Some(busy.clone())).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "session_busy"));
    it.fakes.open("rest");
    assert_eq!(it.fakes.wait_for_end(0).await, toolway_fake_models::ResponseEnd::Complete);
    it.fakes.answer(ScriptedResponse::text("on and ").gate("never"));
    let mut events = post_chat_when_free(&it, &token, &busy).await;
    events.expect("session_start").await;
    events.expect("chunk").await;
    let answer = it.gateway.send("POST", "/api/sessions/s1/abort", Some(&token), None).await;
    assert_eq!(answer.json(), json!({"status": "aborting"}));
    events.expect("aborted").await;
    events.end().await;
    let session = it.gateway.send("GET", "/api/sessions/s1", Some(&token), None).await.json();
    let texts: Vec<_> =
        session["messages"].as_array().unwrap().iter().map(|it| it["parts"][0]["text"].clone()).collect();
    assert_eq!(texts, ["hi", "Half and half.", "again", "on and "]);
    let states: Vec<_> =
        session["turns"].as_array().unwrap().iter().map(|turn| turn["status"].clone()).collect();
    assert_eq!(states, ["done", "aborted"]);
}

/// Repeats the request until the previous turn has ended, which happens a moment after the model's last text.
async fn post_chat_when_free(it: &ChatHarness, token: &str, body: &Value) -> SseTestReader {
    loop {
        let session = it.gateway.send("GET", "/api/sessions/s1", Some(token), None).await.json();
        if session["running"] == false {
            return post_chat(it, token, body.clone()).await;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_invalid_request_fails_before_the_stream_starts() {
    let it = ChatHarness::new().await;
    it.fakes.answer(ScriptedResponse::text("mine"));
    let (token, other) = (it.create_token("client").await, it.create_token("client").await);
    let body = json!({"content": "hi", "stream": false, "session_id": "s1"});
    assert_eq!(it.gateway.send("POST", "/api/chat", Some(&token), Some(body)).await.status, 200);
    let bound = it.gateway.create_agent_token("default").await.token;
    for (token, body, status, code) in [
        (&token, json!({}), 400, "empty_content"),
        (&token, json!({"content": "hi", "agent": "nobody"}), 404, "agent_not_found"),
        (&token, json!({"content": "hi", "session": "s1"}), 400, "malformed_request"),
        (&token, json!({"regenerate": true}), 409, "no_user_message"),
        (&other, json!({"content": "hi", "session_id": "s1"}), 403, "session_owner_mismatch"),
        (&bound, json!({"content": "hi", "agent": "other"}), 403, "agent_forbidden"),
    ] {
        let refused = it.gateway.send("POST", "/api/chat", Some(token), Some(body.clone())).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{body}");
    }
    assert_eq!(it.fakes.request_count(), 1);
}

#[tokio::test]
async fn an_interactive_caller_is_asked_on_the_stream() {
    let it =
        ChatHarness::with(json!({"chat": {"generate_titles": false}, "permissions": {"default": "ask"}}))
            .await;
    let probe = ProbeTools::with_permissions(&it.gateway, "desk", "locate", &["device.location"]);
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("desk__locate", json!({})));
    it.fakes.when(RequestMatcher::result_of("desk__locate"), ScriptedResponse::text("Here."));
    let token = it.create_token("client").await;
    let mut events = post_chat(&it, &token, json!({"content": "where?", "interactive": true})).await;
    let question = loop {
        let (name, data) = events.next().await;
        if name == "approval_requested" {
            break data;
        }
    };
    let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let answered = it.gateway.send("POST", &path, Some(&token), Some(json!({"decision": "granted"}))).await;
    assert_eq!(answered.status, 204);
    // The call and the question come in either order.
    while events.next().await.0 != "approval_resolved" {}
    assert_eq!(events.expect("tool_result").await["status"], "success");
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn sessions_are_listed_searched_renamed_exported_and_removed() {
    let it = ChatHarness::new().await;
    let (token, other) = (it.create_token("client").await, it.create_token("client").await);
    it.fakes.respond(|request| {
        Some(ScriptedResponse::text(format!("You said {}", request.said.last_user_text())))
    });
    for (id, content) in [("s1", "apples"), ("s2", "pears"), ("s3", "apples and pears")] {
        let body = json!({"content": content, "stream": false, "session_id": id});
        assert_eq!(it.gateway.send("POST", "/api/chat", Some(&token), Some(body)).await.status, 200);
        // Sessions are sorted by time.
        it.gateway.clock.advance(std::time::Duration::from_secs(1));
    }
    let ids = async |token: &str, query: &str| {
        let answer = it.gateway.send("GET", &format!("/api/sessions{query}"), Some(token), None).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let list = answer.json();
        let ids: Vec<_> = list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, list["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(ids(&token, "").await.0, ["s3", "s2", "s1"]);
    assert_eq!(ids(&token, "?search=apples").await.0, ["s3", "s1"]);
    let (first, next) = ids(&token, "?limit=2").await;
    assert_eq!(first, ["s3", "s2"]);
    assert_eq!(
        ids(&token, &format!("?limit=2&cursor={}", next.unwrap())).await,
        (vec!["s1".to_owned()], None)
    );
    assert_eq!(ids(&other, "").await.0, Vec::<String>::new(), "each sees their own");
    assert_eq!(ids(&it.gateway.owner, "").await.0, ["s3", "s2", "s1"], "the owner sees all");

    let renamed =
        it.gateway.send("PATCH", "/api/sessions/s1", Some(&token), Some(json!({"title": "Fruit"}))).await;
    assert_eq!((&renamed.json()["title"], &renamed.json()["title_by"]), (&json!("Fruit"), &json!("user")));
    let messages =
        it.gateway.send("GET", "/api/sessions/s1/messages?limit=1", Some(&token), None).await.json();
    assert_eq!(
        (&messages["messages"][0]["parts"], &messages["has_more"]),
        (&json!([{"type": "text", "text": "You said apples"}]), &json!(true))
    );
    let older =
        it.gateway.send("GET", "/api/sessions/s1/messages?before_seq=2", Some(&token), None).await.json();
    assert_eq!((&older["messages"][0]["role"], &older["has_more"]), (&json!("user"), &json!(false)));

    let text = it.gateway.send("GET", "/api/sessions/s1/export", Some(&token), None).await;
    assert_eq!(text.header("content-type"), Some("text/markdown; charset=utf-8"));
    assert!(text.body.contains("Fruit") && text.body.contains("You said apples"), "{}", text.body);
    let json = it.gateway.send("GET", "/api/sessions/s1/export?format=json", Some(&token), None).await;
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert!(json.json().is_object());

    for (method, path, body) in [
        ("GET", "/api/sessions/s1", None),
        ("GET", "/api/sessions/s1/messages", None),
        ("GET", "/api/sessions/s1/export", None),
        ("PATCH", "/api/sessions/s1", Some(json!({"title": "Mine now"}))),
        ("DELETE", "/api/sessions/s1", None),
    ] {
        let refused = it.gateway.send(method, path, Some(&other), body).await;
        assert_eq!((refused.status, refused.code().as_str()), (404, "session_not_found"), "{method} {path}");
    }
    assert_eq!(
        it.gateway.send("DELETE", "/api/sessions/s1?calls=true", Some(&token), None).await.status,
        403
    );
    assert_eq!(it.gateway.send("DELETE", "/api/sessions/s1", Some(&token), None).await.status, 204);
    assert_eq!(it.gateway.send("GET", "/api/sessions/s1", Some(&token), None).await.status, 404);
    assert_eq!(ids(&token, "").await.0, ["s3", "s2"]);
}

#[tokio::test]
async fn a_generated_title_is_sent_after_the_end_and_stored() {
    let it = ChatHarness::with(json!({"chat": {"generate_titles": true}})).await;
    it.fakes.when(RequestMatcher::user_has("apples?"), ScriptedResponse::text("Yes."));
    it.fakes.whenever(RequestMatcher::default(), ScriptedResponse::text("All about apples"));
    let token = it.create_token("client").await;
    let mut chat =
        crate::websocket::WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    chat.send(crate::chat_harness::message("apples?")).await;
    chat.receive_until("done").await;
    assert_eq!(
        chat.expect("title_updated").await,
        json!({"type": "title_updated", "title": "All about apples"})
    );
    let session = it.gateway.send("GET", "/api/sessions/s1", Some(&token), None).await.json();
    assert_eq!((&session["title"], &session["title_by"]), (&json!("All about apples"), &json!("model")));
}

#[tokio::test]
async fn usage_counts_tokens_and_known_costs() {
    let it = ChatHarness::new().await;
    let prices = "currency = \"EUR\"\n[[price]]\nmodel = \"fake/*\"\ninput = 1000000.0\noutput = 2000000.0\n";
    std::fs::write(it.gateway.dir.path().join("prices.toml"), prices).unwrap();
    assert_eq!(it.send_as_owner("POST", "/api/reload", None).await.status, 204);
    it.fakes.answer(ScriptedResponse::text("Hello.").usage(12, 3));
    let token = it.create_token("client").await;
    let mut events = post_chat(&it, &token, json!({"content": "hi"})).await;
    events.expect("session_start").await;
    events.expect("chunk").await;
    let done = events.expect("done").await;
    assert_eq!((&done["cost"], &done["currency"]), (&json!(18.0), &json!("EUR")), "12 × 1 + 3 × 2");
    for (by, key) in [("model", "fake/fake-model"), ("agent", "default"), ("day", "2023-11-14")] {
        let report = it.gateway.send("GET", &format!("/api/usage?by={by}"), Some(&token), None).await.json();
        let row = &report["rows"][0];
        assert_eq!(
            (&report["by"], &row["key"], &row["requests"], &row["input"], &row["output"], &row["cost"]),
            (&json!(by), &json!(key), &json!(1), &json!(12), &json!(3), &json!(18.0)),
            "{report}"
        );
    }
    let other = it.create_token("client").await;
    let report = it.gateway.send("GET", "/api/usage", Some(&other), None).await.json();
    assert_eq!(report["rows"], json!([]), "each sees their own");
    let refused = it.gateway.send("GET", "/api/usage?principal=owner", Some(&other), None).await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn a_budget_stops_turns_and_its_setting_applies_at_once() {
    let it = ChatHarness::new().await;
    let prices = "currency = \"EUR\"\n[[price]]\nmodel = \"*\"\ninput = 1000000.0\noutput = 1000000.0\n";
    std::fs::write(it.gateway.dir.path().join("prices.toml"), prices).unwrap();
    assert_eq!(it.send_as_owner("POST", "/api/reload", None).await.status, 204);
    let token = it.create_token("client").await;
    let say = json!({"content": "hi", "stream": false});
    it.fakes.respond(|_| Some(ScriptedResponse::text("ok").usage(5, 5)));
    assert_eq!(
        it.gateway.send("POST", "/api/chat", Some(&token), Some(say.clone())).await.json()["status"],
        "done"
    );
    it.gateway.apply(json!({"chat": {"generate_titles": false}, "budget": {"per_day": 5.0}})).await.unwrap();
    let stopped = it.gateway.send("POST", "/api/chat", Some(&token), Some(say.clone())).await.json();
    assert_eq!(
        (&stopped["status"], &stopped["error"]["reason"]),
        (&json!("error"), &json!("budget_exceeded"))
    );
    it.gateway
        .apply(json!({"chat": {"generate_titles": false}, "budget": {"per_day": 5.0, "on_exceeded": "warn"}}))
        .await
        .unwrap();
    assert_eq!(it.gateway.send("POST", "/api/chat", Some(&token), Some(say)).await.json()["status"], "done");
}

#[tokio::test]
async fn a_broken_stream_ends_with_an_error_event_m12() {
    let it = ChatHarness::new().await;
    it.fakes.answer(ScriptedResponse::text("Half").then(ResponseStep::Error(ScriptedFailure::status(500))));
    let mut events = post_chat(&it, &it.create_token("client").await, json!({"content": "hi"})).await;
    events.expect("session_start").await;
    assert_eq!(events.expect("chunk").await["content"], "Half");
    let error = events.expect("error").await;
    assert_eq!((&error["code"], &error["reason"]), (&json!("PROVIDER_ERROR"), &json!("provider")));
    events.end().await;
}
