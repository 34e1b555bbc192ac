//! The limits of the listener.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{GatewayHarness, read_answer};

const HEAD: &[u8] = b"GET /health HTTP/1.1\r\nHost: localhost\r\n";

#[tokio::test]
async fn a_connection_over_the_limit_gets_an_error() {
    let bench = GatewayHarness::with(json!({"limits": {"connections": 2}})).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(bench.address()).await.unwrap();
        stream.write_all(HEAD).await.unwrap();
        stream.write_all(b"\r\n").await.unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        held.push(stream);
    }
    let refused = read_answer(TcpStream::connect(bench.address()).await.unwrap()).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "too_many_connections"));
    held.pop();
    // The capacity is free as soon as the connection is closed.
    while bench.gateway.app().connections.len() == 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.send_as_owner("GET", "/health", None).await.status, 200);
}

#[tokio::test]
async fn an_incomplete_head_times_out() {
    let bench = GatewayHarness::with(json!({"timeouts": {"request_s": 0.2}})).await;
    let mut stream = TcpStream::connect(bench.address()).await.unwrap();
    stream.write_all(HEAD).await.unwrap();
    let mut rest = Vec::new();
    // Closed with or without a response.
    let closed = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
    assert!(closed.is_ok());
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let bench = GatewayHarness::new().await;
    let mut stream = TcpStream::connect(bench.address()).await.unwrap();
    stream.write_all(HEAD).await.unwrap();
    let filler = format!("X-Filler: {}\r\n", "x".repeat(1000));
    for _ in 0..40 {
        if stream.write_all(filler.as_bytes()).await.is_err() {
            break;
        }
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 431");
}

#[tokio::test]
async fn garbage_is_refused_without_affecting_others() {
    let bench = GatewayHarness::new().await;
    for garbage in [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n"]
    {
        let mut stream = TcpStream::connect(bench.address()).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{garbage:?}");
    }
    assert_eq!(bench.send_as_owner("GET", "/health", None).await.status, 200);
}

#[tokio::test]
async fn shutdown_is_bounded_despite_open_connections() {
    let bench = GatewayHarness::with(json!({"timeouts": {"shutdown_s": 0.5, "request_s": 60}})).await;
    let address = bench.address();
    // One idle connection, and one in the middle of its head.
    let _idle = TcpStream::connect(address).await.unwrap();
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(HEAD).await.unwrap();
    while bench.gateway.app().connections.len() < 2 {
        tokio::task::yield_now().await;
    }
    let started = tokio::time::Instant::now();
    bench.gateway.shut_down().await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest).await;
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens");
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let bench = GatewayHarness::new().await;
    let settings = serde_json::from_value(json!({"listen": bench.address().to_string()})).unwrap();
    let other = tempfile::tempdir().unwrap();
    let options = toolway_gateway::GatewayOptions {
        settings,
        origin: Default::default(),
        tool_env: Default::default(),
        data_dir: other.path().to_owned(),
        host_names: Vec::new(),
        clock: std::sync::Arc::new(bench.clock.clone()),
    };
    let error = toolway_gateway::Gateway::start(options).await.unwrap_err();
    assert!(error.to_string().contains(&bench.address().to_string()), "{error}");
    assert!(!other.path().join("toolway.db").exists(), "nothing was made");
}

/// The body of a request without a token, and of one with a token.
#[tokio::test]
async fn a_body_that_does_not_come_times_out() {
    let bench = GatewayHarness::with(json!({"timeouts": {"request_s": 0.3}})).await;
    let started = tokio::time::Instant::now();
    for (path, more) in [
        ("/pair", String::new()),
        ("/api/tokens", format!("Authorization: Bearer {}\r\n", bench.owner)),
        ("/api/tools/get_current_time/call", format!("Authorization: Bearer {}\r\n", bench.owner)),
        ("/mcp", format!("Authorization: Bearer {}\r\n", bench.owner)),
        ("/v1/chat/completions", format!("Authorization: Bearer {}\r\n", bench.owner)),
    ] {
        let mut stream = TcpStream::connect(bench.address()).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Type: application/json\r\n\
             Content-Length: 60000\r\n\r\n{{\"label\":\""
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let refused = read_answer(stream).await;
        assert_eq!(refused.status, 408, "{path}");
        assert!(refused.body.contains("the body took too long to arrive"), "{path}: {}", refused.body);
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_connection_that_does_not_read_its_answers_is_closed() {
    let bench = GatewayHarness::with(json!({"timeouts": {"write_s": 0.2}})).await;
    let mut stream = TcpStream::connect(bench.address()).await.unwrap();
    let request = format!(
        "GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        bench.owner
    );
    // More than the buffers of both sockets take. The gateway reads no further request before it has answered.
    for _ in 0..200 {
        stream.write_all(request.as_bytes()).await.unwrap();
    }
    let closed = async {
        while !bench.gateway.app().connections.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), closed).await.expect("the gateway closes the connection");
    drop(stream);
    assert_eq!(bench.send_as_owner("GET", "/health", None).await.status, 200);
}

/// Sends the head of a masked text frame of `claimed` bytes, and `sent` of them.
async fn send_unfinished_frame(stream: &mut TcpStream, claimed: u64, sent: usize) -> std::io::Result<()> {
    let mut head = vec![0x81, 0x80 | 127];
    head.extend(claimed.to_be_bytes());
    head.extend([0; 4]);
    stream.write_all(&head).await?;
    stream.write_all(&vec![b' '; sent]).await
}

async fn open_device_socket(bench: &GatewayHarness, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(bench.address()).await.unwrap();
    let head = format!(
        "GET /ws/device HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    stream
}

/// Each connection sends most of a frame, and never its end.
#[tokio::test]
async fn unfinished_frames_of_one_device_take_only_its_share() {
    let limits = json!({"limits": {"memory_bytes": 64 << 20, "frame_bytes": 1 << 20}});
    let bench = GatewayHarness::with(limits).await;
    let device = bench.create_token("device").await;
    let memory = async || {
        let status = bench.send_as_owner("GET", "/api/status", None).await.json();
        status["memory_bytes"].as_u64().unwrap()
    };
    // An eighth of 64 MiB: four unfinished frames, each of which takes twice its size, beside 16 KiB per connection that
    // are not counted.
    let frame = 2 * (900 << 10) - (16 << 10);
    let mut held = Vec::new();
    for number in 1..=4 {
        let mut stream = open_device_socket(&bench, &device.token).await;
        send_unfinished_frame(&mut stream, 1 << 20, 900 << 10).await.unwrap();
        held.push(stream);
        while memory().await < number * frame {
            tokio::task::yield_now().await;
        }
    }
    for _ in 0..16 {
        let mut stream = open_device_socket(&bench, &device.token).await;
        // A closed connection may refuse the rest, or lose the close frame for it.
        let _ = send_unfinished_frame(&mut stream, 1 << 20, 900 << 10).await;
        let mut close = [0; 4];
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read_exact(&mut close)).await;
        if read.expect("the connection is closed").is_ok() {
            // A close frame with the code 1013.
            assert_eq!((close[0], u16::from_be_bytes([close[2], close[3]])), (0x88, 1013));
        }
        // Otherwise the gateway waits a second for the answer to its close frame.
        drop(stream);
        while memory().await > 4 * (frame + (16 << 10)) {
            tokio::task::yield_now().await;
        }
    }
    let held_memory = memory().await;
    assert!((4 * frame..8 << 20).contains(&held_memory), "{held_memory}");
    // Once they are gone, so is their memory.
    drop(held);
    while memory().await != 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_device_that_does_not_read_its_pongs_is_closed() {
    let bench = GatewayHarness::new().await;
    let device = bench.create_token("device").await;
    let mut stream = open_device_socket(&bench, &device.token).await;
    let mut pings = Vec::new();
    for _ in 0..1000 {
        // A masked ping with the largest payload, and a mask of zeros.
        pings.extend([0x89, 0x80 | 125, 0, 0, 0, 0]);
        pings.extend([b'p'; 125]);
    }
    // Far more than the buffers of both sockets take.
    let sending = async {
        let mut sent = 0;
        while sent < 256 << 20 && stream.write_all(&pings).await.is_ok() {
            sent += pings.len();
        }
        sent
    };
    let sent = tokio::time::timeout(Duration::from_secs(60), sending).await.expect("the gateway closes it");
    assert!(sent < 64 << 20, "{sent} bytes were read, and their pongs kept");
}

#[tokio::test]
async fn connections_of_one_token_leave_connections_to_others() {
    let limits = json!({"limits": {"connections_per_principal": 16}});
    let bench = GatewayHarness::with(limits).await;
    let device = bench.create_token("device").await;
    let _held =
        (open_device_socket(&bench, &device.token).await, open_device_socket(&bench, &device.token).await);
    let headers = [
        ("Host".to_owned(), "localhost".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {}", device.token)),
    ];
    let refused = bench.send_raw("GET", "/ws/device", &headers, "").await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_connections"));
    assert_eq!(refused.json()["error"]["message"], "this token has 2 open connections already");
    let other = bench.create_token("device").await;
    drop(open_device_socket(&bench, &other.token).await);
}

#[tokio::test]
async fn a_connection_without_a_token_is_closed_after_some_time() {
    let bench = GatewayHarness::with(json!({"timeouts": {"request_s": 0.3}})).await;
    let mut stream = TcpStream::connect(bench.address()).await.unwrap();
    // It asks again and again, but never shows a token.
    let mut answers = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(20), async {
        let mut buffer = [0; 4096];
        loop {
            if stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.is_err() {
                return;
            }
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(read) => answers.extend_from_slice(&buffer[..read.min(12)]),
            }
        }
    })
    .await;
    assert!(closed.is_ok() && answers.starts_with(b"HTTP/1.1 200"));
}
