//! MCP servers over REST: servers with a URL can be set; programs and secrets can't.

use serde_json::{Value, json};
use toolway_gateway::SettingsOrigin;

use crate::support::GatewayHarness;

/// A disabled server at an address without a listener.
fn somewhere() -> Value {
    json!({"url": "http://127.0.0.1:9/mcp", "disabled": true})
}

fn file(bench: &GatewayHarness) -> String {
    std::fs::read_to_string(bench.dir.path().join("mcp.toml")).unwrap_or_default()
}

async fn put(bench: &GatewayHarness, name: &str, body: Value) -> (u16, String, String) {
    let answer = bench.send_as_owner("PUT", &format!("/api/mcp/servers/{name}"), Some(body)).await;
    let code = if answer.status < 300 { String::new() } else { answer.code() };
    (answer.status, code, answer.body)
}

#[tokio::test]
async fn a_server_with_a_url_is_added_changed_and_removed() {
    let bench = GatewayHarness::new().await;
    let mut body = somewhere();
    body["headers"] = json!({"X-Api-Key": "k3y-in-clear", "Authorization": "Bearer t0p"});
    let (status, _, shown) = put(&bench, "docs", body.clone()).await;
    assert_eq!(status, 201, "{shown}");
    assert!(!shown.contains("k3y-in-clear") && !shown.contains("t0p"), "{shown}");
    let listed = bench.send_as_owner("GET", "/api/mcp/servers", None).await.json();
    let docs = &listed["servers"][0];
    assert_eq!(docs["definition"]["headers"], json!({"X-Api-Key": "[hidden]", "Authorization": "[hidden]"}));
    assert_eq!((&docs["origin"]["kind"], &docs["origin"]["line"]), (&json!("file"), &json!(3)));
    assert_eq!(docs["status"]["state"], "disabled");
    assert!(file(&bench).contains("X-Api-Key = \"k3y-in-clear\""));
    #[cfg(unix)]
    {
        let about = std::fs::metadata(bench.dir.path().join("mcp.toml")).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777, 0o600);
    }
    // A hidden value stays for the same address only.
    let mut again = docs["definition"].clone();
    again["sampling"] = json!(true);
    assert_eq!(put(&bench, "docs", again.clone()).await.0, 200);
    assert!(file(&bench).contains("k3y-in-clear") && file(&bench).contains("sampling = true"));
    again["url"] = json!("http://127.0.0.1:10/mcp");
    assert_eq!(put(&bench, "docs", again).await.1, "malformed_request");
    let shown = bench.send_as_owner("GET", "/api/mcp/servers/docs", None).await.json();
    assert_eq!((&shown["log"], &shown["definition"]["sampling"]), (&json!([]), &json!(true)));
    assert_eq!(bench.send_as_owner("DELETE", "/api/mcp/servers/docs", None).await.status, 204);
    let gone = bench.send_as_owner("GET", "/api/mcp/servers/docs", None).await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "mcp_server_not_found"));
    assert_eq!(bench.send_as_owner("DELETE", "/api/mcp/servers/docs", None).await.status, 404);
}

#[tokio::test]
async fn a_server_with_a_program_can_be_set_only_in_files() {
    let bench = GatewayHarness::new().await;
    std::fs::write(bench.dir.path().join("mcp.toml"), "[servers.tool]\ncommand = \"x\"\ndisabled = true\n")
        .unwrap();
    assert_eq!(bench.send_as_owner("POST", "/api/reload", None).await.status, 204);
    let before = file(&bench);
    for (name, body) in
        [("new", json!({"command": "sh"})), ("tool", json!({"command": "sh"})), ("tool", somewhere())]
    {
        let (status, code, body) = put(&bench, name, body).await;
        assert_eq!((status, code.as_str()), (403, "remote_commands_disabled"));
        assert!(body.contains("toolway mcp add"), "{body}");
    }
    let kept = bench.send_as_owner("DELETE", "/api/mcp/servers/tool", None).await;
    assert_eq!((kept.status, kept.code().as_str()), (403, "remote_commands_disabled"));
    assert_eq!(file(&bench), before);
    // It can be set if the owner allows it.
    let bench = bench.restart(json!({"allow_remote_commands": true})).await;
    assert_eq!(put(&bench, "new", json!({"command": "sh", "disabled": true})).await.0, 201);
    assert_eq!(bench.send_as_owner("DELETE", "/api/mcp/servers/tool", None).await.status, 204);
}

