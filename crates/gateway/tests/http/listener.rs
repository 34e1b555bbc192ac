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
