//! Every error has the same format and describes the problem.

use serde_json::json;

use crate::support::{GatewayHarness, read_answer};
use crate::websocket::WebSocketClient;

#[tokio::test]
async fn unknown_paths_and_methods() {
    let bench = GatewayHarness::new().await;
    let unknown = bench.send_as_owner("GET", "/api/nothing", None).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "path_not_found"));
    for (method, path, allowed) in [
        ("PUT", "/api/tokens", "GET,HEAD,POST"),
        ("DELETE", "/health", "GET,HEAD"),
        ("POST", "/", "GET,HEAD"),
    ] {
        let refused = bench.send_as_owner(method, path, None).await;
        assert_eq!((refused.status, refused.code().as_str()), (405, "method_not_allowed"), "{path}");
        assert_eq!(refused.header("allow"), Some(allowed), "{path}");
    }
}

#[tokio::test]
async fn invalid_bodies_are_refused() {
    let bench = GatewayHarness::new().await;
    let send = async |kind: Option<&str>, body: &str| {
        let mut headers = vec![
            ("Host".to_owned(), "localhost".to_owned()),
            ("Authorization".to_owned(), format!("Bearer {}", bench.owner)),
        ];
        headers.extend(kind.map(|kind| ("Content-Type".to_owned(), kind.to_owned())));
        let answer = bench.send_raw("POST", "/api/tokens", &headers, body).await;
        (answer.status, answer.code())
    };
    let good = r#"{"role":"client"}"#;
    let refused = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(send(None, good).await, refused(415, "unsupported_media_type"));
    assert_eq!(send(Some("text/plain"), good).await, refused(415, "unsupported_media_type"));
    assert_eq!(
        send(Some("application/x-www-form-urlencoded"), "role=client").await,
        refused(415, "unsupported_media_type")
    );
    assert_eq!(send(Some("application/json"), "").await, refused(400, "malformed_request"));
    assert_eq!(send(Some("application/json"), "{\"role\":").await, refused(400, "malformed_request"));
    let deep = "[".repeat(100_000 / 2);
    assert_eq!(send(Some("application/json"), &deep).await, refused(400, "malformed_request"));
    let large = format!("{{\"role\":\"client\",\"label\":\"{}\"}}", "x".repeat(70_000));
    assert_eq!(send(Some("application/json"), &large).await, refused(413, "body_too_large"));
}

/// Arguments are kept as text, which the parser skips at any depth.
#[tokio::test]
async fn the_nesting_of_a_body_is_limited_as_in_frames() {
    let bench = GatewayHarness::new().await;
    let call = async |depth: usize| {
        let inner = depth - 3;
        let body = format!("{{\"args\":{{\"a\":[{}{}]}}}}", "[".repeat(inner), "]".repeat(inner));
        let headers = [
            ("Host".to_owned(), "localhost".to_owned()),
            ("Authorization".to_owned(), format!("Bearer {}", bench.owner)),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        bench.send_raw("POST", "/api/tools/none/call", &headers, &body).await
    };
    assert_eq!(call(128).await.json()["code"], "tool_not_available");
    for depth in [129, 1_000_000] {
        let refused = call(depth).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{depth}");
        assert!(refused.body.contains("128 levels"), "{refused:?}");
    }
}

/// A client that sends everything before it reads still gets the error: the connection is not closed early.
#[tokio::test]
async fn a_client_gets_the_error_while_it_is_still_sending() {
    use tokio::io::AsyncWriteExt;
    let bench = GatewayHarness::new().await;
    let ask = async |token: &str, more: &str| {
        let head = format!(
            "POST /api/tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 200000\r\n{more}Connection: close\r\n\r\n"
        );
        let mut stream = tokio::net::TcpStream::connect(bench.address()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    for (token, status, code) in
        [(bench.owner.as_str(), 413, "body_too_large"), ("wrong", 401, "token_unknown")]
    {
        let mut stream = ask(token, "").await;
        for _ in 0..200 {
            stream.write_all(&[b' '; 1000]).await.unwrap();
            tokio::task::yield_now().await;
        }
        let answer = read_answer(stream).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));

        // A client that waits for permission to send gets the error before.
        let stream = ask(token, "Expect: 100-continue\r\n").await;
        let answer = read_answer(stream).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
}

#[tokio::test]
async fn a_body_without_a_length_is_limited() {
    let bench = GatewayHarness::new().await;
    let headers = [
        ("Host".to_owned(), "localhost".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {}", bench.owner)),
        ("Content-Type".to_owned(), "application/json".to_owned()),
        ("Transfer-Encoding".to_owned(), "chunked".to_owned()),
    ];
    let stream = tokio::net::TcpStream::connect(bench.address()).await.unwrap();
    let (read, mut write) = stream.into_split();
    let sending = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let mut head = "POST /api/tokens HTTP/1.1\r\n".to_owned();
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        write.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        let chunk = format!("2000\r\n{}\r\n", " ".repeat(0x2000));
        while write.write_all(chunk.as_bytes()).await.is_ok() {}
    });
    let mut start = vec![0; 4096];
    let read_some = async {
        use tokio::io::AsyncReadExt;
        let mut read = read;
        let got = read.read(&mut start).await.unwrap();
        String::from_utf8_lossy(&start[..got]).into_owned()
    };
    let answer = read_some.await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("body_too_large"), "{answer}");
    sending.await.unwrap();
}

