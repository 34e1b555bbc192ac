//! Which session a chat's connection is of, and who may open it.

use std::time::Duration;

use serde_json::json;
use toolway_fake_models::{Answer, Step, When};

use crate::talking::{Talking, message, tools};
use crate::websocket::Peer;

#[tokio::test]
async fn a_session_is_gone_on_with_by_its_id() {
    let it = Talking::new().await;
    it.fakes.answers([Answer::text("Hello, Ada."), Answer::text("Ada.")]);
    let token = it.token("client").await;
    let mut chat = Peer::open(&it.bench, "/ws/chat?name=app", &token, Some("toolway.v2")).await;
    let start = chat.expect("session_start").await;
    let id = start["session_id"].as_str().unwrap().to_owned();
    let expected = json!({"type": "session_start", "v": 2, "session_id": id, "resumed": false, "message_count": 0,
                          "name": "app", "persona": "default", "model": "fake/fake-model"});
    assert_eq!(start, expected);
    chat.say(message("I am Ada")).await;
    chat.until("done").await;
    chat.leave().await;
    let mut chat =
        Peer::open(&it.bench, &format!("/ws/chat?session_id={id}"), &token, Some("toolway.v2")).await;
    let start = chat.expect("session_start").await;
    assert_eq!(
        (&start["session_id"], &start["resumed"], &start["message_count"]),
        (&json!(id), &json!(true), &json!(2))
    );
    chat.say(message("who am I?")).await;
    assert_eq!(chat.until("done").await["full_response"], "Ada.");
    let texts: Vec<_> =
        it.fakes.requests()[1].said.messages.iter().map(|message| message.text.clone()).collect();
    assert_eq!(texts, ["I am Ada", "Hello, Ada.", "who am I?"]);
}

#[tokio::test]
async fn connect_may_name_the_session_too() {
    let it = Talking::new().await;
    it.fakes.answers([Answer::text("one"), Answer::text("two")]);
    let token = it.token("companion").await;
    let mut first = Peer::chat_at(&it.bench, &token, "/ws/chat?session_id=s1").await;
    first.say(message("hi")).await;
    first.until("done").await;
    let mut old = Peer::old_chat(&it.bench, &token).await;
    old.say(json!({"type": "connect", "session_id": "s1", "device_name": "Pixel"})).await;
    let start = old.expect("session_start").await;
    assert_eq!(
        start,
        json!({"type": "session_start", "v": 1, "session_id": "s1", "resumed": true, "message_count": 2})
    );
    old.expect("connected").await;
    old.say(message("again")).await;
    old.until("done").await;
    assert_eq!(it.fakes.requests()[1].said.messages.len(), 3, "it went on with what was said");
    // The one that it is already is not opened again.
    let mut same = Peer::open(&it.bench, "/ws/chat?session_id=s1", &token, None).await;
    same.expect("session_start").await;
    same.say(json!({"type": "connect", "session_id": "s1"})).await;
    same.expect("connected").await;
}

