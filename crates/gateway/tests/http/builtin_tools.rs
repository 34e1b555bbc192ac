//! The built-in tools through the gateway.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::GatewayHarness;

async fn tools(bench: &GatewayHarness, token: &str) -> Vec<Value> {
    let listed = bench.send("GET", "/api/tools", Some(token), None).await.json();
    listed["tools"].as_array().unwrap().clone()
}

#[tokio::test]
async fn built_in_tools_are_listed_for_every_caller_with_their_documented_timeouts() {
    let bench = GatewayHarness::new().await;
    for role in ["owner", "client", "companion"] {
        let token = bench.create_token(role).await.token;
        let seen: Vec<_> = tools(&bench, &token)
            .await
            .into_iter()
            .map(|tool| (tool["name"].clone(), tool["timeout_ms"].clone(), tool["permissions"].clone()))
            .collect();
        let expected = [
            ("find_tools", 5_000, json!([])),
            ("get_current_time", 5_000, json!([])),
            ("http_request", 30_000, json!(["INTERNET"])),
            ("list_files", 10_000, json!([])),
            ("read_file", 10_000, json!([])),
            ("write_file", 10_000, json!(["files.write"])),
        ];
        assert_eq!(
            seen,
            expected.map(|(name, limit, permissions)| (json!(name), json!(limit), permissions)),
            "{role}"
        );
    }
    let device = bench.create_token("device").await.token;
    for (method, path) in [("GET", "/api/tools"), ("POST", "/api/tools/get_current_time/call")] {
        let refused = bench.send(method, path, Some(&device), None).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    }
}

#[tokio::test]
async fn the_current_time_is_that_of_the_gateways_clock() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await.token;
    let time = async |args: Value| bench.call(&client, "get_current_time", args).await["result"].clone();
    assert_eq!(time(json!({})).await, "2023-11-14T22:13:20+00:00");
    bench.clock.advance(Duration::from_secs(60));
    assert_eq!(time(json!({"timezone": "America/New_York"})).await, "2023-11-14T17:14:20-05:00");
    let refused = bench.call(&client, "get_current_time", json!({"timezone": 5})).await;
    assert_eq!(
        (&refused["error_type"], &refused["code"]),
        (&json!("validation_error"), &json!("invalid_arguments"))
    );
}

#[tokio::test]
async fn the_owner_can_set_the_timeout_of_a_tool() {
    let settings = json!({"timeouts": {"tool_s": 3, "tools": {"builtin/get_current_time": 60, "builtin/read_file": 0.5}}});
    let bench = GatewayHarness::with(settings).await;
    for (name, limit) in [("get_current_time", 60_000), ("read_file", 500), ("write_file", 10_000)] {
        let shown = bench.send_as_owner("GET", &format!("/api/tools/{name}"), None).await.json();
        assert_eq!(shown["timeout_ms"], limit, "{name}");
    }
}

#[tokio::test]
async fn builtin_tools_can_be_disabled() {
    let bench = GatewayHarness::with(json!({"tools": {"builtin": false}})).await;
    assert_eq!(tools(&bench, &bench.owner).await, [Value::Null; 0]);
    assert_eq!(
        bench.call(&bench.owner, "read_file", json!({"path": "a"})).await["code"],
        "tool_not_available"
    );
    bench.apply(json!({})).await.unwrap();
    assert_eq!(tools(&bench, &bench.owner).await.len(), 6);
}

#[tokio::test]
async fn agents_have_files_of_their_own_if_the_owner_asks_for_it() {
    let settings = json!({"tools": {"files": {"agent_folders": ["*"]}}});
    let bench = GatewayHarness::with(settings).await;
    let (home, work) =
        (bench.create_agent_token("home").await.token, bench.create_agent_token("work").await.token);
    let client = bench.create_token("client").await.token;
    let notes = |content: &str| json!({"path": "notes.txt", "content": content});
    let read = async |token: &str, path: &str| bench.call(token, "read_file", json!({"path": path})).await;
    let written = bench.call(&home, "write_file", notes("at home")).await;
    assert_eq!(written["result"], json!({"path": "notes.txt", "bytes_written": 7}));
    let file =
        |folder: &str| std::fs::read_to_string(bench.dir.path().join("files").join(folder).join("notes.txt"));
    assert_eq!(file("home").unwrap(), "at home");
    assert_eq!(read(&home, "notes.txt").await["result"], "at home");
    for token in [&work, &client, &bench.owner] {
        let missing = read(token, "notes.txt").await;
        assert_eq!(
            (&missing["code"], &missing["message"]),
            (&json!("file_not_found"), &json!("File not found: notes.txt"))
        );
    }
    // Outside of an agent, all callers share one folder.
    assert_eq!(bench.call(&client, "write_file", notes("shared")).await["status"], "success");
    assert_eq!(file("shared").unwrap(), "shared");
    assert_eq!(read(&bench.owner, "notes.txt").await["result"], "shared");
    assert_eq!(read(&home, "notes.txt").await["result"], "at home");
    // Neither the data folder nor another agent's folder can be reached.
    let data = bench.dir.path().to_str().unwrap();
    for path in ["../home/notes.txt", "../../owner.token", &format!("{data}/owner.token"), "/etc/hostname"] {
        let refused = read(&work, path).await;
        assert_eq!(refused["status"], "error", "{path}");
        assert!(!refused.to_string().contains(&bench.owner), "{path}");
    }
}

