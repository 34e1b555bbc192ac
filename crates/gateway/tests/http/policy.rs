//! Policy rules: their locations and order, and the calls that they deny or limit.

use serde_json::{Value, json};
use toolway_gateway::{ApplySettingsError, SettingsOrigin};

use crate::probe_tools::ProbeTools;
use crate::support::{GatewayHarness, HttpAnswer};
use crate::websocket::WebSocketClient;

fn deny(tools: &[&str]) -> Value {
    json!({"effect": "deny", "when": {"tools": tools}})
}

async fn put(bench: &GatewayHarness, name: &str, rule: Value) -> HttpAnswer {
    bench.send_as_owner("PUT", &format!("/api/policy/rules/{name}"), Some(json!({"rule": rule}))).await
}

async fn names(bench: &GatewayHarness) -> Vec<String> {
    let policy = bench.send_as_owner("GET", "/api/policy", None).await.json();
    let rules = policy["rules"].as_array().unwrap();
    rules.iter().map(|rule| rule["name"].as_str().unwrap().to_owned()).collect()
}

async fn listed(bench: &GatewayHarness, token: &str) -> Vec<String> {
    let tools = bench.send("GET", "/api/tools", Some(token), None).await.json();
    tools["tools"].as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn rules_of_the_settings_come_first_and_can_be_changed_only_there() {
    let settings = json!({"policy": {"default": "allow", "rules": [
        {"name": "no-files", "effect": "deny", "when": {"tools": ["builtin/*_file"], "roles": ["client"]}},
    ]}});
    let origin = SettingsOrigin {
        file: Some("/etc/toolway.toml".into()),
        rule_lines: vec![12],
        ..SettingsOrigin::default()
    };
    let bench = GatewayHarness::with_origin(tempfile::tempdir().unwrap(), settings, origin).await;

    assert_eq!(put(&bench, "night", deny(&["desk/*"])).await.status, 201);
    assert_eq!(put(&bench, "night", deny(&["desk/lamp"])).await.status, 200);
    let first = json!({"rule": deny(&["desk/door"]), "before": 0});
    assert_eq!(bench.send_as_owner("PUT", "/api/policy/rules/first", Some(first)).await.status, 201);
    let policy = bench.send_as_owner("GET", "/api/policy", None).await.json();
    assert_eq!(
        policy,
        json!({
            "default": "allow", "trusted_sources": ["builtin", "own"], "changed_tools": "flag",
            "rules": [
                {
                    "name": "no-files", "origin": {"kind": "settings", "path": "/etc/toolway.toml", "line": 12},
                    "rule": {"effect": "deny", "when": {"tools": ["builtin/*_file"], "roles": ["client"]}},
                },
                {"name": "first", "origin": {"kind": "database"}, "rule": deny(&["desk/door"])},
                {"name": "night", "origin": {"kind": "database"}, "rule": deny(&["desk/lamp"])},
            ],
        })
    );

    let change = put(&bench, "no-files", deny(&["*"])).await;
    let removal = bench.send_as_owner("DELETE", "/api/policy/rules/no-files", None).await;
    for refused in [change, removal] {
        assert_eq!((refused.status, refused.code().as_str()), (409, "rule_in_settings"));
        assert!(refused.body.contains("/etc/toolway.toml, line 12"), "{refused:?}");
    }
    assert_eq!(bench.send_as_owner("DELETE", "/api/policy/rules/night", None).await.status, 204);
    let again = bench.send_as_owner("DELETE", "/api/policy/rules/night", None).await;
    assert_eq!((again.status, again.code().as_str()), (404, "rule_not_found"));
    assert_eq!(names(&bench).await, ["no-files", "first"]);
}

#[tokio::test]
async fn an_invalid_rule_is_refused_with_its_place() {
    let bench = GatewayHarness::new().await;
    let cases = [
        (json!({}), "effect"),
        (json!({"effect": "perhaps"}), "perhaps"),
        (json!({"effect": "deny", "when": {"tools": ["desk/["]}}), "rule.when.tools: "),
        (json!({"effect": "deny", "when": {"principals": [""]}}), "rule.when.principals: "),
        (json!({"effect": "deny", "when": {"roles": ["admin"]}}), "rule.when.roles: "),
        (json!({"effect": "allow", "calls_per_minute": 0}), "rule.calls_per_minute: "),
        (json!({"effect": "allow", "in_flight": -1}), "rule: "),
        (json!({"effect": "deny", "name": "another"}), "rule.name"),
        (json!({"effect": "deny", "approved": true}), "approved"),
        (json!(["deny"]), "rule: "),
    ];
    for (rule, place) in cases {
        let refused = put(&bench, "bad", rule.clone()).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{rule}");
        assert!(refused.body.contains(place), "{rule}: {refused:?}");
    }
    let name = "x".repeat(129);
    assert_eq!(put(&bench, &name, deny(&["*"])).await.status, 400);
    let unknown = json!({"rule": deny(&["*"]), "after": 1});
    assert_eq!(bench.send_as_owner("PUT", "/api/policy/rules/bad", Some(unknown)).await.status, 400);
    assert_eq!(names(&bench).await, [""; 0]);
    // The same name in the rule is not a contradiction.
    let named = json!({"effect": "deny", "name": "good", "when": {"tools": ["desk/*"]}});
    assert_eq!(put(&bench, "good", named).await.status, 201);
}

#[tokio::test]
async fn stored_rules_apply_at_once_and_keep_their_order() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await;
    for (name, rule) in [
        ("clock", json!({"effect": "allow", "when": {"tools": ["builtin/get_current_time"]}})),
        ("rest", json!({"effect": "deny", "when": {"roles": ["client"]}})),
    ] {
        assert_eq!(put(&bench, name, rule).await.status, 201);
    }
    assert_eq!(listed(&bench, &client.token).await, ["builtin/get_current_time"]);
    let moved = json!({"rule": {"effect": "deny", "when": {"roles": ["client"]}}, "before": 0});
    assert_eq!(bench.send_as_owner("PUT", "/api/policy/rules/rest", Some(moved)).await.status, 200);
    assert_eq!(listed(&bench, &client.token).await, [""; 0]);

    let bench = bench.restart(json!({})).await;
    assert_eq!(names(&bench).await, ["rest", "clock"]);
    assert_eq!(listed(&bench, &client.token).await, [""; 0]);
    assert_eq!(bench.send_as_owner("DELETE", "/api/policy/rules/rest", None).await.status, 204);
    assert_eq!(listed(&bench, &client.token).await.len(), 6);
}

