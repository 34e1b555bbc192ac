//! The complete table of roles and endpoints. It must contain every operation of the OpenAPI document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::GatewayHarness;

const OWNER: &[&str] = &["owner"];
const CALLERS: &[&str] = &["owner", "client", "companion"];
const OPEN: &[&str] = &["owner", "client", "companion", "device", "nobody"];

struct RoleCase {
    method: &'static str,
    path: &'static str,
    /// Value for the variable part of the path.
    id: &'static str,
    body: Option<Value>,
    allowed_roles: &'static [&'static str],
    /// Status for roles that may use it.
    status: u16,
}

fn row(method: &'static str, path: &'static str, may: &'static [&'static str], status: u16) -> RoleCase {
    RoleCase { method, path, id: "nothing", body: None, allowed_roles: may, status }
}

fn table() -> Vec<RoleCase> {
    vec![
        row("GET", "/health", OPEN, 200),
        // Without a code: the test only shows that no token is needed.
        row("POST", "/pair", OPEN, 400),
        row("GET", "/metrics", OWNER, 200),
        row("GET", "/api/openapi.json", CALLERS, 200),
        row("GET", "/api/status", CALLERS, 200),
        row("POST", "/api/reload", OWNER, 204),
        RoleCase { body: Some(json!({"role": "device"})), ..row("POST", "/api/pair", OWNER, 201) },
        row("GET", "/api/tokens", OWNER, 200),
        RoleCase { body: Some(json!({"role": "client"})), ..row("POST", "/api/tokens", OWNER, 201) },
        row("DELETE", "/api/tokens/{id}", OWNER, 404),
        row("GET", "/api/tools", CALLERS, 200),
        row("GET", "/api/tools/{name}", CALLERS, 404),
        RoleCase { body: Some(json!({})), ..row("POST", "/api/tools/{name}/call", CALLERS, 200) },
        row("GET", "/api/tools/{name}/changes", OWNER, 404),
        row("POST", "/api/tools/{name}/accept", OWNER, 404),
        row("GET", "/api/approvals", CALLERS, 200),
        RoleCase {
            body: Some(json!({"decision": "granted"})),
            ..row("POST", "/api/approvals/{id}", CALLERS, 404)
        },
        row("GET", "/api/mcp/servers", OWNER, 200),
        row("GET", "/api/mcp/servers/{name}", OWNER, 404),
        RoleCase {
            id: "made",
            body: Some(json!({"url": "http://127.0.0.1:9/mcp", "disabled": true})),
            ..row("PUT", "/api/mcp/servers/{name}", OWNER, 201)
        },
        row("POST", "/api/mcp/servers/{name}/reconnect", OWNER, 404),
        row("DELETE", "/api/mcp/servers/{name}", OWNER, 404),
        row("GET", "/api/grants", OWNER, 200),
        RoleCase { body: Some(json!({"tool": "nothing/*"})), ..row("POST", "/api/grants", OWNER, 201) },
        row("DELETE", "/api/grants/{id}", OWNER, 404),
        row("GET", "/api/policy", OWNER, 200),
        RoleCase {
            body: Some(json!({"rule": {"effect": "deny", "when": {"tools": ["nothing/*"]}}})),
            ..row("PUT", "/api/policy/rules/{name}", OWNER, 201)
        },
        RoleCase { id: "another", ..row("DELETE", "/api/policy/rules/{name}", OWNER, 404) },
        RoleCase { body: Some(json!({"tool": "nothing"})), ..row("POST", "/api/policy/test", OWNER, 404) },
        RoleCase {
            body: Some(json!({"content": "hi", "stream": false})),
            ..row("POST", "/api/chat", CALLERS, 200)
        },
        row("GET", "/api/sessions", CALLERS, 200),
        row("GET", "/api/sessions/{id}", CALLERS, 404),
        RoleCase { body: Some(json!({"title": "x"})), ..row("PATCH", "/api/sessions/{id}", CALLERS, 404) },
        row("DELETE", "/api/sessions/{id}", CALLERS, 404),
        row("GET", "/api/sessions/{id}/messages", CALLERS, 404),
        row("GET", "/api/sessions/{id}/export", CALLERS, 404),
        row("POST", "/api/sessions/{id}/abort", CALLERS, 200),
        RoleCase { body: Some(json!({"name": "x"})), ..row("PUT", "/api/sessions/{id}", CALLERS, 404) },
        row("GET", "/api/personas", CALLERS, 200),
        row("GET", "/api/personas/{name}", CALLERS, 404),
        RoleCase { id: "shadow", body: Some(json!({})), ..row("PUT", "/api/personas/{name}", OWNER, 200) },
        RoleCase { id: "another", ..row("DELETE", "/api/personas/{name}", OWNER, 404) },
        row("GET", "/api/provider/models", CALLERS, 200),
        row("GET", "/api/agents", CALLERS, 200),
        row("GET", "/api/agents/{name}", CALLERS, 404),
        RoleCase { body: Some(json!({})), ..row("PUT", "/api/agents/{name}", OWNER, 201) },
        RoleCase { id: "another", ..row("DELETE", "/api/agents/{name}", OWNER, 404) },
        row("GET", "/api/models", OWNER, 200),
        row("POST", "/api/models/{name}/test", OWNER, 404),
        row("GET", "/api/models/{name}/models", OWNER, 404),
        row("GET", "/api/usage", CALLERS, 200),
        row("GET", "/api/devices", OWNER, 200),
        row("GET", "/api/devices/{id}", OWNER, 404),
        RoleCase { body: Some(json!({"name": "x"})), ..row("PATCH", "/api/devices/{id}", OWNER, 404) },
        row("DELETE", "/api/devices/{id}", OWNER, 404),
        row("GET", "/api/calls", CALLERS, 200),
        RoleCase {
            id: "0190a8f0-0000-7000-8000-000000000000",
            ..row("GET", "/api/calls/{id}", CALLERS, 404)
        },
        row("GET", "/api/calls/export", CALLERS, 200),
        RoleCase {
            id: "0190a8f0-0000-7000-8000-000000000000",
            ..row("DELETE", "/api/calls/{id}", OWNER, 404)
        },
        RoleCase { body: Some(json!({"before_ms": 0})), ..row("POST", "/api/calls/purge", OWNER, 200) },
        // Comes last, because later requests would need the new token.
        row("POST", "/api/tokens/owner/rotate", OWNER, 200),
    ]
}

