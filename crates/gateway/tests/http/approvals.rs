//! Calls that wait for a person: who is asked, who may answer, and what nobody can do for themselves.

use serde_json::{Value, json};

use crate::events::SseTestReader;
use crate::probe_tools::ProbeTools;
use crate::support::{GatewayHarness, HttpAnswer};

/// A gateway whose calls all wait for approval.
async fn asking() -> GatewayHarness {
    GatewayHarness::with(json!({"approval": {"default": "always"}})).await
}

async fn decide(bench: &GatewayHarness, token: &str, question: &Value, body: Value) -> HttpAnswer {
    let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    bench.send("POST", &path, Some(token), Some(body)).await
}

async fn open(bench: &GatewayHarness, token: &str) -> Vec<Value> {
    let answer = bench.send("GET", "/api/approvals", Some(token), None).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["approvals"].as_array().unwrap().clone()
}

#[tokio::test]
async fn with_nobody_there_a_call_ends_at_once_and_says_how_to_grant() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    for token in [&client, &bench.create_token("companion").await] {
        let refused = bench.call(&token.token, "lamp", json!({})).await;
        assert_eq!(
            (&refused["error_type"], &refused["code"]),
            (&json!("permission_denied"), &json!("approval_unavailable"))
        );
        assert_eq!(
            refused["message"],
            "The call of desk/lamp needs a person's approval, and nobody is available to answer"
        );
        let grant = format!("`toolway grants add desk/lamp --for {}`", token.id);
        assert!(refused["hint"].as_str().unwrap().contains(&grant), "{refused}");
        assert_eq!(refused["dispatched"], false);
    }
    assert_eq!(probe.run_count(), 0);
    assert_eq!(open(&bench, &bench.owner).await, [Value::Null; 0]);
}