#[tokio::test]
async fn a_rule_of_the_settings_decides_before_a_stored_one() {
    let settings = json!({"policy": {"rules": [
        {"name": "clock", "effect": "allow", "when": {"tools": ["builtin/get_current_time"]}},
    ]}});
    let bench = GatewayHarness::with(settings).await;
    let stored = json!({"rule": deny(&["builtin/*"]), "before": 0});
    assert_eq!(bench.send_as_owner("PUT", "/api/policy/rules/nothing", Some(stored)).await.status, 201);
    assert_eq!(listed(&bench, &bench.owner).await, ["builtin/get_current_time"]);
}

/// Returns an outcome without the parts that differ between calls, such as the tool's name.
fn nameless(mut outcome: Value, name: &str) -> String {
    let fields = outcome.as_object_mut().unwrap();
    for field in ["id", "call_id", "duration_ms"] {
        fields.remove(field);
    }
    outcome.to_string().replace(name, "NAME")
}

#[tokio::test]
async fn a_denied_tool_looks_as_if_it_did_not_exist() {
    let settings = json!({"policy": {"rules": [
        {"effect": "deny", "when": {"roles": ["client"], "tools": ["builtin/read_file", "desk/lamp"]}},
    ]}});
    let bench = GatewayHarness::with(settings).await;
    let client = bench.create_token("client").await;
    let probe = ProbeTools::offer(&bench, "desk", &["lamp", "door"]);
    let mut chat = WebSocketClient::chat(&bench, &client.token).await;

    let ids = listed(&bench, &client.token).await;
    assert!(ids.contains(&"desk/door".to_owned()) && !ids.contains(&"desk/lamp".to_owned()), "{ids:?}");
    assert!(!ids.contains(&"builtin/read_file".to_owned()), "{ids:?}");
    let mut seen = Vec::new();
    for name in ["no_such_tool", "read_file", "lamp", "desk__lamp"] {
        let shown = bench.send("GET", &format!("/api/tools/{name}"), Some(&client.token), None).await;
        assert_eq!((shown.status, shown.code().as_str()), (404, "tool_not_available"), "{name}");
        let rest = bench.call(&client.token, name, json!({})).await;
        assert_eq!(rest["message"], format!("Tool {name} is not available"));
        let socket = chat.call(name, json!({})).await;
        seen.push((shown.body.replace(name, "NAME"), nameless(rest, name), nameless(socket, name)));
    }
    assert!(seen.iter().all(|it| *it == seen[0]), "{seen:#?}");
    let found = bench.call(&client.token, "find_tools", json!({"query": "lamp read file contents"})).await;
    let found = found["result"]["tools"].to_string();
    assert!(!found.contains("lamp") && !found.contains("read_file"), "{found}");

    // Principals that are not denied see it.
    assert_eq!(bench.call(&bench.owner, "lamp", json!({})).await["result"], "ran");
    assert_eq!(bench.call(&client.token, "door", json!({})).await["result"], "ran");
    assert_eq!(probe.run_count(), 2);
}

