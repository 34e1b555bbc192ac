//! Tests of sending requests and reading responses, including failures.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::super::testing::{
    ScriptedResolver, StubReply, StubServer, allowing, answer, get, loopback_client, send, tls,
};
use super::super::{DnsResolver, GuardedClient, WebErrorKind, WebSettings};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn every_method_sends_headers_and_body() {
    let server = StubServer::start(|_| answer("200 OK", &["X-Reply: yes"], b"got it")).await;
    for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        let body = (method != Method::GET).then_some("the body");
        let headers = [("X-Ask", "please")];
        let answer =
            send(&loopback_client(), method.clone(), &server.url("/p?q=1"), &headers, body).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.body.bytes.as_slice()), (200, &b"got it"[..]));
        assert_eq!(answer.headers["x-reply"], "yes");
        let seen = server.requests().pop().unwrap();
        assert_eq!((seen.method.as_str(), seen.target.as_str()), (method.as_str(), "/p?q=1"));
        assert_eq!(seen.header("x-ask"), Some("please"));
        assert_eq!(seen.body, body.unwrap_or_default().as_bytes());
        assert_eq!(seen.header("user-agent"), Some(concat!("toolway/", env!("CARGO_PKG_VERSION"))));
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
    }
}

#[tokio::test]
async fn every_status_is_a_response() {
    for status in
        ["200 OK", "201 Created", "404 Not Found", "418 Teapot", "500 Internal Server Error", "503 No"]
    {
        let server = StubServer::start(move |_| answer(status, &[], b"body")).await;
        let answer = get(&loopback_client(), &server.url("/")).await.unwrap();
        assert_eq!(answer.status.as_u16(), status[..3].parse::<u16>().unwrap());
        assert_eq!(
            (answer.body.bytes.as_slice(), answer.body.total, answer.body.cut),
            (&b"body"[..], Some(4), false)
        );
    }
    let server = StubServer::start(|_| StubReply::Says(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())).await;
    let answer = get(&loopback_client(), &server.url("/")).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.body.bytes.len()), (204, 0));
}

#[tokio::test]
async fn head_has_no_body() {
    let server =
        StubServer::start(|_| StubReply::Says(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n".to_vec()))
            .await;
    let answer = send(&loopback_client(), Method::HEAD, &server.url("/"), &[], None).await.unwrap();
    assert_eq!((answer.headers["content-length"].as_bytes(), answer.body.bytes.len()), (&b"99"[..], 0));
    assert!(!answer.body.cut);
}

#[tokio::test]
async fn a_body_is_read_to_the_limit_and_the_connection_is_closed() {
    let server = StubServer::start(|_| {
        StubReply::Endless(b"HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n".to_vec(), vec![b'a'; 65536])
    })
    .await;
    let answer = get(&loopback_client(), &server.url("/")).await.unwrap();
    assert_eq!(
        (answer.body.bytes.len(), answer.body.total, answer.body.cut),
        (MIB, Some(50 * MIB as u64), true)
    );
    assert!(answer.body.bytes.capacity() <= 2 * MIB);
    drop(answer);
    server.wait_for_disconnect().await;
    let written = server.written();
    assert!(written < 30 * MIB, "the rest was not fetched: {written}");
}

#[tokio::test]
async fn an_endless_body_is_truncated() {
    let server = StubServer::start(|_| {
        let chunk = [b"10000\r\n".as_slice(), &[b'a'; 65536], b"\r\n"].concat();
        StubReply::Endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), chunk)
    })
    .await;
    let answer = get(&loopback_client(), &server.url("/")).await.unwrap();
    assert_eq!((answer.body.bytes.len(), answer.body.total, answer.body.cut), (MIB, None, true));
    server.wait_for_disconnect().await;
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_complete() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"12345")).await;
    for (bound, cut) in [(5, false), (4, true), (0, true)] {
        let settings = WebSettings { body_bytes: bound, ..allowing(&["127.0.0.1"]) };
        let client = GuardedClient::new(settings, tls(), ScriptedResolver::of(&[]));
        let answer = get(&client, &server.url("/")).await.unwrap();
        assert_eq!((answer.body.bytes.len(), answer.body.total, answer.body.cut), (bound, Some(5), cut));
    }
}

#[tokio::test]
async fn a_compressed_body_is_not_decompressed() {
    // A decompression bomb is small while compressed.
    let server =
        StubServer::start(|_| answer("200 OK", &["Content-Encoding: gzip"], b"\x1f\x8b\x08\0bomb")).await;
    let answer = get(&loopback_client(), &server.url("/")).await.unwrap();
    assert_eq!(answer.body.bytes, b"\x1f\x8b\x08\0bomb");
}