/// Endless streams and the roles that may read them. Other tests check that they can.
const STREAMS: &[(&str, &[&str])] = &[("/api/calls/tail", CALLERS), ("/api/approvals/watch", OWNER)];

#[tokio::test]
async fn each_role_has_access_to_exactly_its_endpoints() {
    // Each endpoint refuses a request without a token.
    let bench = GatewayHarness::with(json!({"limits": {"failed_sign_ins_per_minute": 1000}})).await;
    let mut tokens = Vec::new();
    for role in ["nobody", "device", "client", "companion", "owner"] {
        let token = if role == "nobody" { None } else { Some(bench.create_token(role).await.token) };
        tokens.push((role, token));
    }
    for (path, may) in STREAMS {
        for (role, token) in tokens.iter().filter(|(role, _)| !may.contains(role)) {
            let answer = bench.send("GET", path, token.as_deref(), None).await;
            assert_eq!(answer.status, if *role == "nobody" { 401 } else { 403 }, "{role}: {path}");
        }
    }
    for RoleCase { method, path, id, body, allowed_roles, status } in table() {
        for (role, token) in &tokens {
            let real = path.replace("{id}", id).replace("{name}", id);
            let answer = bench.send(method, &real, token.as_deref(), body.clone()).await;
            let expected = match *role {
                role if allowed_roles.contains(&role) => status,
                "nobody" => 401,
                _ => 403,
            };
            assert_eq!(answer.status, expected, "{role}: {method} {path}: {answer:?}");
            match expected {
                401 => {
                    assert_eq!(answer.code(), "token_missing");
                    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
                }
                403 => assert_eq!(answer.code(), "forbidden"),
                _ => {}
            }
        }
    }
}

