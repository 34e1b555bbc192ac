//! Answers that are kept: for whom, for how long, and taking them back.

use std::time::Duration;

use serde_json::{Value, json};
use toolway_core::consent::{QuestionEvent, QuestionWatcher};

use crate::probe_tools::ProbeTools;
use crate::support::{GatewayHarness, NOW};
use crate::websocket::WebSocketClient;

async fn asking() -> GatewayHarness {
    GatewayHarness::with(settings()).await
}

fn settings() -> Value {
    json!({
        "approval": {"rules": [{"mode": "always", "when": {"tools": ["desk/*", "lab/*"]}}]},
        "permissions": {"default": "ask"},
    })
}

/// Grants this; gives the grant's id.
async fn grant(bench: &GatewayHarness, body: Value) -> String {
    let made = bench.send_as_owner("POST", "/api/grants", Some(body)).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.text("id")
}

async fn revoke(bench: &GatewayHarness, id: &str) {
    assert_eq!(bench.send_as_owner("DELETE", &format!("/api/grants/{id}"), None).await.status, 204);
}

async fn grants(bench: &GatewayHarness) -> Vec<Value> {
    bench.send_as_owner("GET", "/api/grants", None).await.json()["grants"].as_array().unwrap().clone()
}

/// What a call ends in: `success`, or its code.
async fn call_outcome(bench: &GatewayHarness, token: &str, tool: &str) -> String {
    let outcome = bench.call(token, tool, json!({})).await;
    let word = outcome.get("code").unwrap_or(&outcome["status"]);
    word.as_str().unwrap().to_owned()
}

/// An owner who watches; gone in the moment in which it is dropped, which a connection is not.
fn watch(bench: &GatewayHarness) -> QuestionWatcher {
    bench.gateway.app().engine.questions().watch()
}

/// Calls a tool and answers the question that comes as the owner; gives what the call ends in.
async fn call_outcome_answering(bench: &GatewayHarness, token: &str, tool: &str, answer: Value) -> String {
    let mut watching = watch(bench);
    let answering = async {
        let Ok(QuestionEvent::Asked(question)) = watching.events.recv().await else { panic!("not asked") };
        let path = format!("/api/approvals/{}", question.id);
        assert_eq!(bench.send_as_owner("POST", &path, Some(answer)).await.status, 204);
    };
    let (ended, ()) = tokio::join!(call_outcome(bench, token, tool), answering);
    ended
}

/// Calls a tool while an owner watches who is to be asked nothing.
async fn call_outcome_unasked(bench: &GatewayHarness, token: &str, tool: &str) -> String {
    let mut watching = watch(bench);
    let ended = call_outcome(bench, token, tool).await;
    assert!(watching.events.try_recv().is_err(), "nobody is asked");
    ended
}

#[tokio::test]
async fn a_grant_beforehand_holds_for_its_principal_until_it_is_taken_back() {
    let bench = asking().await;
    let (one, other) = (bench.create_token("client").await, bench.create_token("client").await);
    let _probe = ProbeTools::offer(&bench, "desk", &["lamp", "door"]);
    let made = bench
        .send_as_owner("POST", "/api/grants", Some(json!({"tool": "desk/lamp", "principal": one.id})))
        .await;
    let id = made.text("id");
    let expected = json!({
        "id": id, "decision": "granted", "tool": "desk/lamp", "scope": "principal", "principal": one.id,
        "created_ms": NOW, "created_by": "owner",
    });
    assert_eq!((made.status, made.json()), (201, expected.clone()));
    assert_eq!(grants(&bench).await, [expected]);

    let called = bench.call(&one.token, "lamp", json!({})).await;
    assert_eq!(called["status"], "success");
    let path = format!("/api/calls/{}", called["call_id"].as_str().unwrap());
    assert_eq!(bench.send_as_owner("GET", &path, None).await.json()["approved_by"], format!("grant:{id}"));
    assert_eq!(call_outcome(&bench, &one.token, "door").await, "approval_unavailable");
    assert_eq!(call_outcome(&bench, &other.token, "lamp").await, "approval_unavailable");

    revoke(&bench, &id).await;
    assert_eq!(call_outcome(&bench, &one.token, "lamp").await, "approval_unavailable");
    assert_eq!(grants(&bench).await, [Value::Null; 0]);
    for id in [id.as_str(), "nonsense"] {
        let again = bench.send_as_owner("DELETE", &format!("/api/grants/{id}"), None).await;
        assert_eq!((again.status, again.code().as_str()), (404, "grant_not_found"), "{id}");
    }
}

