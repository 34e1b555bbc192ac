//! The session of a chat connection, and the permission to open it.

use std::time::Duration;

use serde_json::json;
use toolway_fake_models::{RequestMatcher, ResponseStep, ScriptedResponse};

use crate::chat_harness::{ChatHarness, message, tools};
use crate::websocket::WebSocketClient;

#[tokio::test]
async fn a_session_is_resumed_by_its_id() {
    let it = ChatHarness::new().await;
    it.fakes.answers([ScriptedResponse::text("Hello, Ada."), ScriptedResponse::text("Ada.")]);
    let token = it.create_token("client").await;
    let mut chat = WebSocketClient::open(&it.gateway, "/ws/chat?name=app", &token, Some("toolway.v2")).await;
    let start = chat.expect("session_start").await;
    let id = start["session_id"].as_str().unwrap().to_owned();
    let expected = json!({"type": "session_start", "v": 2, "session_id": id, "resumed": false, "message_count": 0,
                          "name": "app", "persona": "default", "model": "fake/fake-model"});
    assert_eq!(start, expected);
    chat.send(message("I am Ada")).await;
    chat.receive_until("done").await;
    chat.close().await;
    let mut chat =
        WebSocketClient::open(&it.gateway, &format!("/ws/chat?session_id={id}"), &token, Some("toolway.v2"))
            .await;
    let start = chat.expect("session_start").await;
    assert_eq!(
        (&start["session_id"], &start["resumed"], &start["message_count"]),
        (&json!(id), &json!(true), &json!(2))
    );
    chat.send(message("who am I?")).await;
    assert_eq!(chat.receive_until("done").await["full_response"], "Ada.");
    let texts: Vec<_> =
        it.fakes.requests()[1].said.messages.iter().map(|message| message.text.clone()).collect();
    assert_eq!(texts, ["I am Ada", "Hello, Ada.", "who am I?"]);
}

#[tokio::test]
async fn connect_can_select_the_session() {
    let it = ChatHarness::new().await;
    it.fakes.answers([ScriptedResponse::text("one"), ScriptedResponse::text("two")]);
    let token = it.create_token("companion").await;
    let mut first = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    first.send(message("hi")).await;
    first.receive_until("done").await;
    let mut old = WebSocketClient::chat_version_1(&it.gateway, &token).await;
    old.send(json!({"type": "connect", "session_id": "s1", "device_name": "Pixel"})).await;
    let start = old.expect("session_start").await;
    assert_eq!(
        start,
        json!({"type": "session_start", "v": 1, "session_id": "s1", "resumed": true, "message_count": 2,
               "persona": "default"})
    );
    old.expect("connected").await;
    old.send(message("again")).await;
    old.receive_until("done").await;
    assert_eq!(it.fakes.requests()[1].said.messages.len(), 3, "it went on with what was said");
    // The current session is not opened again.
    let mut same = WebSocketClient::open(&it.gateway, "/ws/chat?session_id=s1", &token, None).await;
    same.expect("session_start").await;
    same.send(json!({"type": "connect", "session_id": "s1"})).await;
    same.expect("connected").await;
}