#[tokio::test]
async fn an_owner_who_watches_is_asked_and_the_record_shows_who_approved() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut watch = SseTestReader::watch(&bench).await;
    let calling = bench.call(&client.token, "lamp", json!({"token": "hunter2", "on": true}));
    let answering = async {
        let question = watch.expect("approval_requested").await;
        assert_eq!(
            question,
            json!({
                "id": question["id"], "kind": "approval", "changed_tool": false, "call_id": question["call_id"],
                "tool": "desk__lamp", "tool_id": "desk/lamp", "principal": client.id,
                "reason": "calls of desk/lamp wait for approval",
                "arguments": {"token": "[redacted]", "on": true}, "caller_may_answer": false,
                "created_ms": 1_700_000_000_000_i64, "expires_ms": 1_700_000_120_000_i64,
            })
        );
        assert_eq!(open(&bench, &bench.owner).await, std::slice::from_ref(&question));
        // Who comes to watch later sees what is open already.
        let mut second = SseTestReader::watch(&bench).await;
        assert_eq!(second.expect("approval_requested").await, question);
        let answer = decide(&bench, &bench.owner, &question, json!({"decision": "granted"})).await;
        assert_eq!((answer.status, answer.body.as_str()), (204, ""));
        let over = json!({"id": question["id"], "resolution": "answered", "decision": "granted", "scope": "once", "answered_by": "owner"});
        assert_eq!(watch.expect("approval_resolved").await, over);
        assert_eq!(second.expect("approval_resolved").await, over);
        let again = decide(&bench, &bench.owner, &question, json!({"decision": "denied"})).await;
        assert_eq!((again.status, again.code().as_str()), (404, "approval_not_pending"));
    };
    let (outcome, ()) = tokio::join!(calling, answering);
    assert_eq!(
        (&outcome["status"], &outcome["result"], probe.run_count()),
        (&json!("success"), &json!("ran"), 1)
    );
    let path = format!("/api/calls/{}", outcome["call_id"].as_str().unwrap());
    let record = bench.send("GET", &path, Some(&client.token), None).await.json();
    assert_eq!(record["approved_by"], "owner");
    assert_eq!(open(&bench, &bench.owner).await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_caller_sees_its_own_question_and_answers_it_only_where_the_rules_say_so() {
    let bench = asking().await;
    let (client, other) = (bench.create_token("client").await, bench.create_token("client").await);
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut watch = SseTestReader::watch(&bench).await;
    let calling = bench.call(&client.token, "lamp", json!({}));
    let answering = async {
        let question = watch.expect("approval_requested").await;
        assert_eq!(open(&bench, &client.token).await, std::slice::from_ref(&question));
        assert_eq!(open(&bench, &other.token).await, [Value::Null; 0]);
        let granted = json!({"decision": "granted"});
        let own = decide(&bench, &client.token, &question, granted.clone()).await;
        assert_eq!((own.status, own.code().as_str()), (403, "owner_only"));
        // To others it is as if there were none.
        let others = decide(&bench, &other.token, &question, granted.clone()).await;
        let mut unknown = question.clone();
        unknown["id"] = json!("01920000-0000-7000-8000-0000000000ab");
        let none = decide(&bench, &other.token, &unknown, granted).await;
        assert_eq!((others.status, others.code().as_str()), (404, "approval_not_pending"));
        assert_eq!(others.body, none.body);
        let denied = decide(&bench, &bench.owner, &question, json!({"decision": "denied"})).await;
        assert_eq!(denied.status, 204);
    };
    let (outcome, ()) = tokio::join!(calling, answering);
    assert_eq!((&outcome["error_type"], &outcome["code"]), (&json!("permission_denied"), &json!("denied")));
    assert_eq!(outcome["message"], "The call of desk/lamp was denied by the user");
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn a_caller_that_may_answer_is_asked_on_the_calls_own_stream() {
    let rule = json!({"name": "careful", "effect": "ask", "caller_may_answer": true});
    let bench = GatewayHarness::with(json!({"policy": {"rules": [rule]}})).await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    // Without a word that somebody is there, nobody is.
    for body in [json!({}), json!({"interactive": false})] {
        let mut quiet = SseTestReader::call(&bench, &client.token, "lamp", body).await;
        assert_eq!(quiet.expect("outcome").await["code"], "approval_unavailable");
        quiet.end().await;
    }
    let answer = bench
        .send("POST", "/api/tools/lamp/call", Some(&client.token), Some(json!({"interactive": true})))
        .await;
    assert_eq!(answer.json()["code"], "approval_unavailable", "no stream, so nobody can be shown a question");

    let mut call = SseTestReader::call(&bench, &client.token, "lamp", json!({"interactive": true})).await;
    let question = call.expect("approval_requested").await;
    assert_eq!(question["reason"], "the rule \"careful\" asks before desk/lamp runs");
    assert_eq!(question["caller_may_answer"], true);
    for (token, scope, status, code) in [
        (&client.token, "always", 403, "scope_too_wide"),
        (&client.token, "agent", 403, "scope_too_wide"),
        (&client.token, "session", 409, "scope_not_applicable"),
        (&bench.owner, "agent", 409, "scope_not_applicable"),
    ] {
        let refused = decide(&bench, token, &question, json!({"decision": "granted", "scope": scope})).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{scope}");
    }
    for body in [
        json!({}),
        json!({"decision": "yes"}),
        json!({"decision": "granted", "scope": "ever"}),
        json!({"decision": "granted", "by": "owner"}),
    ] {
        let refused = decide(&bench, &client.token, &question, body.clone()).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{body}");
    }
    assert_eq!(probe.run_count(), 0);
    let answer =
        decide(&bench, &client.token, &question, json!({"decision": "granted", "scope": "once"})).await;
    assert_eq!(answer.status, 204);
    assert_eq!(call.expect("approval_resolved").await["answered_by"], client.id.as_str());
    let outcome = call.expect("outcome").await;
    assert_eq!((&outcome["status"], probe.run_count()), (&json!("success"), 1));
    call.end().await;
    let path = format!("/api/calls/{}", outcome["call_id"].as_str().unwrap());
    assert_eq!(bench.send_as_owner("GET", &path, None).await.json()["approved_by"], client.id.as_str());
}

/// An owner who calls and says that they are there needs nobody else.
#[tokio::test]
async fn an_owner_answers_for_their_own_call() {
    let bench = asking().await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut call = SseTestReader::call(&bench, &bench.owner, "lamp", json!({"interactive": true})).await;
    let question = call.expect("approval_requested").await;
    assert_eq!(decide(&bench, &bench.owner, &question, json!({"decision": "granted"})).await.status, 204);
    call.expect("approval_resolved").await;
    assert_eq!(call.expect("outcome").await["result"], "ran");
    assert_eq!(probe.run_count(), 1);
    assert_eq!(bench.call(&bench.owner, "lamp", json!({})).await["code"], "approval_unavailable");
}

#[tokio::test]
async fn nothing_that_a_client_sends_approves_its_own_call_e9() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    for field in ["approved", "approval", "approved_by", "approve", "permissions", "grant", "role"] {
        let body = json!({"args": {}, field: "owner"});
        let refused = bench.send("POST", "/api/tools/lamp/call", Some(&client.token), Some(body)).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{field}");
    }
    // Among the arguments such words are arguments.
    let args = json!({"approved": true, "approval": "owner", "_meta": {"approved_by": "owner"}});
    assert_eq!(bench.call(&client.token, "lamp", args).await["code"], "approval_unavailable");
    let mut headers = vec![
        ("Host".to_owned(), "localhost".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {}", client.token)),
    ];
    for header in ["X-Approved", "X-Approved-By", "Approval", "X-Toolway-Approval", "X-Role"] {
        headers.push((header.to_owned(), "owner".to_owned()));
    }
    let answer = bench.send_raw("POST", "/api/tools/lamp/call?approved=true", &headers, "").await;
    assert_eq!(answer.json()["code"], "approval_unavailable", "{answer:?}");
    assert_eq!(probe.run_count(), 0);
}

fn ask_permission(state: &str) -> Value {
    json!({"permissions": {"rules": [{"permission": "device.*", "state": state}]}})
}

#[tokio::test]
async fn denied_and_permanently_denied_have_different_codes_e2() {
    let bench = GatewayHarness::with(ask_permission("denied")).await;
    let probe = ProbeTools::with_permissions(
        &bench,
        "desk",
        "locate",
        &["android.permission.CAMERA", "device.location"],
    );
    let denied = bench.call(&bench.owner, "locate", json!({})).await;
    assert_eq!((&denied["code"], &denied["error_type"]), (&json!("denied"), &json!("permission_denied")));
    assert_eq!(denied["message"], "Permission device.location was denied by the user");

    bench.apply(ask_permission("denied_always")).await.unwrap();
    let always = bench.call(&bench.owner, "locate", json!({})).await;
    assert_eq!(
        (&always["code"], &always["error_type"]),
        (&json!("denied_always"), &json!("permission_denied"))
    );
    let message = "Permission device.location was denied by the user permanently; do not ask again";
    assert_eq!(always["message"], message);
    assert_eq!(always["hint"], "Change the setting permissions.rules to allow it");

    // A person's no for good: kept, said, and with the way to take it back.
    bench.apply(ask_permission("ask")).await.unwrap();
    let mut watch = SseTestReader::watch(&bench).await;
    let calling = bench.call(&bench.owner, "locate", json!({}));
    let answering = async {
        let question = watch.expect("approval_requested").await;
        assert_eq!(
            (&question["kind"], &question["permission"]),
            (&json!("permission"), &json!("device.location"))
        );
        assert_eq!(question["reason"], "desk/locate needs the permission device.location");
        let never = json!({"decision": "denied_always", "scope": "always"});
        assert_eq!(decide(&bench, &bench.owner, &question, never).await.status, 204);
    };
    let (refused, ()) = tokio::join!(calling, answering);
    assert_eq!((&refused["code"], &refused["message"]), (&json!("denied_always"), &json!(message)));
    watch.expect("approval_resolved").await;
    let grants = bench.send_as_owner("GET", "/api/grants", None).await.json();
    let id = grants["grants"][0]["id"].as_str().unwrap();
    let again = bench.call(&bench.owner, "locate", json!({})).await;
    assert_eq!((&again["code"], &again["message"]), (&json!("denied_always"), &json!(message)));
    assert_eq!(again["hint"], format!("To revoke the denial, run `toolway grants revoke {id}`"));
    assert_eq!(bench.send_as_owner("DELETE", &format!("/api/grants/{id}"), None).await.status, 204);
    drop(watch);
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn a_question_whose_caller_goes_is_withdrawn() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut watch = SseTestReader::watch(&bench).await;
    let mut tail = SseTestReader::open(&bench, "GET", "/api/calls/tail", &bench.owner, None).await;
    let call = SseTestReader::call(&bench, &client.token, "lamp", json!({})).await;
    let question = watch.expect("approval_requested").await;
    drop(call);
    assert_eq!(
        watch.expect("approval_resolved").await,
        json!({"id": question["id"], "resolution": "cancelled"})
    );
    let late = decide(&bench, &bench.owner, &question, json!({"decision": "granted"})).await;
    assert_eq!((late.status, late.code().as_str()), (404, "approval_not_pending"));
    assert_eq!(open(&bench, &bench.owner).await, [Value::Null; 0]);
    let ended = tail.expect("call").await;
    assert_eq!((&ended["call_id"], &ended["code"]), (&question["call_id"], &json!("cancelled")));
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn a_question_that_nobody_answers_in_time_is_over() {
    let bench =
        GatewayHarness::with(json!({"approval": {"default": "always"}, "timeouts": {"approval_s": 0.01}}))
            .await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut watch = SseTestReader::watch(&bench).await;
    let (outcome, question) =
        tokio::join!(bench.call(&bench.owner, "lamp", json!({})), watch.expect("approval_requested"));
    assert_eq!(outcome["code"], "approval_unavailable");
    assert!(outcome["message"].as_str().unwrap().contains("nobody answered within"), "{outcome}");
    assert_eq!(
        watch.expect("approval_resolved").await,
        json!({"id": question["id"], "resolution": "expired"})
    );
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn once_the_last_watcher_has_gone_calls_do_not_wait() {
    let bench =
        GatewayHarness::with(json!({"approval": {"default": "always"}, "limits": {"sse_streams": 1}})).await;
    let _probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let watch = SseTestReader::watch(&bench).await;
    let full = bench.send_as_owner("GET", "/api/approvals/watch", None).await;
    assert_eq!((full.status, full.code().as_str()), (429, "too_many_streams"));
    drop(watch);
    // Its room is free in the moment in which it stops watching.
    let mut tries = 0;
    let headers = [
        ("Host".to_owned(), "localhost".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {}", bench.owner)),
        ("Accept".to_owned(), "text/event-stream".to_owned()),
    ];
    let answer = loop {
        let answer = bench.send_raw("POST", "/api/tools/lamp/call", &headers, "").await;
        if answer.status == 200 {
            break answer;
        }
        tries += 1;
        assert!(tries < 1000, "{answer:?}");
        tokio::task::yield_now().await;
    };
    assert!(answer.body.contains("approval_unavailable"), "{answer:?}");
}

#[tokio::test]
async fn under_writes_what_is_trusted_to_only_read_runs_free() {
    let bench = GatewayHarness::with(json!({"approval": {"default": "writes"}})).await;
    let reads = || toolway_types::SpecDocument {
        annotations: toolway_types::RawJson::parse(r#"{"readOnlyHint":true}"#).ok(),
        ..toolway_types::SpecDocument::named("look")
    };
    let probe = ProbeTools::with(&bench, "desk", vec![reads()]);
    assert_eq!(bench.call(&bench.owner, "get_current_time", json!({})).await["status"], "success");
    let write = json!({"path": "a.txt", "content": "x"});
    assert_eq!(bench.call(&bench.owner, "write_file", write).await["code"], "approval_unavailable");
    // That a source says so of itself counts once the owner believes it.
    assert_eq!(bench.call(&bench.owner, "look", json!({})).await["code"], "approval_unavailable");
    let trusted =
        json!({"approval": {"default": "writes"}, "policy": {"trusted_sources": ["builtin", "desk"]}});
    bench.apply(trusted).await.unwrap();
    assert_eq!(bench.call(&bench.owner, "look", json!({})).await["result"], "ran");
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn a_call_of_a_token_that_was_revoked_does_not_run_when_somebody_says_yes() {
    let bench = asking().await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let mut watch = SseTestReader::watch(&bench).await;
    let plain = bench.call(&client.token, "lamp", json!({}));
    let revoking = async {
        let question = watch.expect("approval_requested").await;
        let path = format!("/api/tokens/{}", client.id);
        assert!(bench.send("DELETE", &path, Some(&bench.owner), None).await.status < 300);
        assert_eq!(watch.expect("approval_resolved").await["resolution"], "cancelled");
        let late = decide(&bench, &bench.owner, &question, json!({"decision": "granted"})).await;
        assert_eq!(late.status, 404);
    };
    let (outcome, ()) = tokio::join!(plain, revoking);
    assert_eq!((&outcome["code"], probe.run_count()), (&json!("cancelled"), 0));
}
