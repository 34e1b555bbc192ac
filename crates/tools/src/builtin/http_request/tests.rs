use std::time::Duration;

use serde_json::{Value, json};
use toolway_core::{CallRequest, Caller, Engine, EngineParts, RawArguments, Registry, SourceRetention};
use toolway_types::{ErrorKind, Outcome, RawJson, SystemClock};

use super::*;
use crate::web::WebSettings;
use crate::web::testing::{
    ScriptedResolver, StubReply, StubServer, allowing, answer, loopback_client, redirect, tls,
};

/// An engine with this tool alone.
struct HttpRequestHarness {
    engine: Arc<Engine>,
    _lease: toolway_core::Lease,
}

impl HttpRequestHarness {
    fn new() -> Self {
        Self::with(loopback_client())
    }

    fn with(client: GuardedClient) -> Self {
        let registry = Registry::new();
        let lease = registry.lease(toolway_types::Slug::builtin(), SourceRetention::Names);
        lease.replace(vec![tool(Arc::new(client)).unwrap()]);
        let engine = Engine::new(EngineParts::new(registry, Arc::new(SystemClock)));
        Self { engine, _lease: lease }
    }

    async fn outcome(&self, arguments: Value, timeout: Option<Duration>) -> Outcome {
        let raw = RawArguments::Json(RawJson::from(&arguments));
        let mut call = CallRequest::new("http_request", raw, Caller::local_owner());
        call.timeout = timeout;
        Outcome::clone(&self.engine.call(call).await.outcome)
    }

    async fn result(&self, arguments: Value) -> Value {
        match self.outcome(arguments, None).await {
            Outcome::Success(output) => output.structured.unwrap().to_value(),
            Outcome::Error(error) => panic!("no success: {error:?}"),
        }
    }

    async fn error(&self, arguments: Value) -> ToolError {
        match self.outcome(arguments, None).await {
            Outcome::Success(output) => panic!("no error: {output:?}"),
            Outcome::Error(error) => error,
        }
    }
}

#[test]
fn http_request_has_its_documented_spec_and_optional_additions() {
    let tool = tool(Arc::new(loopback_client())).unwrap();
    let spec = tool.spec();
    assert_eq!(spec.name().as_str(), "http_request");
    assert_eq!(spec.document().permissions, ["INTERNET"]);
    assert_eq!(spec.timeout(), Some(Duration::from_secs(30)));
    assert_eq!(spec.annotations().read_only_hint, Some(false));
    assert!(spec.flags().is_empty());
    let schema = spec.parameters();
    for good in [
        json!({"url": "http://a.example"}),
        json!({"url": "http://a.example", "method": "PUT", "headers": {"A": "b"}, "body": "c"}),
    ] {
        assert_eq!(schema.violations(&good), Vec::<String>::new());
    }
    for bad in [
        json!({}),
        json!({"url": 1}),
        json!({"url": "http://a.example", "method": "TRACE"}),
        json!({"url": "http://a.example", "method": "CONNECT"}),
        json!({"url": "http://a.example", "headers": {"A": 1}}),
        json!({"url": "http://a.example", "body": {}}),
        json!({"url": "http://a.example", "follow": true}),
    ] {
        assert!(!schema.violations(&bad).is_empty(), "{bad}");
    }
}

#[tokio::test]
async fn a_get_gives_status_headers_and_body() {
    let server =
        StubServer::start(|_| answer("200 OK", &["Content-Type: text/plain", "X-A: 1", "X-A: 2"], b"hi"))
            .await;
    let result = HttpRequestHarness::new()
        .result(json!({"url": server.url("/p?q=ä b"), "headers": {"X-Ask": "please"}}))
        .await;
    let expected = json!({
        "status": 200,
        "headers": {"content-length": "2", "content-type": "text/plain", "x-a": ["1", "2"]},
        "body": "hi"
    });
    assert_eq!(result, expected);
    let seen = server.single_request();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("GET", "/p?q=%C3%A4%20b"));
    assert_eq!(seen.header("x-ask"), Some("please"));
}

#[tokio::test]
async fn post_put_patch_and_delete_send_their_body() {
    let server = StubServer::start(|_| answer("201 Created", &[], b"made")).await;
    let world = HttpRequestHarness::new();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let result =
            world.result(json!({"url": server.url("/"), "method": method, "body": "{\"a\":1}"})).await;
        assert_eq!((&result["status"], &result["body"]), (&json!(201), &json!("made")));
        let seen = server.requests().pop().unwrap();
        assert_eq!((seen.method.as_str(), seen.body.as_slice()), (method, &b"{\"a\":1}"[..]));
        assert_eq!(seen.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn a_body_without_a_type_is_given_one() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"")).await;
    let world = HttpRequestHarness::new();
    for (body, given, sent) in [
        (" [1]", None, "application/json"),
        ("{not json", None, "text/plain; charset=utf-8"),
        ("12", None, "text/plain; charset=utf-8"),
        ("{}", Some("application/x-own"), "application/x-own"),
    ] {
        let headers = given.map_or(json!({}), |given| json!({"content-type": given}));
        world
            .result(json!({"url": server.url("/"), "method": "POST", "headers": headers, "body": body}))
            .await;
        assert_eq!(server.requests().pop().unwrap().header("content-type"), Some(sent));
    }
}