#[tokio::test]
async fn dropping_a_request_closes_its_connection() {
    for head in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nslow"] {
        let server = StubServer::start(move |_| StubReply::Hangs(head.to_vec())).await;
        let client = loopback_client();
        let url = server.url("/");
        tokio::select! {
            answer = get(&client, &url) => panic!("no answer could come: {answer:?}"),
            () = server.wait_for_request() => {}
        }
        server.wait_for_disconnect().await;
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_is_not_sent() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"")).await;
    let settings = WebSettings { request_bytes: 4, ..allowing(&["127.0.0.1"]) };
    let client = GuardedClient::new(settings, tls(), ScriptedResolver::of(&[]));
    let error = send(&client, Method::POST, &server.url("/"), &[], Some("12345")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::BadRequest);
    assert_eq!(error.message, "The request's body has 5 bytes; at most 4 are allowed");
    assert!(send(&client, Method::POST, &server.url("/"), &[], Some("1234")).await.is_ok());
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn leaving_is_called_before_the_request_is_sent() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"")).await;
    let told = AtomicUsize::new(0);
    let leaving = || {
        told.fetch_add(1, Ordering::SeqCst);
    };
    let request =
        |url: &str| super::super::WebRequest::new(Method::GET, super::super::parse_url(url).unwrap());
    loopback_client().send(request("http://10.0.0.1/"), &leaving).await.unwrap_err();
    loopback_client().send(request("http://nowhere.example/"), &leaving).await.unwrap_err();
    assert_eq!(told.load(Ordering::SeqCst), 0);
    loopback_client().send(request(&server.url("/")), &leaving).await.unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_refused_connection_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = get(&loopback_client(), &format!("http://{address}/?secret=s")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::ConnectionRefused);
    assert_eq!(error.message, format!("{address} refused the connection; no server listens there"));
    assert!(!error.sent);
}

#[tokio::test]
async fn another_address_is_tried_after_a_failure() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"hi")).await;
    let names = ScriptedResolver::of(&[("two.example", &[&["127.0.0.3", "127.0.0.1"]])]);
    let client = GuardedClient::new(allowing(&["127.0.0.0/8"]), tls(), names);
    assert!(get(&client, &server.url_as("http", "two.example", "/")).await.is_ok());
}

#[tokio::test]
async fn a_name_without_an_address_is_an_error() {
    let error = get(&loopback_client(), "http://nowhere.example/").await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Dns);
    assert_eq!(error.message, "Cannot resolve nowhere.example: no such name");
    let client = GuardedClient::new(allowing(&[]), tls(), ScriptedResolver::of(&[("empty.example", &[&[]])]));
    let error = get(&client, "http://empty.example/").await.unwrap_err();
    assert_eq!(error.message, "Cannot resolve empty.example: the name has no address");
}

struct StalledResolver;

#[async_trait]
impl DnsResolver for StalledResolver {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_name_server_is_an_error() {
    let client = GuardedClient::new(WebSettings::default(), tls(), std::sync::Arc::new(StalledResolver));
    let error = get(&client, "http://slow.example/").await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Dns);
    assert_eq!(error.message, "Cannot resolve slow.example: no name server answered within 5 s");
}

/// Linux drops connections that do not fit into the queue of a listener that accepts none.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connecting_times_out() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(address)).await
    {
        waiting.push(stream);
    }
    let settings = WebSettings { connect_timeout: Duration::from_millis(100), ..allowing(&["127.0.0.1"]) };
    let client = GuardedClient::new(settings, tls(), ScriptedResolver::of(&[]));
    let error = get(&client, &format!("http://{address}/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::ConnectTimeout, "{error}");
    assert_eq!(error.message, format!("The connection to {address} timed out"));
    assert!(!error.sent);
}

#[tokio::test]
async fn incomplete_and_invalid_responses_are_errors() {
    for (says, kind, words) in [
        (&b""[..], WebErrorKind::Reset, "closed the connection before the response was complete"),
        (
            b"HTTP/1.1 200 OK\r\nConte",
            WebErrorKind::Reset,
            "closed the connection before the response was complete",
        ),
        (b"SSH-2.0-OpenSSH_9.9\r\n", WebErrorKind::Malformed, "is not HTTP"),
        (b"HTTP/1.1 banana\r\n\r\n", WebErrorKind::Malformed, "is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", WebErrorKind::Malformed, "is not HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            WebErrorKind::Reset,
            "was closed after 3 bytes of the body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
            WebErrorKind::Reset,
            "was closed after",
        ),
    ] {
        let server = StubServer::start(move |_| StubReply::Says(says.to_vec())).await;
        let error = get(&loopback_client(), &server.url("/")).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.message.contains(&server.address.to_string()), "{error}");
        assert!(error.sent);
    }
}

#[tokio::test]
async fn too_many_headers_are_an_error() {
    let server = StubServer::start(|_| {
        let mut says = b"HTTP/1.1 200 OK\r\n".to_vec();
        (0..500).for_each(|number| says.extend_from_slice(format!("x-{number}: y\r\n").as_bytes()));
        StubReply::Says([says, b"\r\n".to_vec()].concat())
    })
    .await;
    let error = get(&loopback_client(), &server.url("/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Malformed);
    assert_eq!(error.message, format!("The response of {} has too many or too long headers", server.address));
    let server =
        StubServer::start(|_| StubReply::Endless(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'a'; 65536]))
            .await;
    let error = get(&loopback_client(), &server.url("/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Malformed, "{error}");
    server.wait_for_disconnect().await;
}