/// Clients of version 1 have read null as a text, and come back with a session of that name.
#[tokio::test]
async fn nobody_shares_the_session_null() {
    let it = Talking::new().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let token = it.token("companion").await;
        let mut chat = Peer::open(&it.bench, "/ws/chat?session_id=null", &token, None).await;
        let start = chat.expect("session_start").await;
        chat.say(json!({"type": "connect", "session_id": "null"})).await;
        chat.expect("connected").await;
        ids.push(start["session_id"].as_str().unwrap().to_owned());
    }
    assert!(ids[0] != "null" && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn anothers_session_is_refused_and_the_connection_stays() {
    let it = Talking::new().await;
    it.fakes.answer(Answer::text("a secret"));
    let mut first = Peer::chat_at(&it.bench, &it.token("client").await, "/ws/chat?session_id=s1").await;
    first.say(message("tell me a secret")).await;
    first.until("done").await;
    let other = it.token("companion").await;
    let mut chat = Peer::open(&it.bench, "/ws/chat?session_id=s1", &other, Some("toolway.v2")).await;
    assert_eq!(chat.expect("error").await["code"], "SESSION_OWNER_MISMATCH");
    chat.say(message("go on")).await;
    assert_eq!(chat.expect("error").await["code"], "SESSION_OWNER_MISMATCH");
    chat.say(json!({"type": "abort"})).await;
    assert_eq!(chat.expect("abort_ack").await["status"], "idle");
    assert_eq!(chat.call("get_current_time", json!({})).await["status"], "success");
    // It can open one of its own.
    chat.say(json!({"type": "connect", "v": 2, "session_id": "mine"})).await;
    assert_eq!(chat.expect("session_start").await["session_id"], "mine");
    assert_eq!(it.fakes.request_count(), 1);
}

#[tokio::test]
async fn an_agent_that_does_not_exist_closes_with_1011() {
    let it = Talking::new().await;
    let token = it.token("client").await;
    let mut chat = Peer::open(&it.bench, "/ws/chat?persona=nobody", &token, Some("toolway.v2")).await;
    let error = chat.expect("error").await;
    assert_eq!(error["code"], "AGENT_INIT_FAILED");
    assert!(error["message"].as_str().unwrap().contains("nobody"), "{error}");
    assert_eq!(chat.closed().await.0, 1011);
}

#[tokio::test]
async fn a_bound_token_talks_to_its_agent_only() {
    let it = Talking::new().await;
    it.agent("home", json!({"prompt": "You keep the house.", "tools": ["builtin/get_current_time"]})).await;
    it.agent("work", json!({})).await;
    it.fakes.answer(Answer::text("Welcome."));
    let token = it.bench.agents_token("home").await.token;
    let refused = it.bench.send("GET", "/ws/chat?persona=work", Some(&token), None).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "agent_forbidden"));
    let mut chat = Peer::open(&it.bench, "/ws/chat", &token, Some("toolway.v2")).await;
    assert_eq!(chat.expect("session_start").await["persona"], "home");
    chat.say(message("hi")).await;
    chat.until("done").await;
    let said = &it.fakes.requests()[0].said;
    assert!(said.system.contains("You keep the house."), "{}", said.system);
    assert!(said.tools.contains(&"get_current_time".to_owned()), "{:?}", said.tools);
    assert!(!said.tools.contains(&"write_file".to_owned()), "{:?}", said.tools);
}

#[tokio::test]
async fn a_turn_goes_on_without_its_connection_and_is_shown_to_whoever_comes_back() {
    let it = Talking::new().await;
    let token = it.token("companion").await;
    let mut phone = Peer::device(&it.bench, &it.token("device").await, "pixel").await;
    phone.register(tools(&["slow"])).await;
    it.fakes.when(When::user(), Answer::text("Let me see. ").call("pixel__slow", json!({"n": 1})));
    it.fakes.when(
        When::result_of("pixel__slow"),
        Answer::text("Found.").gate("end").then(Step::Text(" All.".to_owned())),
    );
    let mut chat = Peer::chat_at(&it.bench, &token, "/ws/chat?session_id=s1").await;
    chat.say(message("search")).await;
    chat.until("tool_call").await;
    let request = phone.until("tool_call_request").await;
    chat.leave().await;
    let mut back = Peer::open(&it.bench, "/ws/chat?session_id=s1", &token, Some("toolway.v2")).await;
    let start = back.expect("session_start").await;
    assert_eq!((&start["busy"], &start["resumed"]), (&json!(true), &json!(true)));
    assert_eq!(back.expect("chunk").await["content"], "Let me see. ");
    let call = back.expect("tool_call").await;
    assert_eq!((&call["id"], &call["args"]), (&request["id"], &json!({"n": 1})));
    back.say(message("and?")).await;
    assert_eq!(back.expect("error").await["code"], "SESSION_BUSY");
    phone.say(json!({"type": "tool_result", "id": request["id"], "output": "it"})).await;
    assert_eq!(back.expect("tool_result").await["output"], "it");
    it.fakes.reached("end").await;
    it.fakes.open("end");
    let done = back.until("done").await;
    let said = done["full_response"].as_str().unwrap();
    assert!(said.starts_with("Let me see. ") && said.ends_with("Found. All."), "{said}");
}