#[tokio::test]
async fn every_status_below_500_is_a_success() {
    for (line, status) in [
        ("200 OK", 200),
        ("204 No Content", 204),
        ("304 Not Modified", 304),
        ("400 Bad Request", 400),
        ("401 Unauthorized", 401),
        ("404 Not Found", 404),
        ("429 Too Many Requests", 429),
        ("499 Odd", 499),
    ] {
        let server = StubServer::start(move |_| answer(line, &[], b"")).await;
        let result = HttpRequestHarness::new().result(json!({"url": server.url("/")})).await;
        assert_eq!((&result["status"], &result["body"]), (&json!(status), &json!("")));
    }
}

#[tokio::test]
async fn a_failing_server_is_an_error_with_all_it_said() {
    let server = StubServer::start(|_| {
        answer("503 Service Unavailable", &["Retry-After: 7", "Content-Type: text/plain"], b"come back later")
    })
    .await;
    let error = HttpRequestHarness::new().error(json!({"url": server.url("/")})).await;
    assert_eq!((error.code, error.kind()), (Code::HttpStatus, ErrorKind::ExecutionError));
    assert_eq!(
        error.message,
        "The server answered 503 Service Unavailable\ncontent-length: 15\ncontent-type: text/plain\n\
         retry-after: 7\n\ncome back later"
    );
    assert!(error.dispatched && error.retryable);
    let server = StubServer::start(|_| {
        answer("500 Internal Server Error", &[&format!("X-Long: {}", "h".repeat(5000))], &[b'b'; 10_000])
    })
    .await;
    let error = HttpRequestHarness::new().error(json!({"url": server.url("/")})).await;
    assert!(error.message.starts_with("The server answered 500 Internal Server Error\n"));
    assert!(
        error.message.ends_with("b…\n[cut: the first 4096 of 10000 bytes are shown]"),
        "{}",
        error.message
    );
    assert!(error.message.len() < 7000);
    let server = StubServer::start(|_| answer("502 Bad Gateway", &[], b"")).await;
    let error = HttpRequestHarness::new().error(json!({"url": server.url("/")})).await;
    assert_eq!(error.message, "The server answered 502 Bad Gateway\ncontent-length: 0");
}

#[tokio::test]
async fn a_redirect_tells_where_it_led() {
    let server = StubServer::start(|seen| match seen.target.as_str() {
        "/" => redirect(301, "/moved?to=here#top"),
        _ => answer("200 OK", &[], b"here"),
    })
    .await;
    let result = HttpRequestHarness::new().result(json!({"url": server.url("/#frag")})).await;
    assert_eq!((&result["url"], &result["body"]), (&json!(server.url("/moved?to=here")), &json!("here")));
}

#[tokio::test]
async fn fifty_megabytes_are_cut_and_marked() {
    let server = StubServer::start(|_| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 52428800\r\n\r\n";
        StubReply::Endless(head.to_vec(), vec![b'a'; 65536])
    })
    .await;
    let result = HttpRequestHarness::new().result(json!({"url": server.url("/")})).await;
    server.wait_for_disconnect().await;
    assert_eq!((&result["body_cut"], &result["body_bytes"]), (&json!(true), &json!(52_428_800)));
    let body = result["body"].as_str().unwrap();
    assert!(body.ends_with("a\n[cut: the first 1048576 of 52428800 bytes are shown]"));
    assert_eq!(body.matches('a').count() - "shown are".matches('a').count(), 1_048_576);
}

#[tokio::test]
async fn binary_is_described() {
    let server = StubServer::start(|_| answer("200 OK", &["Content-Type: image/png"], &[0x89; 12345])).await;
    let result = HttpRequestHarness::new().result(json!({"url": server.url("/")})).await;
    assert_eq!(result["body"], "[binary: image/png, 12345 bytes, not shown]");
}

#[tokio::test]
async fn what_the_body_is_not_is_noted() {
    let server = StubServer::start(|_| answer("200 OK", &["Content-Type: text/plain"], b"Gr\xfc\xdfe")).await;
    let result = HttpRequestHarness::new().result(json!({"url": server.url("/")})).await;
    assert_eq!(result["notes"], json!(["Some bytes of the body are not UTF-8; each is shown as \u{fffd}"]));
}