#[tokio::test]
async fn a_stored_secret_is_not_sent_to_another_address() {
    let bench = GatewayHarness::new().await;
    let text = "[servers.docs]\nurl = \"http://127.0.0.1:9/mcp\"\ndisabled = true\nheaders = { A = \"secret:docs\" }\n";
    std::fs::write(bench.dir.path().join("mcp.toml"), text).unwrap();
    assert_eq!(bench.send_as_owner("POST", "/api/reload", None).await.status, 204);
    let with = |url: &str, header: &str| json!({"url": url, "disabled": true, "headers": {"A": header}});
    let refused = |(status, code, _): (u16, String, String)| {
        (status, code) == (403, "remote_commands_disabled".to_owned())
    };
    assert!(refused(put(&bench, "docs", with("http://127.0.0.1:10/mcp", "secret:docs")).await));
    assert!(refused(put(&bench, "docs", with("http://127.0.0.1:9/mcp", "secret:other")).await));
    assert!(refused(put(&bench, "new", with("http://127.0.0.1:9/mcp", "secret:docs")).await));
    let oauth =
        json!({"url": "http://127.0.0.1:9/mcp", "oauth": {"client_id": "c", "client_secret": "secret:docs"}});
    assert!(refused(put(&bench, "new", oauth).await));
    assert_eq!(file(&bench), text);
    assert_eq!(put(&bench, "docs", with("http://127.0.0.1:9/mcp", "secret:docs")).await.0, 200);
}

#[tokio::test]
async fn a_server_in_the_settings_can_be_changed_only_there() {
    let origin = SettingsOrigin {
        file: Some("/etc/toolway.toml".into()),
        server_lines: [("docs".to_owned(), 12)].into(),
        ..SettingsOrigin::default()
    };
    let settings = json!({"mcp": {"servers": {"docs": somewhere()}}});
    let bench = GatewayHarness::with_origin(tempfile::tempdir().unwrap(), settings, origin).await;
    let shown = bench.send_as_owner("GET", "/api/mcp/servers/docs", None).await.json();
    assert_eq!(shown["origin"], json!({"kind": "settings", "path": "/etc/toolway.toml", "line": 12}));
    let (status, code, body) = put(&bench, "docs", somewhere()).await;
    assert_eq!((status, code.as_str()), (409, "server_in_settings"));
    assert!(body.contains("/etc/toolway.toml, line 12"), "{body}");
    assert_eq!(bench.send_as_owner("DELETE", "/api/mcp/servers/docs", None).await.status, 409);
    let disabled = bench.send_as_owner("POST", "/api/mcp/servers/docs/reconnect", None).await;
    assert_eq!((disabled.status, disabled.code().as_str()), (409, "server_disabled"));
    // New settings apply at once.
    bench.apply(json!({})).await.unwrap();
    assert_eq!(bench.send_as_owner("GET", "/api/mcp/servers", None).await.json()["servers"], json!([]));
}

#[tokio::test]
async fn invalid_servers_are_refused_and_problems_of_the_file_are_shown() {
    let bench = GatewayHarness::new().await;
    for (name, body, word) in [
        ("Docs", somewhere(), "is not a valid server name"),
        ("docs", json!({}), "command and url are both missing"),
        ("docs", json!({"url": "ftp://x"}), "is not supported"),
        ("docs", json!({"url": "http://127.0.0.1:9", "headers": {"Host": "x"}}), "sets this header itself"),
        ("docs", json!({"url": "http://127.0.0.1:9", "header": {}}), "unknown field"),
        ("docs", json!({"url": "http://127.0.0.1:9", "oauth": []}), "oauth must be an object"),
        ("docs", json!({"url": "http://127.0.0.1:9", "headers": {"A": "[hidden]"}}), "no value is stored"),
    ] {
        let (status, code, answer) = put(&bench, name, body).await;
        assert_eq!((status, code.as_str()), (400, "malformed_request"), "{answer}");
        assert!(answer.contains(word), "{answer}");
    }
    assert_eq!(put(&bench, "own", somewhere()).await.1, "name_taken");
    assert_eq!(put(&bench, "docs", somewhere()).await.0, 201);
    std::fs::write(bench.dir.path().join("mcp.toml"), "[servers.docs]\nurl = 5\n").unwrap();
    assert_eq!(bench.send_as_owner("POST", "/api/reload", None).await.status, 204);
    let listed = bench.send_as_owner("GET", "/api/mcp/servers", None).await.json();
    assert_eq!(listed["servers"][0]["name"], "docs", "what it said before stands");
    assert_eq!(listed["problems"][0]["line"], 2);
    assert_eq!(put(&bench, "other", somewhere()).await.1, "invalid_file");
    let client = bench.create_token("client").await;
    let refused = bench.send("GET", "/api/mcp/servers", Some(&client.token), None).await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn requests_do_not_wait_for_connections() {
    let bench = GatewayHarness::new().await;
    let (status, _, _) = put(&bench, "gone", json!({"url": "http://127.0.0.1:9/mcp"})).await;
    assert_eq!(status, 201);
    let again = bench.send_as_owner("POST", "/api/mcp/servers/gone/reconnect", None).await;
    assert_eq!(again.status, 202, "{again:?}");
    let missing = bench.send_as_owner("POST", "/api/mcp/servers/nobody/reconnect", None).await;
    assert_eq!((missing.status, missing.code().as_str()), (404, "mcp_server_not_found"));
}