/// Clients of version 1 have read null as text, and come back with a session of that name.
#[tokio::test]
async fn the_session_named_null_is_not_shared() {
    let it = ChatHarness::new().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let token = it.create_token("companion").await;
        let mut chat = WebSocketClient::open(&it.gateway, "/ws/chat?session_id=null", &token, None).await;
        let start = chat.expect("session_start").await;
        chat.send(json!({"type": "connect", "session_id": "null"})).await;
        chat.expect("connected").await;
        ids.push(start["session_id"].as_str().unwrap().to_owned());
    }
    assert!(ids[0] != "null" && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn the_session_of_another_principal_is_refused_and_the_connection_stays() {
    let it = ChatHarness::new().await;
    it.fakes.answer(ScriptedResponse::text("a secret"));
    let mut first =
        WebSocketClient::chat_at(&it.gateway, &it.create_token("client").await, "/ws/chat?session_id=s1")
            .await;
    first.send(message("tell me a secret")).await;
    first.receive_until("done").await;
    let other = it.create_token("companion").await;
    let mut chat =
        WebSocketClient::open(&it.gateway, "/ws/chat?session_id=s1", &other, Some("toolway.v2")).await;
    assert_eq!(chat.expect("error").await["code"], "SESSION_OWNER_MISMATCH");
    chat.send(message("go on")).await;
    assert_eq!(chat.expect("error").await["code"], "SESSION_OWNER_MISMATCH");
    chat.send(json!({"type": "abort"})).await;
    assert_eq!(chat.expect("abort_ack").await["status"], "idle");
    assert_eq!(chat.call("get_current_time", json!({})).await["status"], "success");
    // The client can open its own session.
    chat.send(json!({"type": "connect", "v": 2, "session_id": "mine"})).await;
    assert_eq!(chat.expect("session_start").await["session_id"], "mine");
    assert_eq!(it.fakes.request_count(), 1);
}

#[tokio::test]
async fn an_agent_that_does_not_exist_closes_with_1011() {
    let it = ChatHarness::new().await;
    let token = it.create_token("client").await;
    let mut chat =
        WebSocketClient::open(&it.gateway, "/ws/chat?persona=nobody", &token, Some("toolway.v2")).await;
    let error = chat.expect("error").await;
    assert_eq!(error["code"], "AGENT_INIT_FAILED");
    assert!(error["message"].as_str().unwrap().contains("nobody"), "{error}");
    assert_eq!(chat.expect_close().await.0, 1011);
}

#[tokio::test]
async fn a_bound_token_can_use_only_its_agent() {
    let it = ChatHarness::new().await;
    it.put_agent("home", json!({"prompt": "You keep the house.", "tools": ["builtin/get_current_time"]}))
        .await;
    it.put_agent("work", json!({})).await;
    it.fakes.answer(ScriptedResponse::text("Welcome."));
    let token = it.gateway.create_agent_token("home").await.token;
    let refused = it.gateway.send("GET", "/ws/chat?persona=work", Some(&token), None).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "agent_forbidden"));
    let mut chat = WebSocketClient::open(&it.gateway, "/ws/chat", &token, Some("toolway.v2")).await;
    assert_eq!(chat.expect("session_start").await["persona"], "home");
    chat.send(message("hi")).await;
    chat.receive_until("done").await;
    let said = &it.fakes.requests()[0].said;
    assert!(said.system.contains("You keep the house."), "{}", said.system);
    assert!(said.tools.contains(&"get_current_time".to_owned()), "{:?}", said.tools);
    assert!(!said.tools.contains(&"write_file".to_owned()), "{:?}", said.tools);
}

#[tokio::test]
async fn a_turn_continues_without_its_connection_and_is_shown_on_return() {
    let it = ChatHarness::new().await;
    let token = it.create_token("companion").await;
    let mut phone = WebSocketClient::device(&it.gateway, &it.create_token("device").await, "pixel").await;
    phone.register(tools(&["slow"])).await;
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::text("Let me see. ").tool_call("pixel__slow", json!({"n": 1})),
    );
    it.fakes.when(
        RequestMatcher::result_of("pixel__slow"),
        ScriptedResponse::text("Found.").gate("end").then(ResponseStep::Text(" All.".to_owned())),
    );
    let mut chat = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    chat.send(message("search")).await;
    chat.receive_until("tool_call").await;
    let request = phone.receive_until("tool_call_request").await;
    chat.close().await;
    let mut back =
        WebSocketClient::open(&it.gateway, "/ws/chat?session_id=s1", &token, Some("toolway.v2")).await;
    let start = back.expect("session_start").await;
    assert_eq!((&start["busy"], &start["resumed"]), (&json!(true), &json!(true)));
    assert_eq!(back.expect("chunk").await["content"], "Let me see. ");
    let call = back.expect("tool_call").await;
    assert_eq!((&call["id"], &call["args"]), (&request["id"], &json!({"n": 1})));
    back.send(message("and?")).await;
    assert_eq!(back.expect("error").await["code"], "SESSION_BUSY");
    phone.send(json!({"type": "tool_result", "id": request["id"], "output": "it"})).await;
    assert_eq!(back.expect("tool_result").await["output"], "it");
    it.fakes.wait_for_gate("end").await;
    it.fakes.open("end");
    let done = back.receive_until("done").await;
    let said = done["full_response"].as_str().unwrap();
    assert!(said.starts_with("Let me see. ") && said.ends_with("Found. All."), "{said}");
}

#[tokio::test]
async fn tools_of_a_disconnected_chat_disappear_from_its_turn() {
    let it = ChatHarness::new().await;
    let token = it.create_token("companion").await;
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("torch", json!({})));
    it.fakes.when(RequestMatcher::result_of("torch"), ScriptedResponse::text("No torch."));
    let mut chat = WebSocketClient::chat_at(&it.gateway, &token, "/ws/chat?session_id=s1").await;
    chat.register(tools(&["torch"])).await;
    chat.send(message("light")).await;
    chat.receive_until("tool_call_request").await;
    chat.close().await;
    it.fakes.wait_for_request(1).await;
    let told = it.fakes.requests()[1].said.new_results()[0].text.clone();
    assert!(told.contains("device_disconnected"), "{told}");
    assert!(!it.fakes.requests()[1].said.tools.contains(&"torch".to_owned()));
}