#[tokio::test]
async fn an_ambiguous_name_resolves_to_the_allowed_tool() {
    let bench = GatewayHarness::with(json!({"policy": {"rules": [deny(&["attic/lamp"])]}})).await;
    let (desk, attic) =
        (ProbeTools::offer(&bench, "desk", &["lamp"]), ProbeTools::offer(&bench, "attic", &["lamp"]));
    assert_eq!(bench.call(&bench.owner, "lamp", json!({})).await["result"], "ran");
    assert_eq!((desk.run_count(), attic.run_count()), (1, 0));
}

#[tokio::test]
async fn an_exceeded_rate_is_an_outcome_with_its_rule_in_the_record() {
    let bench = GatewayHarness::new().await;
    let (one, other) = (bench.create_token("client").await, bench.create_token("client").await);
    let probe = ProbeTools::offer(&bench, "desk", &["lamp", "door"]);
    let rule = json!({"effect": "allow", "calls_per_minute": 2, "calls_per_minute_per_tool": 1});
    assert_eq!(put(&bench, "slowly", rule).await.status, 201);

    assert_eq!(bench.call(&one.token, "lamp", json!({})).await["status"], "success");
    let refused = bench.call(&one.token, "lamp", json!({})).await;
    assert_eq!(
        (&refused["error_type"], &refused["code"]),
        (&json!("execution_error"), &json!("rate_limited"))
    );
    assert!(refused["hint"].as_str().unwrap().contains("slowly"), "{refused}");
    assert_eq!(bench.call(&one.token, "door", json!({})).await["status"], "success");
    // The limit of each tool does not matter if a shared limit is used up.
    assert_eq!(bench.call(&one.token, "get_current_time", json!({})).await["code"], "rate_limited");
    // Other principals have their own limit.
    assert_eq!(bench.call(&other.token, "lamp", json!({})).await["status"], "success");
    assert_eq!(probe.run_count(), 3);
    let path = format!("/api/calls/{}", refused["call_id"].as_str().unwrap());
    assert_eq!(bench.send_as_owner("GET", &path, None).await.json()["rule"], "slowly");
}

#[tokio::test]
async fn neither_a_new_connection_nor_new_settings_reset_a_rate_limit_e6() {
    let limited = |effect: &str| {
        json!({"policy": {"rules": [{"name": "slowly", "effect": "allow", "calls_per_minute": 1},
                                    {"name": "more", "effect": effect}]}})
    };
    let bench = GatewayHarness::with(limited("allow")).await;
    let client = bench.create_token("client").await;
    let first = WebSocketClient::chat(&bench, &client.token).await.call("get_current_time", json!({})).await;
    assert_eq!(first["status"], "success");
    let second = WebSocketClient::chat(&bench, &client.token).await.call("get_current_time", json!({})).await;
    assert_eq!(second["code"], "rate_limited");
    bench.apply(limited("deny")).await.unwrap();
    assert_eq!(bench.call(&client.token, "get_current_time", json!({})).await["code"], "rate_limited");
}