/// The API for OpenAI's libraries has its own description and error format.
#[tokio::test]
async fn each_role_has_access_to_exactly_its_openai_endpoints() {
    let bench = GatewayHarness::new().await;
    let said = json!({"model": "default", "messages": [{"role": "user", "content": "hi"}]});
    let rows = [
        ("GET", "/v1/models", None, 200),
        ("GET", "/v1/models/default", None, 200),
        // No model is configured.
        ("POST", "/v1/chat/completions", Some(said), 503),
    ];
    for role in OPEN {
        let token = if *role == "nobody" { None } else { Some(bench.create_token(role).await.token) };
        for (method, path, body, status) in &rows {
            let answer = bench.send(method, path, token.as_deref(), body.clone()).await;
            let expected = match *role {
                role if CALLERS.contains(&role) => *status,
                "nobody" => 401,
                _ => 403,
            };
            assert_eq!(answer.status, expected, "{role}: {method} {path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn the_table_is_complete() {
    let bench = GatewayHarness::new().await;
    let document = bench.send_as_owner("GET", "/api/openapi.json", None).await.json();
    let described: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys().map(String::as_str);
            let methods = methods.filter(|key| ["get", "post", "put", "patch", "delete"].contains(key));
            methods.map(|method| format!("{} {path}", method.to_uppercase())).collect::<Vec<_>>()
        })
        .collect();
    let rows = table().into_iter().map(|row| format!("{} {}", row.method, row.path));
    let streams = STREAMS.iter().map(|(path, _)| format!("GET {path}"));
    let tested: BTreeSet<String> = rows.chain(streams).collect();
    assert_eq!(described, tested);
}

#[tokio::test]
async fn every_possible_error_is_described() {
    let bench = GatewayHarness::new().await;
    let document = bench.send_as_owner("GET", "/api/openapi.json", None).await.json();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            let body = operation.get("requestBody");
            let of_body = body.map_or(&[][..], |_| &["408", "413"]);
            let must_be_json = body.is_some_and(|body| body["required"] == json!(true));
            let of_json = if must_be_json { &["415"][..] } else { &[] };
            for status in ["400", "403", "default"].iter().chain(of_body).chain(of_json) {
                let schema = responses[*status].pointer("/content/application~1json/schema/$ref");
                assert_eq!(
                    schema,
                    Some(&json!("#/components/schemas/ErrorResponse")),
                    "{method} {path} {status}"
                );
            }
            let open = operation.get("security").is_some();
            assert_eq!(open, ["/health", "/pair"].contains(&path.as_str()), "{method} {path}");
            assert_eq!(responses.contains_key("401"), !open || path == "/pair", "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_request_needs_a_token_on_loopback_too_r20() {
    let bench = GatewayHarness::new().await;
    let owner_words = [bench.owner.as_str(), bench.dir.path().to_str().unwrap(), env!("CARGO_PKG_VERSION")];
    for path in ["/", "/health"] {
        let answer = bench.send("GET", path, None, None).await;
        assert_eq!(answer.status, 200, "{path}");
        for word in owner_words {
            assert!(!answer.body.contains(word), "{path} says {word}");
        }
    }
    for path in ["/api/tools", "/api/status", "/api/tokens", "/metrics", "/ws/device", "/ws/chat"] {
        let answer = bench.send("GET", path, None, None).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "token_missing"), "{path}");
    }
    // No pairing code is public: only the owner can create one.
    assert_eq!(bench.send("POST", "/api/pair", None, Some(json!({"role": "device"}))).await.status, 401);
    for guess in ["00000000", "ABCDEFGH", "12345678"] {
        assert_eq!(bench.pair(guess, "").await.code(), "pairing_code_unknown");
    }
}