#[tokio::test]
async fn whom_and_what_a_grant_reaches() {
    let bench = asking().await;
    let (plain, bound) = (bench.create_token("client").await, bench.create_agent_token("home").await);
    let _desk = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let _lab = ProbeTools::offer(&bench, "lab", &["laser"]);
    let both = |plain: &str, bound: &str| (plain.to_owned(), bound.to_owned());
    let ended = async |tool: &str| {
        (call_outcome(&bench, &plain.token, tool).await, call_outcome(&bench, &bound.token, tool).await)
    };
    let (yes, no) = ("success", "approval_unavailable");

    let agent = grant(&bench, json!({"tool": "desk/*", "agent": "home"})).await;
    assert_eq!((ended("lamp").await, ended("laser").await), (both(no, yes), both(no, no)));
    revoke(&bench, &agent).await;
    assert_eq!(ended("lamp").await, both(no, no));

    let all = grant(&bench, json!({"tool": "{desk,lab}/la*"})).await;
    assert_eq!((ended("lamp").await, ended("laser").await), (both(yes, yes), both(yes, yes)));
    // A no counts before a yes, whichever came first and however far each reaches.
    let never =
        grant(&bench, json!({"tool": "lab/laser", "principal": plain.id, "decision": "denied_always"})).await;
    assert_eq!((ended("lamp").await, ended("laser").await), (both(yes, yes), both("denied_always", yes)));
    revoke(&bench, &never).await;
    revoke(&bench, &all).await;
    assert_eq!(ended("laser").await, both(no, no));
}