#[tokio::test]
async fn the_deciding_rule_can_be_tested_for_any_principal() {
    let settings = json!({
        "policy": {"rules": [
            {"name": "home", "effect": "ask", "caller_may_answer": true, "when": {"agents": ["home"]}},
            {"name": "clients", "effect": "deny", "when": {"roles": ["client"], "tools": ["desk/*"]}},
        ]},
        "permissions": {"rules": [{"permission": "device.*", "state": "ask"}]},
    });
    let bench = GatewayHarness::with(settings).await;
    let client = bench.create_token("client").await;
    let bound = bench.create_agent_token("home").await;
    let _probe = ProbeTools::with_permissions(&bench, "desk", "locate", &["device.location", "CAMERA"]);
    let test = async |body: Value| {
        let answer = bench.send_as_owner("POST", "/api/policy/test", Some(body)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };

    let owner = test(json!({"tool": "locate"})).await;
    assert_eq!((&owner["tool_id"], &owner["principal"]), (&json!("desk/locate"), &json!("owner")));
    assert_eq!(
        owner["decision"],
        json!({
            "effect": "allow", "rule": null,
            "reason": "none of the 2 rules matches; policy.default applies", "definition": null,
            "requires_approval": false, "caller_may_answer": false, "read_only": false,
            "permissions": [{"permission": "device.location", "state": "ask"}],
        })
    );
    let denied = test(json!({"tool": "locate", "principal": client.id})).await;
    assert_eq!((&denied["principal"], &denied["role"]), (&json!(client.id), &json!("client")));
    assert_eq!(
        (&denied["decision"]["effect"], &denied["decision"]["rule"]),
        (&json!("deny"), &json!("clients"))
    );
    let reason = &denied["decision"]["reason"];
    assert_eq!(reason, "\"clients\" is the first matching rule (2 of 2)");
    for body in [
        json!({"tool": "locate", "principal": bound.id}),
        json!({"tool": "desk__locate", "principal": client.id, "agent": "home"}),
    ] {
        let asked = test(body).await["decision"].clone();
        assert_eq!((&asked["rule"], &asked["requires_approval"]), (&json!("home"), &json!(true)));
        assert_eq!(asked["caller_may_answer"], true);
    }
    for (body, status, code) in [
        (json!({"tool": "nothing"}), 404, "tool_not_available"),
        (json!({"tool": "locate", "principal": "nobody"}), 404, "token_not_found"),
        (json!({"tool": "locate", "agent": ""}), 400, "malformed_request"),
        (json!({"principal": "owner"}), 400, "malformed_request"),
    ] {
        let refused = bench.send_as_owner("POST", "/api/policy/test", Some(body.clone())).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{body}");
    }
}

#[tokio::test]
async fn new_settings_apply_to_the_next_call() {
    let bench = GatewayHarness::with(json!({"policy": {"default": "deny"}})).await;
    assert_eq!(bench.call(&bench.owner, "get_current_time", json!({})).await["code"], "tool_not_available");
    let mut chat = WebSocketClient::chat(&bench, &bench.owner).await;
    bench
        .apply(json!({
            "policy": {"rules": [{"name": "files", "effect": "deny", "when": {"tools": ["builtin/*file*"]}}]},
            "timeouts": {"tools": {"builtin/get_current_time": 7}},
            "tools": {"files": {"folders": []}},
        }))
        .await
        .unwrap();
    assert_eq!(bench.call(&bench.owner, "get_current_time", json!({})).await["status"], "success");
    assert_eq!(chat.call("get_current_time", json!({})).await["status"], "success");
    assert_eq!(names(&bench).await, ["files"]);
    let shown = bench.send_as_owner("GET", "/api/tools/get_current_time", None).await.json();
    assert_eq!(shown["timeout_ms"], 7000);
    assert_eq!(chat.call("read_file", json!({"path": "a"})).await["code"], "tool_not_available");
}

#[tokio::test]
async fn invalid_settings_change_nothing() {
    let bench = GatewayHarness::with(json!({"policy": {"rules": [
        {"name": "files", "effect": "deny", "when": {"tools": ["builtin/*file*"]}},
    ]}}))
    .await;
    let before = listed(&bench, &bench.owner).await;
    let open = json!({"default": "allow"});
    let mut bad = vec![
        (
            json!({"policy": {"rules": [{"effect": "deny", "when": {"tools": ["["]}}]}}),
            "policy.rules[0].when.tools",
        ),
        (
            json!({"policy": open, "approval": {"rules": [{"mode": "always", "when": {"roles": ["x"]}}]}}),
            "approval.rules[0].when.roles",
        ),
        (
            json!({"policy": open, "permissions": {"rules": [{"permission": "", "state": "ask"}]}}),
            "permissions.rules[0].permission",
        ),
        (
            json!({"policy": open, "registration": {"rules": [{"names": ["["]}]}}),
            "registration.rules[0].names",
        ),
        (
            json!({"policy": open, "tools": {"http_request": {"allow": ["http://x"]}}}),
            "tools.http_request.allow",
        ),
        (json!({"policy": open, "timeouts": {"tool_s": 0}}), "timeouts.tool_s"),
        (
            json!({"policy": {"rules": [{"name": "a", "effect": "deny"}, {"name": "a", "effect": "deny"}]}}),
            "policy.rules",
        ),
    ];
    // A problem that only an attempt to use it reveals.
    let missing =
        json!({"name": "gone", "kind": "command", "program": "/nowhere/at/all", "on_failure": "open"});
    bad.push((json!({"policy": open, "hooks": [missing]}), "hooks[0].program"));
    let inside = json!({"name": "in", "path": bench.dir.path().join("files"), "write": true});
    bad.push((json!({"policy": open, "tools": {"files": {"folders": [inside]}}}), "tools.files.folders"));
    for (settings, key) in bad {
        let refused = bench.apply(settings).await.expect_err(key);
        let ApplySettingsError::Settings(problems) = refused else { panic!("{refused}") };
        let keys: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
        assert_eq!(keys, [key], "{problems:?}");
        assert_eq!(listed(&bench, &bench.owner).await, before, "{key}");
        assert_eq!(names(&bench).await, ["files"], "{key}");
    }
}

/// The rule in the settings wins, because the owner reads it in the file. The stored one is reported.
#[tokio::test]
async fn a_stored_rule_with_a_name_of_the_settings_is_inactive_with_a_warning() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await;
    let everything = json!({"effect": "deny", "when": {"roles": ["client"]}});
    assert_eq!(put(&bench, "strict", everything).await.status, 201);
    let taken = json!({"policy": {"rules": [
        {"name": "strict", "effect": "deny", "when": {"roles": ["client"], "tools": ["builtin/write_file"]}},
    ]}});
    bench.apply(taken.clone()).await.unwrap();
    assert_eq!(listed(&bench, &client.token).await.len(), 5);
    for bench in [bench.restart(taken).await] {
        let warnings = bench.send_as_owner("GET", "/api/status", None).await.json()["warnings"].clone();
        assert_eq!(warnings.as_array().unwrap().len(), 1, "{warnings}");
        assert_eq!(warnings[0]["subject"], "policy.rules");
        assert!(warnings[0]["message"].as_str().unwrap().contains("\"strict\""), "{warnings}");
        // When the name is free again, the rule becomes active.
        bench.apply(json!({})).await.unwrap();
        assert_eq!(listed(&bench, &client.token).await, [""; 0]);
        let status = bench.send_as_owner("GET", "/api/status", None).await.json();
        assert_eq!(status["warnings"], json!([]));
        assert_eq!(bench.send_as_owner("DELETE", "/api/policy/rules/strict", None).await.status, 204);
    }
}

/// A failure to store them leaves everything unchanged, too.
#[tokio::test]
async fn settings_that_fail_with_the_stored_state_change_nothing() {
    let bench = GatewayHarness::new().await;
    bench.gateway.app().store.close().await;
    let refused = bench.apply(json!({"policy": {"default": "deny"}, "tools": {"builtin": false}})).await;
    assert!(matches!(refused, Err(ApplySettingsError::Store(_))), "{refused:?}");
    assert_eq!(listed(&bench, &bench.owner).await.len(), 6);
}