#[tokio::test]
async fn the_tools_of_a_chat_that_goes_are_gone_for_its_turn() {
    let it = Talking::new().await;
    let token = it.token("companion").await;
    it.fakes.when(When::user(), Answer::new().call("torch", json!({})));
    it.fakes.when(When::result_of("torch"), Answer::text("No torch."));
    let mut chat = Peer::chat_at(&it.bench, &token, "/ws/chat?session_id=s1").await;
    chat.register(tools(&["torch"])).await;
    chat.say(message("light")).await;
    chat.until("tool_call_request").await;
    chat.leave().await;
    it.fakes.request(1).await;
    let told = it.fakes.requests()[1].said.new_results()[0].text.clone();
    assert!(told.contains("device_disconnected"), "{told}");
    assert!(!it.fakes.requests()[1].said.tools.contains(&"torch".to_owned()));
}

#[tokio::test]
async fn a_revoked_token_ends_its_turn() {
    let it = Talking::new().await;
    let made = it.bench.token("client").await;
    it.fakes.answer(Answer::text("on and ").gate("never"));
    let mut chat = Peer::chat_at(&it.bench, &made.token, "/ws/chat?session_id=s1").await;
    chat.say(message("go")).await;
    chat.expect("chunk").await;
    let revoked = it.owner("DELETE", &format!("/api/tokens/{}", made.id), None).await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_eq!(it.fakes.ended(0).await, toolway_fake_models::ResponseEnd::Dropped);
    assert_eq!(chat.closed().await.0, 4001);
    // What is kept of it may come a moment after the socket's end.
    let state = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let session = it.owner("GET", "/api/sessions/s1", None).await.json();
            match session["turns"][0]["state"].as_str() {
                Some("running") => tokio::task::yield_now().await,
                state => return state.map(str::to_owned),
            }
        }
    });
    assert_eq!(state.await.unwrap().as_deref(), Some("aborted"));
}

#[tokio::test]
async fn shutting_down_ends_turns_in_words() {
    let it = Talking::with(json!({"chat": {"titles": false}, "timeouts": {"shutdown_s": 1}})).await;
    it.fakes.answer(Answer::text("on and ").gate("never"));
    let mut chat = it.client().await;
    chat.say(message("go")).await;
    chat.expect("chunk").await;
    let Talking { bench, fakes: _fakes } = it;
    let stopping = tokio::spawn(async move { bench.gateway.shut_down().await });
    let error = chat.until("error").await;
    assert_eq!((&error["code"], &error["reason"]), (&json!("AGENT_ERROR"), &json!("shutting_down")));
    assert_eq!(chat.closed().await.0, 1001);
    stopping.await.unwrap();
}

#[tokio::test]
async fn an_owner_who_sees_all_sessions_can_ask_for_their_own() {
    let it = Talking::new().await;
    let (ann, bob) = (it.bench.token("client").await, it.bench.token("client").await);
    let owner = it.bench.owner.clone();
    let said = [
        ("mine-1", &owner),
        ("anns-1", &ann.token),
        ("mine-2", &owner),
        ("bobs-1", &bob.token),
        ("anns-2", &ann.token),
    ];
    for (session, token) in said {
        it.fakes.answer(Answer::text("Noted."));
        let mut chat = Peer::chat_at(&it.bench, token, &format!("/ws/chat?session_id={session}")).await;
        chat.say(message("note this")).await;
        chat.until("done").await;
        it.bench.clock.forward(Duration::from_secs(60));
    }
    let listed = async |token: &str, query: &str| {
        let answer = it.bench.send("GET", &format!("/api/sessions{query}"), Some(token), None).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let page = answer.json();
        let ids = page["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(listed(&owner, "").await.0, ["anns-2", "bobs-1", "mine-2", "anns-1", "mine-1"]);
    assert_eq!(listed(&owner, "?mine=false").await.0.len(), 5);
    assert_eq!(listed(&owner, "?mine=true").await, (vec!["mine-2".to_owned(), "mine-1".to_owned()], None));
    // Page by page too: those of others take no place on them.
    let (first, next) = listed(&owner, "?mine=true&limit=1").await;
    assert_eq!(first, ["mine-2"]);
    let rest = listed(&owner, &format!("?mine=true&limit=1&before={}", next.unwrap())).await;
    assert_eq!(rest, (vec!["mine-1".to_owned()], None));
    assert_eq!(listed(&ann.token, "?mine=true").await.0, ["anns-2", "anns-1"]);
    assert_eq!(listed(&ann.token, "").await.0, ["anns-2", "anns-1"]);
}
