//! Tests of redirects.

use reqwest::Method;

use super::super::testing::{
    ScriptedResolver, StubServer, TestCertificateAuthority, allowing, answer, get, loopback_client, redirect,
    send,
};
use super::super::{GuardedClient, WebErrorKind};

/// A server that redirects this many times, then answers.
async fn chain(length: usize) -> StubServer {
    StubServer::start(move |seen| {
        let step: usize = seen.target.trim_start_matches('/').parse().unwrap_or(0);
        if step < length { redirect(302, &format!("/{}", step + 1)) } else { answer("200 OK", &[], b"end") }
    })
    .await
}

#[tokio::test]
async fn at_most_ten_redirects_are_followed() {
    let server = chain(10).await;
    let answer = get(&loopback_client(), &server.url("/")).await.unwrap();
    assert_eq!((answer.redirects, answer.url.path(), answer.body.bytes.as_slice()), (10, "/10", &b"end"[..]));
    let server = chain(11).await;
    let error = get(&loopback_client(), &server.url("/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::TooManyRedirects);
    assert_eq!(error.message, format!("{} redirects too often; 10 redirects were followed", server.address));
    assert!(error.sent);
    assert_eq!(server.connections(), 11);
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let server = StubServer::start(|_| redirect(308, "/")).await;
    assert_eq!(
        get(&loopback_client(), &server.url("/")).await.unwrap_err().kind,
        WebErrorKind::TooManyRedirects
    );
}

#[tokio::test]
async fn methods_change_as_in_the_standards() {
    use Method as M;
    for (status, method, becomes, keeps_body) in [
        (301, M::POST, "GET", false),
        (302, M::POST, "GET", false),
        (303, M::POST, "GET", false),
        (303, M::PUT, "GET", false),
        (303, M::DELETE, "GET", false),
        (301, M::PUT, "PUT", true),
        (302, M::DELETE, "DELETE", true),
        (307, M::POST, "POST", true),
        (308, M::POST, "POST", true),
        (308, M::PUT, "PUT", true),
        (303, M::HEAD, "HEAD", true),
        (301, M::GET, "GET", true),
    ] {
        let server = StubServer::start(move |seen| match seen.target.as_str() {
            "/" => redirect(status, "/to"),
            _ => answer("204 No Content", &[], b""),
        })
        .await;
        let body = (!matches!(method, M::GET | M::HEAD)).then_some("data");
        let headers = [("Content-Type", "text/plain"), ("Authorization", "Bearer t")];
        send(&loopback_client(), method.clone(), &server.url("/"), &headers, body).await.unwrap();
        let second = &server.requests()[1];
        assert_eq!(second.method, becomes, "{status} {method}");
        let expected = if keeps_body { body.unwrap_or_default() } else { "" };
        assert_eq!(second.body, expected.as_bytes(), "{status} {method}");
        assert_eq!(second.header("content-type").is_some(), keeps_body, "{status} {method}");
        assert_eq!(second.header("authorization"), Some("Bearer t"), "the same origin");
    }
}

#[tokio::test]
async fn credentials_are_not_sent_to_another_origin_e11() {
    let last = StubServer::start(|_| answer("200 OK", &[], b"end")).await;
    let to = last.url("/end");
    let second = StubServer::start(move |seen| match seen.target.as_str() {
        "/back" => redirect(307, &to),
        _ => redirect(307, "/back"),
    })
    .await;
    let to = second.url("/there");
    let first = StubServer::start(move |_| redirect(307, &to)).await;
    let headers = [
        ("Authorization", "Bearer t"),
        ("Cookie", "a=1"),
        ("X-Api-Key", "k"),
        ("X-Custom", "c"),
        ("Accept", "text/plain"),
    ];
    let answer = send(&loopback_client(), Method::POST, &first.url("/?q=secret"), &headers, Some("data"))
        .await
        .unwrap();
    assert_eq!(answer.redirects, 3);
    assert_eq!(
        first.single_request().header_names(),
        [
            "accept",
            "accept-encoding",
            "authorization",
            "content-length",
            "cookie",
            "host",
            "user-agent",
            "x-api-key",
            "x-custom"
        ]
    );
    for seen in second.requests().into_iter().chain(last.requests()) {
        let names = seen.header_names();
        assert_eq!(names, ["accept", "accept-encoding", "content-length", "host", "user-agent"]);
        assert_eq!(seen.body, b"data");
    }
}

#[tokio::test]
async fn a_different_port_or_name_is_a_different_origin_on_the_same_server_e11() {
    let server = StubServer::start(|seen| match seen.header("host") {
        Some(host) if host.starts_with("a.example") => {
            let port = host.rsplit_once(':').unwrap().1;
            redirect(302, &format!("http://b.example:{port}/"))
        }
        _ => answer("200 OK", &[], b"end"),
    })
    .await;
    let names = ScriptedResolver::of(&[("a.example", &[&["127.0.0.1"]]), ("b.example", &[&["127.0.0.1"]])]);
    let client = GuardedClient::new(allowing(&["127.0.0.1"]), super::super::testing::tls(), names);
    let headers = [("Authorization", "Bearer t")];
    send(&client, Method::GET, &server.url_as("http", "a.example", "/"), &headers, None).await.unwrap();
    let seen = server.requests();
    assert_eq!(seen[0].header("authorization"), Some("Bearer t"));
    assert_eq!(seen[1].header("authorization"), None);
}

#[tokio::test]
async fn a_redirect_from_https_to_http_drops_credentials_and_body_e11() {
    let authority = TestCertificateAuthority::new();
    let plain = StubServer::start(|_| answer("200 OK", &[], b"plain")).await;
    let to = plain.url("/");
    let secure = StubServer::start_tls(&authority.issue("a.example"), move |seen| {
        redirect(if seen.target == "/see-other" { 303 } else { 307 }, &to)
    })
    .await;
    let names = ScriptedResolver::of(&[("a.example", &[&["127.0.0.1"]])]);
    let client = GuardedClient::new(allowing(&["127.0.0.1"]), authority.client_config(), names);
    let headers = [("Authorization", "Bearer t")];
    let url = |path| secure.url_as("https", "a.example", path);
    let error = send(&client, Method::POST, &url("/"), &headers, Some("data")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::BadRedirect);
    assert_eq!(
        error.message,
        format!(
            "a.example:{} redirects to {} without encryption; the request's body was not sent there",
            secure.port(),
            plain.address
        )
    );
    assert_eq!(plain.connections(), 0);
    for path in ["/", "/see-other"] {
        let body = (path == "/see-other").then_some("data");
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let answer = send(&client, method, &url(path), &headers, body).await.unwrap();
        assert_eq!(answer.body.bytes, b"plain");
    }
    for seen in plain.requests() {
        assert_eq!((seen.method.as_str(), seen.header("authorization"), seen.body.len()), ("GET", None, 0));
    }
}

#[tokio::test]
async fn referer_and_cookies_are_not_sent() {
    let server = StubServer::start(|seen| match seen.target.as_str() {
        "/?token=t" => answer("302 Found", &["Location: /to", "Set-Cookie: sid=1"], b""),
        _ => answer("200 OK", &[], b""),
    })
    .await;
    let client = loopback_client();
    get(&client, &server.url("/?token=t")).await.unwrap();
    get(&client, &server.url("/again")).await.unwrap();
    for seen in server.requests() {
        assert_eq!((seen.header("referer"), seen.header("cookie")), (None, None));
    }
}

#[tokio::test]
async fn an_invalid_redirect_is_an_error_with_the_reason() {
    for (location, words) in [
        ("ftp://a.example/", "cannot be followed: Only http and https URLs are supported, not ftp:"),
        ("file:///etc/passwd", "cannot be followed: Only http and https URLs are supported, not file:"),
        ("http://u:p@a.example/", "cannot be followed: The URL contains a user name or password"),
        ("http://[::1/", "is invalid"),
        ("http://a.example:0/", "cannot be followed: Port 0 is invalid"),
    ] {
        let server = StubServer::start(move |_| redirect(302, location)).await;
        let error = get(&loopback_client(), &server.url("/")).await.unwrap_err();
        assert_eq!(error.kind, WebErrorKind::BadRedirect);
        let start = format!("{} redirects to an address that {words}", server.address);
        assert!(error.message.starts_with(&start), "{error}");
    }
    let server = StubServer::start(|_| redirect(302, &format!("/{}", "a".repeat(9000)))).await;
    let error = get(&loopback_client(), &server.url("/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::BadRedirect);
    assert!(error.message.ends_with("bytes; at most 8192 are allowed"), "{error}");
}

#[tokio::test]
async fn other_3xx_responses_are_returned_unchanged() {
    for (status, headers) in
        [("304 Not Modified", "Location: /x"), ("300 Choices", "Location: /x"), ("302 F", "X: y")]
    {
        let server = StubServer::start(move |_| answer(status, &[headers], b"")).await;
        let answer = get(&loopback_client(), &server.url("/")).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.redirects), (status[..3].parse().unwrap(), 0));
    }
}
