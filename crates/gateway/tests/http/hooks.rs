//! The owner's hooks around every call, from the settings.

use serde_json::{Value, json};
use toolway_gateway::GatewayStartError;

use crate::probe_tools::ProbeTools;
use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

/// A hook that runs this with the shell.
fn hook(name: &str, script: &str, more: Value) -> Value {
    let mut hook = json!({
        "name": name, "kind": "command", "program": "/bin/sh", "args": ["-c", script], "on_failure": "closed",
        "timeout_ms": 30_000,
    });
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hook
}

async fn record(bench: &GatewayHarness, outcome: &Value) -> Value {
    let path = format!("/api/calls/{}", outcome["call_id"].as_str().unwrap());
    bench.send_as_owner("GET", &path, None).await.json()
}

#[tokio::test]
async fn a_hook_stops_calls_of_its_tools_wherever_they_live() {
    let script = r#"cat >/dev/null; echo '{"decision":"cancel","reason":"not on Sundays"}'"#;
    let hooks =
        json!([hook("sunday", script, json!({"tools": ["pixel/*", "desk/lamp"], "stages": ["before"]}))]);
    let bench = GatewayHarness::with(json!({"hooks": hooks})).await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp", "door"]);
    let mut device =
        WebSocketClient::device(&bench, &bench.create_token("device").await.token, "pixel").await;
    device.register(json!([{"name": "camera", "description": "x"}])).await;
    for name in ["lamp", "pixel__camera"] {
        let stopped = bench.call(&bench.owner, name, json!({})).await;
        assert_eq!(
            (&stopped["error_type"], &stopped["code"]),
            (&json!("execution_error"), &json!("hook_cancelled"))
        );
        assert_eq!(stopped["message"], "The hook \"sunday\" cancelled the call: not on Sundays");
        assert_eq!(stopped["dispatched"], false);
        assert_eq!(record(&bench, &stopped).await["hooks"], json!(["sunday"]));
    }
    assert_eq!(bench.call(&bench.owner, "door", json!({})).await["result"], "ran");
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn a_hook_changes_arguments_which_are_checked_again_and_replaces_results() {
    let modify = |arguments: &str| format!(r#"echo '{{"decision":"modify","arguments":{arguments}}}'"#);
    let before = json!({"tools": ["builtin/get_current_time"], "stages": ["before"]});
    let after = json!({"tools": ["builtin/get_current_time"], "stages": ["after"]});
    let hooks = json!([
        hook("zone", &modify(r#"{"timezone":"Asia/Tokyo"}"#), before.clone()),
        hook("stamp", r#"echo '{"decision":"replace","result":"about then"}'"#, after),
    ]);
    let bench = GatewayHarness::with(json!({"hooks": hooks})).await;
    let outcome = bench.call(&bench.owner, "get_current_time", json!({})).await;
    assert_eq!((&outcome["status"], &outcome["result"]), (&json!("success"), &json!("about then")));
    let kept = record(&bench, &outcome).await;
    assert_eq!(
        (&kept["hooks"], &kept["effective_arguments"]),
        (&json!(["zone", "stamp"]), &json!({"timezone": "Asia/Tokyo"}))
    );
    assert_eq!(kept["arguments"], json!({}));

    bench.apply(json!({"hooks": [hook("zone", &modify(r#"{"zone":1}"#), before)]})).await.unwrap();
    let outcome = bench.call(&bench.owner, "get_current_time", json!({})).await;
    assert_eq!(
        (&outcome["error_type"], &outcome["code"]),
        (&json!("validation_error"), &json!("invalid_arguments"))
    );
    assert!(outcome["message"].as_str().unwrap().contains("zone"), "{outcome}");
    bench.apply(json!({})).await.unwrap();
    assert_eq!(
        bench.call(&bench.owner, "get_current_time", json!({})).await["result"],
        "2023-11-14T22:13:20+00:00"
    );
}

#[tokio::test]
async fn a_hook_that_fails_stops_the_call_or_not_as_its_owner_says() {
    let failing = |on_failure: &str| json!({"hooks": [hook("guard", "echo broken >&2; exit 3", json!({"on_failure": on_failure, "stages": ["before"]}))]});
    let bench = GatewayHarness::with(failing("closed")).await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp"]);
    let stopped = bench.call(&bench.owner, "lamp", json!({})).await;
    assert_eq!((&stopped["code"], probe.run_count()), (&json!("hook_cancelled"), 0));
    assert!(stopped["message"].as_str().unwrap().contains("\"guard\" failed"), "{stopped}");
    bench.apply(failing("open")).await.unwrap();
    assert_eq!(bench.call(&bench.owner, "lamp", json!({})).await["result"], "ran");
    assert_eq!(probe.run_count(), 1);
}

#[tokio::test]
async fn a_hook_hears_who_calls_what_and_how_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let heard = dir.path().join("heard");
    let script = format!("cat >> '{}'", heard.display());
    let bench = GatewayHarness::with(json!({"hooks": [hook("ear", &script, json!({}))]})).await;
    let client = bench.create_agent_token("home").await;
    let outcome = bench.call(&client.token, "get_current_time", json!({"timezone": "UTC"})).await;
    assert_eq!(outcome["status"], "success", "{outcome}");
    let text = std::fs::read_to_string(heard).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = json!({
        "id": outcome["call_id"], "tool_id": "builtin/get_current_time", "principal": client.id, "role": "client",
        "via": "rest", "agent": "home", "arguments": {"timezone": "UTC"},
    });
    let result = json!({"status": "success", "result": outcome["result"]});
    assert_eq!(
        lines,
        [
            json!({"version": 2, "stage": "before", "call": call}),
            json!({"version": 2, "stage": "after", "call": call, "outcome": result}),
        ]
    );
}

#[tokio::test]
async fn hooks_that_can_not_be_asked_keep_the_gateway_from_starting() {
    let gone =
        json!({"name": "gone", "kind": "command", "program": "/nowhere/at/all", "on_failure": "closed"});
    let unsigned = json!({"name": "web", "kind": "webhook", "url": "https://a.example/", "on_failure": "open",
                          "secret_env": "NOT_THERE"});
    for (hooks, keys) in [
        (json!([gone]), vec!["hooks[0].program"]),
        (json!([hook("fine", "true", json!({})), gone]), vec!["hooks[1].program"]),
        (json!([hook("a", "true", json!({})), hook("a", "true", json!({}))]), vec!["hooks[1].name"]),
        (json!([hook("a", "true", json!({"url": "https://a.example/"}))]), vec!["hooks[0].url"]),
        // Nobody is trusted here, so nothing can be asked over TLS.
        (json!([unsigned]), vec!["hooks"]),
    ] {
        let GatewayStartError::Settings(problems) =
            GatewayHarness::expect_start_error(json!({"hooks": hooks})).await
        else {
            panic!("something else was wrong");
        };
        let found: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
        assert_eq!(found, keys, "{problems:?}");
        assert!(problems.iter().all(|problem| !problem.hint.is_empty()));
    }
}