#[tokio::test]
async fn a_note_of_an_agent_is_read_without_the_agent_and_the_other_way_round() {
    let bench = GatewayHarness::new().await;
    let home = bench.create_agent_token("home").await.token;
    let (path, note) = ("notes.txt", |content: &str| json!({"path": "notes.txt", "content": content}));
    bench.call(&home, "write_file", note("of an agent")).await;
    let read =
        async |token: &str| bench.call(token, "read_file", json!({"path": path})).await["result"].clone();
    assert_eq!(read(&bench.owner).await, "of an agent");
    bench.call(&bench.owner, "write_file", note("of the owner")).await;
    assert_eq!(read(&home).await, "of the owner");
}

#[tokio::test]
async fn notes_in_folders_of_agents_are_still_there_after_an_upgrade() {
    let dir = tempfile::tempdir().unwrap();
    for (agent, name) in [("default", "notes.txt"), ("shared", "other.txt")] {
        let folder = dir.path().join("files").join(agent);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), format!("of {agent}")).unwrap();
    }
    let bench = GatewayHarness::in_folder(dir, json!({})).await;
    let default = bench.create_agent_token("default").await.token;
    for token in [&default, &bench.owner] {
        for (name, text) in [("notes.txt", "of default"), ("other.txt", "of shared")] {
            assert_eq!(bench.call(token, "read_file", json!({"path": name})).await["result"], text);
        }
    }
}