#[tokio::test]
async fn a_grant_for_a_permission_is_none_for_running_and_the_other_way_round() {
    let bench = asking().await;
    let _probe = ProbeTools::with_permissions(&bench, "desk", "locate", &["device.location"]);
    let client = bench.create_token("client").await;
    let unavailable = async || bench.call(&client.token, "locate", json!({})).await["message"].clone();
    let permission =
        "The permission device.location needs a person's approval, and nobody is available to answer";
    let approval = "The call of desk/locate needs a person's approval, and nobody is available to answer";

    let run = grant(&bench, json!({"tool": "desk/locate"})).await;
    assert_eq!(unavailable().await, permission);
    let other = grant(&bench, json!({"tool": "desk/locate", "permission": "files.write"})).await;
    assert_eq!(unavailable().await, permission);
    let right = grant(&bench, json!({"tool": "desk/locate", "permission": "device.location"})).await;
    assert_eq!(call_outcome(&bench, &client.token, "locate").await, "success");
    revoke(&bench, &run).await;
    assert_eq!(unavailable().await, approval);
    let listed = grants(&bench).await;
    let seen: Vec<_> =
        listed.iter().map(|grant| (&grant["id"], &grant["permission"], &grant["scope"])).collect();
    let expected = [
        (&json!(other), &json!("files.write"), &json!("anyone")),
        (&json!(right), &json!("device.location"), &json!("anyone")),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_grant_ends_by_itself() {
    let bench = asking().await;
    let _probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    grant(&bench, json!({"tool": "desk/lamp", "expires_in_s": 60})).await;
    assert_eq!(grants(&bench).await[0]["expires_ms"], NOW + 60_000);
    bench.clock.advance(Duration::from_millis(59_999));
    assert_eq!(call_outcome(&bench, &bench.owner, "lamp").await, "success");
    bench.clock.advance(Duration::from_millis(1));
    assert_eq!(call_outcome(&bench, &bench.owner, "lamp").await, "approval_unavailable");
    assert_eq!(grants(&bench).await, [Value::Null; 0]);
}

#[tokio::test]
async fn an_answer_for_always_is_kept_and_acts_until_it_is_revoked() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let _probe = ProbeTools::offer(&bench, "desk", &["lamp", "door"]);
    let always = json!({"decision": "granted", "scope": "always"});
    assert_eq!(call_outcome_answering(&bench, &client.token, "lamp", always).await, "success");
    assert_eq!(call_outcome_unasked(&bench, &client.token, "lamp").await, "success");
    assert_eq!(call_outcome(&bench, &client.token, "door").await, "approval_unavailable");
    assert_eq!(call_outcome(&bench, &bench.owner, "lamp").await, "approval_unavailable");
    let kept = grants(&bench).await;
    assert_eq!(kept.len(), 1);
    assert_eq!((&kept[0]["scope"], &kept[0]["principal"]), (&json!("principal"), &json!(client.id)));
    assert_eq!((&kept[0]["tool"], &kept[0]["created_by"]), (&json!("desk/lamp"), &json!("owner")));

    let bench = bench.restart(settings()).await;
    let _probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    assert_eq!(grants(&bench).await, kept);
    assert_eq!(call_outcome(&bench, &client.token, "lamp").await, "success");
    revoke(&bench, kept[0]["id"].as_str().unwrap()).await;
    assert_eq!(call_outcome(&bench, &client.token, "lamp").await, "approval_unavailable");
    let bench = bench.restart(settings()).await;
    assert_eq!(grants(&bench).await, [Value::Null; 0]);
}

#[tokio::test]
async fn an_answer_for_an_agent_holds_for_all_who_call_in_its_name() {
    let bench = asking().await;
    let (one, two) = (bench.create_agent_token("home").await, bench.create_agent_token("home").await);
    let other = bench.create_agent_token("work").await;
    let _probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let agent = json!({"decision": "granted", "scope": "agent"});
    assert_eq!(call_outcome_answering(&bench, &one.token, "lamp", agent).await, "success");
    assert_eq!(call_outcome_unasked(&bench, &two.token, "lamp").await, "success");
    assert_eq!(call_outcome(&bench, &other.token, "lamp").await, "approval_unavailable");
    let kept = grants(&bench).await;
    assert_eq!((&kept[0]["scope"], &kept[0]["agent"]), (&json!("agent"), &json!("home")));
}

#[tokio::test]
async fn an_answer_for_a_session_holds_there_and_does_not_outlive_the_gateway() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::with_permissions(&bench, "cellar", "locate", &["device.location"]);
    let mut first = WebSocketClient::chat_at(&bench, &client.token, "/ws/chat?session_id=s-1").await;
    first.start("a", "locate", json!({})).await;
    let question = first.expect("permission_request").await;
    first.decide(&question, "granted", "session").await;
    assert_eq!(first.expect("call_result").await["status"], "success");
    assert_eq!(first.call("locate", json!({})).await["status"], "success");
    // On another connection it is the same session; another one is asked anew.
    let mut again = WebSocketClient::chat_at(&bench, &client.token, "/ws/chat?session_id=s-1").await;
    assert_eq!(again.call("locate", json!({})).await["status"], "success");
    let mut second = WebSocketClient::chat_at(&bench, &client.token, "/ws/chat?session_id=s-2").await;
    second.start("b", "locate", json!({})).await;
    let question = second.expect("permission_request").await;
    second.decide(&question, "denied", "once").await;
    assert_eq!(second.expect("call_result").await["code"], "denied");
    assert_eq!(probe.run_count(), 3);
    // Nor is it that of another who gives their session the same name.
    let mut stranger = WebSocketClient::chat_at(
        &bench,
        &bench.create_token("client").await.token,
        "/ws/chat?session_id=s-1",
    )
    .await;
    stranger.start("c", "locate", json!({})).await;
    stranger.expect("permission_request").await;

    let kept = grants(&bench).await;
    assert_eq!(kept.len(), 1);
    assert_eq!((&kept[0]["scope"], &kept[0]["session_id"]), (&json!("session"), &json!("s-1")));
    assert_eq!((&kept[0]["principal"], &kept[0]["created_by"]), (&json!(client.id), &json!(client.id)));
    revoke(&bench, kept[0]["id"].as_str().unwrap()).await;
    first.start("d", "locate", json!({})).await;
    let question = first.expect("permission_request").await;
    first.decide(&question, "granted", "session").await;
    first.expect("call_result").await;
    assert_eq!(grants(&bench).await.len(), 1);
    drop((first, again, second, stranger));
    let bench = bench.restart(settings()).await;
    assert_eq!(grants(&bench).await, [Value::Null; 0]);
}

#[tokio::test]
async fn what_can_not_be_granted_is_refused_with_the_reason() {
    let bench = asking().await;
    let cases = [
        (json!({}), "tool"),
        (json!({"tool": ""}), "tool"),
        (json!({"tool": "lamp"}), "source/tool"),
        (json!({"tool": "desk/["}), "desk/["),
        (json!({"tool": "desk/lamp", "principal": "a", "agent": "b"}), "exclude each other"),
        (json!({"tool": "desk/lamp", "decision": "denied"}), "denied"),
        (json!({"tool": "desk/lamp", "permission": ""}), "permission"),
        (json!({"tool": "desk/lamp", "expires_in_s": 0}), "expires_in_s"),
        (json!({"tool": "desk/lamp", "expires_in_s": 315_360_001}), "expires_in_s"),
        (json!({"tool": "desk/lamp", "session": "s"}), "session"),
        (json!({"tool": "desk/lamp", "created_by": "owner"}), "created_by"),
    ];
    for (body, word) in cases {
        let refused = bench.send_as_owner("POST", "/api/grants", Some(body.clone())).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{body}");
        assert!(refused.body.contains(word), "{body}: {refused:?}");
    }
    assert_eq!(grants(&bench).await, [Value::Null; 0]);
}
