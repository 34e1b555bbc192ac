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
async fn each_agent_has_its_own_files() {
    let bench = GatewayHarness::new().await;
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