#[tokio::test]
async fn configured_folders_are_readable_and_optionally_writable() {
    let (docs, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(docs.path().join("letter.txt"), "Dear Ada").unwrap();
    let folders = json!([
        {"name": "docs", "path": docs.path()},
        {"name": "out", "path": out.path(), "write": true},
    ]);
    let bench = GatewayHarness::with(json!({"tools": {"files": {"folders": folders}}})).await;
    let client = bench.create_token("client").await.token;
    let letter = bench.call(&client, "read_file", json!({"path": "docs/letter.txt"})).await;
    assert_eq!(letter["result"], "Dear Ada");
    let write = async |path: &str| {
        let args = json!({"path": path, "content": "x"});
        bench.call(&client, "write_file", args).await["status"].clone()
    };
    assert_eq!((write("docs/new.txt").await, write("out/new.txt").await), (json!("error"), json!("success")));
    assert!(!docs.path().join("new.txt").exists() && out.path().join("new.txt").exists());
    // A removed folder is no longer accessible.
    bench.apply(json!({})).await.unwrap();
    assert_eq!(bench.call(&client, "read_file", json!({"path": "docs/letter.txt"})).await["status"], "error");
}

/// Starts a server that sends this response to each request.
async fn server(answer: &'static str) -> u16 {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    port
}

#[tokio::test]
async fn this_computer_is_reachable_only_if_the_owner_allows_it() {
    let port = server(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
    )
    .await;
    let bench = GatewayHarness::new().await;
    let url = format!("http://127.0.0.1:{port}/x");
    let ask = async || bench.call(&bench.owner, "http_request", json!({"url": url})).await;
    let refused = ask().await;
    assert_eq!((&refused["status"], &refused["dispatched"]), (&json!("error"), &json!(false)), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("loopback"), "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("tools.http_request.allow"), "{refused}");
    let allow = |entry: String| json!({"tools": {"http_request": {"allow": [entry]}}});
    bench.apply(allow(format!("127.0.0.1:{}", port ^ 1))).await.unwrap();
    assert_eq!(ask().await["status"], "error");
    bench.apply(allow(format!("127.0.0.1:{port}"))).await.unwrap();
    let answer = ask().await;
    assert_eq!(
        (&answer["result"]["status"], &answer["result"]["body"]),
        (&json!(200), &json!("hi")),
        "{answer}"
    );
    bench.apply(json!({})).await.unwrap();
    assert_eq!(ask().await["status"], "error");
}

#[tokio::test]
async fn a_failed_http_request_is_an_error_with_its_status() {
    let port =
        server("HTTP/1.1 503 Gone Fishing\r\nContent-Length: 4\r\nConnection: close\r\n\r\nback").await;
    let bench = GatewayHarness::with(json!({"tools": {"http_request": {"allow": ["127.0.0.0/8"]}}})).await;
    let url = format!("http://127.0.0.1:{port}/");
    let failed = bench.call(&bench.owner, "http_request", json!({"url": url})).await;
    assert_eq!((&failed["error_type"], &failed["code"]), (&json!("execution_error"), &json!("http_status")));
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("503") && message.contains("back"), "{failed}");
}

#[tokio::test]
async fn the_network_permission_is_granted_by_default() {
    let settings = json!({"permissions": {"rules": [{"permission": "INTERNET", "state": "denied"}]}});
    let bench = GatewayHarness::with(settings).await;
    let refused = bench.call(&bench.owner, "http_request", json!({"url": "http://127.0.0.1:1/"})).await;
    assert_eq!(refused["message"], "Permission INTERNET was denied by the user");
    bench.apply(json!({})).await.unwrap();
    let refused = bench.call(&bench.owner, "http_request", json!({"url": "http://127.0.0.1:1/"})).await;
    assert!(refused["message"].as_str().unwrap().contains("is a loopback address"), "{refused}");
}

#[tokio::test]
async fn tools_are_found_by_keywords() {
    let bench = GatewayHarness::new().await;
    let found = bench.call(&bench.owner, "find_tools", json!({"query": "current time"})).await;
    let tools = found["result"]["tools"].as_array().unwrap();
    assert_eq!(
        (&tools[0]["name"], &tools[0]["id"]),
        (&json!("get_current_time"), &json!("builtin/get_current_time"))
    );
}

/// The gateway's clock is at 2023-11-14T22:13:20Z.
#[tokio::test]
async fn the_default_time_zone_is_the_clients_then_the_agents_then_the_settings() {
    let bench = GatewayHarness::with(json!({"tools": {"time_zone": "America/New_York"}})).await;
    let agent = json!({"time_zone": "Europe/Berlin"});
    assert_eq!(bench.send_as_owner("PUT", "/api/agents/cook", Some(agent)).await.status, 201);
    let owner = bench.owner.clone();
    let cook = bench.create_agent_token("cook").await.token;
    let over_rest = async |token: &str, zone: Option<&str>, args: Value| {
        let mut headers = vec![
            ("Host".to_owned(), bench.address().to_string()),
            ("Authorization".to_owned(), format!("Bearer {token}")),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        headers.extend(zone.map(|zone| ("Toolway-Time-Zone".to_owned(), zone.to_owned())));
        let body = json!({"args": args}).to_string();
        bench.send_raw("POST", "/api/tools/get_current_time/call", &headers, &body).await
    };
    let tokyo = Some("Asia/Tokyo");
    for (token, zone, args, time) in [
        (&owner, None, json!({}), "2023-11-14T17:13:20-05:00"),
        (&cook, None, json!({}), "2023-11-14T23:13:20+01:00"),
        (&owner, tokyo, json!({}), "2023-11-15T07:13:20+09:00"),
        (&cook, tokyo, json!({}), "2023-11-15T07:13:20+09:00"),
        (&cook, tokyo, json!({"timezone": "UTC"}), "2023-11-14T22:13:20+00:00"),
    ] {
        assert_eq!(over_rest(token, zone, args).await.json()["result"], time);
    }
    let refused = over_rest(&owner, Some("Asia/Tokio"), json!({})).await;
    let message = "toolway-time-zone: Unknown timezone \"Asia/Tokio\". Did you mean Asia/Tokyo";
    assert_eq!(refused.status, 400);
    assert!(refused.json()["error"]["message"].as_str().unwrap().starts_with(message), "{refused:?}");
}

#[tokio::test]
async fn a_chat_client_gives_its_time_zone_in_connect() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    let mut chat = crate::websocket::WebSocketClient::chat(&bench, &token).await;
    let connect = |zone: &str| json!({"type": "connect", "v": 2, "time_zone": zone});
    chat.send(connect("Asia/Tokio")).await;
    let refused = chat.receive().await;
    assert_eq!((&refused["type"], &refused["code"]), (&json!("error"), &json!("INVALID_MESSAGE")));
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("connect.time_zone: Unknown timezone \"Asia/Tokio\". Did you mean Asia/Tokyo")
    );
    chat.send(connect("Asia/Tokyo")).await;
    assert_eq!(chat.receive().await["type"], "connected");
    chat.send(json!({"type": "call_tool", "id": "1", "name": "get_current_time"})).await;
    assert_eq!(chat.receive().await["result"], "2023-11-15T07:13:20+09:00");
}

#[tokio::test]
async fn unknown_time_zones_of_agents_and_settings_are_refused() {
    let bench = GatewayHarness::new().await;
    let refused =
        bench.send_as_owner("PUT", "/api/agents/cook", Some(json!({"time_zone": "Europe/Berln"}))).await;
    assert_eq!(refused.status, 400);
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("time_zone: Unknown timezone \"Europe/Berln\". Did you mean "), "{message}");
    let error = bench.apply(json!({"tools": {"time_zone": "Nowhere/Land"}})).await.unwrap_err();
    let error = format!("{error:?}");
    assert!(error.contains("tools.time_zone"), "{error}");
}