#[tokio::test]
async fn a_revoked_token_ends_its_turn() {
    let it = ChatHarness::new().await;
    let made = it.gateway.create_token("client").await;
    it.fakes.answer(ScriptedResponse::text("on and ").gate("never"));
    let mut chat = WebSocketClient::chat_at(&it.gateway, &made.token, "/ws/chat?session_id=s1").await;
    chat.send(message("go")).await;
    chat.expect("chunk").await;
    let revoked = it.send_as_owner("DELETE", &format!("/api/tokens/{}", made.id), None).await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_eq!(it.fakes.wait_for_end(0).await, toolway_fake_models::ResponseEnd::Dropped);
    assert_eq!(chat.expect_close().await.0, 4001);
    // The end may be stored a moment after the socket has closed.
    let state = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let session = it.send_as_owner("GET", "/api/sessions/s1", None).await.json();
            match session["turns"][0]["status"].as_str() {
                Some("running") => tokio::task::yield_now().await,
                state => return state.map(str::to_owned),
            }
        }
    });
    assert_eq!(state.await.unwrap().as_deref(), Some("aborted"));
}

#[tokio::test]
async fn a_shutdown_ends_turns_with_a_message() {
    let it =
        ChatHarness::with(json!({"chat": {"generate_titles": false}, "timeouts": {"shutdown_s": 1}})).await;
    it.fakes.answer(ScriptedResponse::text("on and ").gate("never"));
    let mut chat = it.client().await;
    chat.send(message("go")).await;
    chat.expect("chunk").await;
    let ChatHarness { gateway, fakes: _fakes } = it;
    let stopping = tokio::spawn(async move { gateway.gateway.shut_down().await });
    let error = chat.receive_until("error").await;
    assert_eq!((&error["code"], &error["reason"]), (&json!("AGENT_ERROR"), &json!("shutting_down")));
    assert_eq!(chat.expect_close().await.0, 1001);
    stopping.await.unwrap();
}

#[tokio::test]
async fn an_owner_can_list_only_their_own_sessions() {
    let it = ChatHarness::new().await;
    let (ann, bob) = (it.gateway.create_token("client").await, it.gateway.create_token("client").await);
    let owner = it.gateway.owner.clone();
    let said = [
        ("mine-1", &owner),
        ("anns-1", &ann.token),
        ("mine-2", &owner),
        ("bobs-1", &bob.token),
        ("anns-2", &ann.token),
    ];
    for (session, token) in said {
        it.fakes.answer(ScriptedResponse::text("Noted."));
        let mut chat =
            WebSocketClient::chat_at(&it.gateway, token, &format!("/ws/chat?session_id={session}")).await;
        chat.send(message("note this")).await;
        chat.receive_until("done").await;
        it.gateway.clock.advance(Duration::from_secs(60));
    }
    let listed = async |token: &str, query: &str| {
        let answer = it.gateway.send("GET", &format!("/api/sessions{query}"), Some(token), None).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let page = answer.json();
        let ids = page["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(listed(&owner, "").await.0, ["anns-2", "bobs-1", "mine-2", "anns-1", "mine-1"]);
    assert_eq!(listed(&owner, "?mine=false").await.0.len(), 5);
    assert_eq!(listed(&owner, "?mine=true").await, (vec!["mine-2".to_owned(), "mine-1".to_owned()], None));
    // Also in pages: sessions of others take no space.
    let (first, next) = listed(&owner, "?mine=true&limit=1").await;
    assert_eq!(first, ["mine-2"]);
    let rest = listed(&owner, &format!("?mine=true&limit=1&cursor={}", next.unwrap())).await;
    assert_eq!(rest, (vec!["mine-1".to_owned()], None));
    assert_eq!(listed(&ann.token, "?mine=true").await.0, ["anns-2", "anns-1"]);
    assert_eq!(listed(&ann.token, "").await.0, ["anns-2", "anns-1"]);
}

#[tokio::test]
async fn an_abort_does_not_tell_which_sessions_others_have() {
    let it = ChatHarness::new().await;
    let (ann, bob) = (it.create_token("companion").await, it.create_token("client").await);
    it.fakes.answer(ScriptedResponse::text("Half").gate("rest"));
    let mut chat = WebSocketClient::chat_at(&it.gateway, &ann, "/ws/chat?session_id=anns").await;
    chat.send(message("hi")).await;
    chat.receive_until("chunk").await;
    for session in ["anns", "nobodys"] {
        let answer =
            it.gateway.send("POST", &format!("/api/sessions/{session}/abort"), Some(&bob), None).await;
        assert_eq!((answer.status, answer.json()), (200, json!({"status": "idle"})), "{session}");
    }
    it.fakes.open("rest");
    assert_eq!(chat.receive_until("done").await["full_response"], "Half", "it was not aborted");
}