#[tokio::test]
async fn invalid_queries_are_refused() {
    let bench = GatewayHarness::new().await;
    for query in ["all=perhaps", "al=true", "all=true&all=false", "all"] {
        let refused = bench.send_as_owner("GET", &format!("/api/tokens?{query}"), None).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{query}");
    }
}

#[tokio::test]
async fn a_token_in_the_url_is_reported() {
    let bench = GatewayHarness::new().await;
    let refused = bench.send("GET", &format!("/api/status?token={}", bench.owner), None, None).await;
    assert_eq!((refused.status, refused.code().as_str()), (401, "token_missing"));
    assert!(refused.body.contains("Authorization: Bearer"), "{refused:?}");
    assert!(!refused.body.contains(&bench.owner), "{refused:?}");
}

#[tokio::test]
async fn the_owner_sees_the_state_of_the_gateway() {
    let bench = GatewayHarness::with(json!({"allow_remote_commands": true})).await;
    let status = bench.send_as_owner("GET", "/api/status", None).await.json();
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["url"], bench.gateway.url());
    // The built-in tools.
    assert_eq!((&status["sources"], &status["tools"]), (&json!(2), &json!(6)));
    assert_eq!(status["warnings"][0]["subject"], "allow_remote_commands");
    bench.send("GET", "/api/tools", Some("wrong"), None).await;
    let metrics = bench.send_as_owner("GET", "/metrics", None).await;
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(
        metrics.body.contains("toolway_requests_refused_total{code=\"token_unknown\"} 1"),
        "{}",
        metrics.body
    );
    assert!(metrics.body.contains("toolway_connections 1"), "{}", metrics.body);
}

/// Each value takes tens of bytes when it is parsed: 16 MB of text would take 256 MB.
#[tokio::test]
async fn a_body_with_very_many_values_is_refused_before_it_is_parsed() {
    let bench = GatewayHarness::new().await;
    let numbers = "0,".repeat(600_000);
    let headers = [
        ("Host".to_owned(), "localhost".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {}", bench.owner)),
        ("Content-Type".to_owned(), "application/json".to_owned()),
    ];
    for (path, body) in [
        ("/api/tools/get_current_time/call", format!(r#"{{"args":{{"a":[{numbers}0]}}}}"#)),
        ("/api/chat", format!(r#"{{"message":"x","more":[{numbers}0]}}"#)),
        ("/v1/chat/completions", format!(r#"{{"model":"default","messages":[],"more":[{numbers}0]}}"#)),
        ("/mcp", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":[{numbers}0]}}}}"#)),
    ] {
        let refused = bench.send_raw("POST", path, &headers, &body).await;
        assert_eq!(refused.status, 400, "{path}");
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        let expected = match path {
            "/mcp" => "Invalid request: the message has more than 500000 values",
            _ => "the body has more than 500000 JSON values",
        };
        assert!(message.starts_with(expected), "{path}: {message}");
    }
}

/// Messages cut the text that they quote. The place at the end of a parser's message stays.
#[tokio::test]
async fn an_error_never_repeats_a_long_input() {
    let bench = GatewayHarness::new().await;
    let long = "x".repeat(60_000);
    let role = bench.send_as_owner("POST", "/api/tokens", Some(json!({ "role": long }))).await;
    let message = role.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!((role.status, message.len() < 2_100), (400, true), "{message}");
    assert!(message.starts_with("the body has the wrong form: unknown variant `xxx"), "{message}");
    assert!(message.contains(" at line 1 column "), "{message}");
    let names = [
        format!("/api/calls/{}", "a".repeat(8_000)),
        format!("/api/nothing/{}", "a".repeat(8_000)),
        format!("/v1/models/{}", "a".repeat(8_000)),
        format!("/mcp/sources/{}", "a".repeat(8_000)),
    ];
    for path in names {
        let missing = bench.send_as_owner("GET", &path, None).await;
        assert_eq!(missing.status, 404);
        let message = missing.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.len() < 2_100, "{}", message.len());
    }

    let mut chat = WebSocketClient::chat(&bench, &bench.owner).await;
    let long = "y".repeat(3 << 20);
    for message in [
        json!({ "type": long }),
        json!({"type": "call_tool", "id": 7, "name": long}),
        json!({"type": "permission_answer", "id": long, "decision": "granted"}),
        json!({"type": "register_tools", "mode": long, "tools": []}),
    ] {
        chat.send(message).await;
        let answer = chat.receive_until("error").await;
        let text = answer["message"].as_str().unwrap();
        assert!(text.len() < 2_100, "{}: {}", text.len(), &text[..100]);
    }
    let outcome = chat.call(&long, json!({})).await;
    assert_eq!(outcome["message"], format!("Tool {}… is not available", "y".repeat(300)));
    let outcome = chat.call("get_current_time", json!({ "timezone": long })).await;
    assert!(outcome["message"].as_str().unwrap().len() < 20_000);
}
