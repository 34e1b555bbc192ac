//! Servers that do not keep to the protocol, over HTTP: the gateway and its other servers stay as they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use serde_json::json;
use toolway_mcp::upstream::UpstreamState as Standing;
use toolway_types::Code;

use crate::harness::{UpstreamHarness, at, call, call_result};
use crate::raw_servers::{
    PostedMessage, accepted_response, event_stream_response, initialized, result_response, serve, tool_list,
};

async fn hostile(request: Request) -> Response {
    let Some(sent) = PostedMessage::read(request).await else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    match sent.method.as_str() {
        "initialize" => sent.initialized(),
        "tools/list" => result_response(
            &sent.id,
            &tool_list(&["large", "large_stream", "nothing", "other", "silent", "twice"]),
        ),
        "tools/call" => respond(&sent),
        "server/discover" => StatusCode::NOT_FOUND.into_response(),
        _ => accepted_response(),
    }
}

fn respond(sent: &PostedMessage) -> Response {
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let message = |result| json!({"jsonrpc": "2.0", "id": sent.id, "result": result});
    // A hundred megabytes, made as they are read.
    let large = || {
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        futures_util::stream::iter((0..100).map(move |_| Ok::<_, std::io::Error>(piece.clone())))
    };
    match sent.tool() {
        "silent" => event_stream_response(Body::from_stream(futures_util::stream::pending::<
            std::io::Result<Bytes>,
        >())),
        "twice" => event_stream_response(format!(
            "data: {}\n\ndata: {}\n\n",
            message(text("first")),
            message(text("second"))
        )),
        "large" => {
            let body = Body::from_stream(large());
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        "large_stream" => {
            let start = futures_util::stream::once(async { Ok(Bytes::from_static(b"data: ")) });
            event_stream_response(Body::from_stream(start.chain(large())))
        }
        "nothing" => ([(header::CONTENT_TYPE, "application/json")], "{]").into_response(),
        _ => result_response(&json!(99_999_999), &text("of another").to_string()),
    }
}

#[tokio::test]
async fn each_kind_of_misbehaviour_is_an_error_and_the_rest_goes_on() {
    let url = serve(Router::new().fallback(hostile)).await;
    let bench = UpstreamHarness::with_deps(|parts| parts.settings.max_message_bytes = 4 << 20);
    bench.apply([("up", at(url))]);
    bench.wait_connected("up").await;
    let mut silent = call("up__silent", "{}");
    silent.timeout = Some(Duration::from_millis(200));
    let error = call_result(&bench.finish(silent).await).unwrap_err();
    assert_eq!((error.code, error.dispatched), (Code::Timeout, true));
    assert_eq!(bench.call("up__twice", "{}").await.unwrap().joined_text(), "first");
    for large in ["up__large", "up__large_stream"] {
        let error = bench.call(large, "{}").await.unwrap_err();
        assert_eq!((error.code, error.dispatched), (Code::OutputTooLarge, true), "{large}: {error:?}");
    }
    for broken in ["up__nothing", "up__other"] {
        let error = bench.call(broken, "{}").await.unwrap_err();
        assert_eq!((error.code, error.dispatched), (Code::ToolFailed, true), "{error:?}");
    }
    assert_eq!(bench.status("up").state, Standing::Connected);
    assert_eq!(bench.call("up__twice", "{}").await.unwrap().joined_text(), "first");
}

/// Says every ten milliseconds that its tools have changed.
#[derive(Default)]
struct ChangingServer {
    listings: AtomicUsize,
}

async fn restless(State(server): State<Arc<ChangingServer>>, request: Request) -> Response {
    if request.method() == axum::http::Method::GET {
        let said = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let said = Bytes::from(format!("data: {said}\n\n"));
        let ticks = tokio::time::interval(Duration::from_millis(10));
        let stream = futures_util::stream::unfold(ticks, move |mut ticks| {
            let said = said.clone();
            async move {
                ticks.tick().await;
                Some((Ok::<_, std::io::Error>(said), ticks))
            }
        });
        return event_stream_response(Body::from_stream(stream));
    }
    let Some(sent) = PostedMessage::read(request).await else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    match sent.method.as_str() {
        "initialize" => result_response(&sent.id, &initialized(&sent.params).to_string()),
        "tools/list" => {
            let number = server.listings.fetch_add(1, Ordering::SeqCst);
            result_response(&sent.id, &tool_list(&[&format!("tool_{number}")]))
        }
        "server/discover" => StatusCode::NOT_FOUND.into_response(),
        _ => accepted_response(),
    }
}

#[tokio::test]
async fn a_list_that_never_rests_costs_little() {
    let server = Arc::new(ChangingServer::default());
    let url = serve(Router::new().fallback(restless).with_state(Arc::clone(&server))).await;
    let bench = UpstreamHarness::connected_at(url).await;
    // The list is followed: the third one is there after the rest behind the second.
    let mut registered = bench.registered.subscribe();
    let third = registered.wait_for(|count| *count >= 3);
    let since = tokio::time::Instant::now();
    tokio::time::timeout(crate::harness::TIMEOUT, third).await.unwrap().unwrap();
    let (listings, took) = (server.listings.load(Ordering::SeqCst), since.elapsed());
    assert!(took >= Duration::from_secs(1), "{took:?}");
    // It said so more than a hundred times.
    assert!((3..=4).contains(&listings), "{listings} listings in {took:?}");
}

async fn endless(request: Request) -> Response {
    let Some(sent) = PostedMessage::read(request).await else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    match sent.method.as_str() {
        "initialize" => sent.initialized(),
        "tools/list" => {
            let page: u64 = sent.params["cursor"].as_str().and_then(|page| page.parse().ok()).unwrap_or(0);
            let next = page + 1;
            result_response(&sent.id, &format!(r#"{{"tools":[],"nextCursor":"{next}"}}"#))
        }
        "server/discover" => StatusCode::NOT_FOUND.into_response(),
        _ => accepted_response(),
    }
}

#[tokio::test]
async fn a_list_without_end_is_given_up() {
    let url = serve(Router::new().fallback(endless)).await;
    let bench = UpstreamHarness::new();
    bench.apply([("up", at(url))]);
    let status = bench.wait_failed("up").await;
    assert!(status.problem.unwrap().message.contains("more than 100 pages"));
}

async fn list_with_cursor(request: Request, next: &'static str) -> Response {
    let Some(sent) = PostedMessage::read(request).await else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    match sent.method.as_str() {
        "initialize" => sent.initialized(),
        "tools/list" => {
            let name = if sent.params["cursor"].is_null() { "first" } else { "second" };
            let tool = json!({"name": name, "inputSchema": {"type": "object"}});
            result_response(&sent.id, &json!({"tools": [tool], "nextCursor": next}).to_string())
        }
        "server/discover" => StatusCode::NOT_FOUND.into_response(),
        _ => accepted_response(),
    }
}

#[tokio::test]
async fn an_empty_cursor_is_the_end_of_a_list() {
    let url = serve(Router::new().fallback(async |request| list_with_cursor(request, "").await)).await;
    let bench = UpstreamHarness::connected_at(url).await;
    assert_eq!(bench.tools("up"), ["first"]);
    assert_eq!(bench.status("up").problem, None);
}

#[tokio::test]
async fn a_cursor_that_comes_again_keeps_the_pages_that_were_read() {
    let url = serve(Router::new().fallback(async |request| list_with_cursor(request, "again").await)).await;
    let bench = UpstreamHarness::connected_at(url).await;
    assert_eq!(bench.tools("up"), ["first", "second"]);
    let problem = bench.status("up").problem.unwrap();
    assert_eq!(problem.message, "tools/list returned the same cursor twice; the list may be incomplete");
}

#[tokio::test]
async fn a_refused_notification_is_the_reason_that_is_shown() {
    let router = Router::new().fallback(async |request: Request| {
        let Some(sent) = PostedMessage::read(request).await else {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        };
        match sent.method.as_str() {
            "initialize" => sent.initialized(),
            "server/discover" => StatusCode::NOT_FOUND.into_response(),
            _ => (StatusCode::BAD_REQUEST, "no notifications here").into_response(),
        }
    });
    let bench = UpstreamHarness::new();
    bench.apply([("up", at(serve(router).await))]);
    let message = bench.wait_failed("up").await.problem.unwrap().message;
    assert_eq!(
        message,
        "it answered with HTTP status 400: it refuses the notification notifications/initialized: no notifications here"
    );
}

#[tokio::test]
async fn a_refused_handshake_is_the_reason_that_is_shown_and_not_that_of_the_older_transport() {
    let router = Router::new().fallback(async |request: Request| match PostedMessage::read(request).await {
        None => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        Some(_) => (StatusCode::BAD_REQUEST, "the tenant is missing").into_response(),
    });
    let bench = UpstreamHarness::new();
    bench.apply([("up", at(serve(router).await))]);
    let message = bench.wait_failed("up").await.problem.unwrap().message;
    assert_eq!(message, "it answered with HTTP status 400: the tenant is missing");
}