#[tokio::test]
async fn requests_that_can_not_be_sent_are_invalid() {
    let world = HttpRequestHarness::new();
    let url = "http://127.0.0.1:1/";
    for (arguments, message) in [
        (json!({"url": "a.example"}), "The URL is invalid: relative URL without a base"),
        (json!({"url": "file:///etc/passwd"}), "Only http and https URLs are supported, not file:"),
        (
            json!({"url": "http://u:p@a.example"}),
            "The URL contains a user name or password; pass them in a header instead",
        ),
        (json!({"url": url, "body": "x"}), "a GET request has no body"),
        (json!({"url": url, "method": "HEAD", "body": "x"}), "a HEAD request has no body"),
        (
            json!({"url": url, "headers": {"Host": "b.example"}}),
            "header Host is set by the client itself and can't be given",
        ),
        (
            json!({"url": url, "headers": {"X-A": "1\r\nX-B: 2"}}),
            "the value of header X-A has characters in it that no header may have, such as line breaks",
        ),
        (json!({"url": url, "headers": {"a b": "1"}}), "\"a b\" is not a header's name"),
        (json!({"url": url, "headers": {"X-A": "1", "x-a": "2"}}), "header x-a is given twice"),
    ] {
        let error = world.error(arguments.clone()).await;
        assert_eq!((error.code, error.message.as_str()), (Code::InvalidArguments, message), "{arguments}");
        assert!(!error.dispatched);
    }
}

#[tokio::test]
async fn an_empty_body_is_none() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"")).await;
    HttpRequestHarness::new().result(json!({"url": server.url("/"), "body": ""})).await;
    assert_eq!(server.single_request().header("content-type"), None);
}

#[tokio::test]
async fn too_large_a_body_is_invalid() {
    let settings = WebSettings { request_bytes: 10, ..allowing(&["127.0.0.1"]) };
    let world = HttpRequestHarness::with(GuardedClient::new(settings, tls(), ScriptedResolver::of(&[])));
    let error =
        world.error(json!({"url": "http://127.0.0.1:1/", "method": "POST", "body": "12345678901"})).await;
    assert_eq!(error.code, Code::InvalidArguments);
    assert_eq!(error.message, "The request's body has 11 bytes; at most 10 are allowed");
}

#[tokio::test]
async fn private_addresses_are_denied_with_a_hint_to_allow_them_e11() {
    let world = HttpRequestHarness::with(GuardedClient::new(
        WebSettings::default(),
        tls(),
        ScriptedResolver::of(&[]),
    ));
    for url in
        ["http://127.0.0.1:7717/api/tokens", "http://169.254.169.254/", "http://localhost/", "http://[::1]/"]
    {
        let error = world.error(json!({"url": url})).await;
        assert_eq!((error.code, error.kind()), (Code::Denied, ErrorKind::PermissionDenied), "{url}");
        assert!(error.hint.unwrap().contains("tools.http_request.allow"));
        assert!(!error.dispatched && !error.retryable);
    }
}

#[tokio::test]
async fn failures_of_the_network_are_told_apart() {
    let world = HttpRequestHarness::new();
    let error = world.error(json!({"url": "http://nowhere.example/"})).await;
    assert_eq!((error.code, error.dispatched), (Code::Network, false));
    assert_eq!(error.message, "Cannot resolve nowhere.example: no such name");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = world.error(json!({"url": format!("http://{address}/")})).await;
    assert_eq!((error.code, error.dispatched, error.retryable), (Code::Network, false, true));
    assert_eq!(error.message, format!("{address} refused the connection; no server listens there"));
    let server = StubServer::start(|_| StubReply::Says(Vec::new())).await;
    let error = world.error(json!({"url": server.url("/")})).await;
    assert_eq!((error.code, error.dispatched), (Code::Network, true));
}

#[tokio::test]
async fn a_slow_server_meets_the_deadline_and_loses_its_connection() {
    for says in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nslow"] {
        let server = StubServer::start(move |_| StubReply::Hangs(says.as_bytes().to_vec())).await;
        let world = HttpRequestHarness::new();
        let arguments = json!({"url": server.url("/")});
        match world.outcome(arguments, Some(Duration::from_secs(2))).await {
            Outcome::Error(error) => {
                assert_eq!((error.code, error.kind()), (Code::Timeout, ErrorKind::Timeout));
                assert!(error.dispatched);
            }
            Outcome::Success(output) => panic!("no error: {output:?}"),
        }
        server.wait_for_disconnect().await;
    }
}
