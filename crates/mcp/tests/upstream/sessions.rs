//! MCP sessions that end: made anew by themselves, and what was not run is run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use toolway_types::Code;

use crate::harness::UpstreamHarness;
use crate::raw_servers::{PostedMessage, accepted_response, result_response, serve, tool_list};

/// A server of the older era that forgets its sessions when it is told to.
struct ForgetfulServer {
    session: AtomicUsize,
    calls: AtomicUsize,
    initialized: AtomicUsize,
    /// The response to a request of a session that it does not know.
    refusal: fn(&PostedMessage) -> Response,
}

impl Default for ForgetfulServer {
    fn default() -> Self {
        Self {
            session: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            initialized: AtomicUsize::new(0),
            refusal: |_| StatusCode::NOT_FOUND.into_response(),
        }
    }
}

async fn forgetful(State(server): State<Arc<ForgetfulServer>>, request: Request) -> Response {
    let session = request.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let Some(sent) = PostedMessage::read(request).await else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    let current = server.session.load(Ordering::SeqCst);
    match sent.method.as_str() {
        "server/discover" => return StatusCode::BAD_REQUEST.into_response(),
        "initialize" => {
            server.initialized.fetch_add(1, Ordering::SeqCst);
            let mut response = sent.initialized();
            let id = format!("s{current}");
            response.headers_mut().insert("mcp-session-id", id.parse().unwrap());
            return response;
        }
        _ if session != Some(format!("s{current}")) => return (server.refusal)(&sent),
        _ => {}
    }
    match sent.method.as_str() {
        "notifications/initialized" => accepted_response(),
        "tools/list" => result_response(&sent.id, &tool_list(&["count", "forget", "refuse"])),
        "tools/call" if sent.tool() == "refuse" => StatusCode::BAD_REQUEST.into_response(),
        "tools/call" => {
            let calls = server.calls.fetch_add(1, Ordering::SeqCst) + 1;
            if sent.tool() == "forget" {
                server.session.fetch_add(1, Ordering::SeqCst);
            }
            result_response(&sent.id, &format!(r#"{{"content":[{{"type":"text","text":"{calls}"}}]}}"#))
        }
        _ => StatusCode::BAD_REQUEST.into_response(),
    }
}

#[tokio::test]
async fn a_session_that_has_ended_is_made_anew_and_the_call_runs_once() {
    let server = Arc::new(ForgetfulServer::default());
    let url = serve(Router::new().fallback(forgetful).with_state(Arc::clone(&server))).await;
    let bench = UpstreamHarness::connected_at(url).await;
    assert_eq!(bench.call("up__forget", "{}").await.unwrap().joined_text(), "1");
    assert_eq!(
        bench.call("up__count", "{}").await.unwrap().joined_text(),
        "2",
        "not run before, and run once"
    );
    assert_eq!(server.calls.load(Ordering::SeqCst), 2);
    assert_eq!(bench.tools("up"), ["count", "forget", "refuse"]);

    // Many at once have one new session.
    bench.call("up__forget", "{}").await.unwrap();
    let calls = (0..20).map(|_| bench.call("up__count", "{}"));
    let outputs = futures_util::future::join_all(calls).await;
    assert!(outputs.iter().all(Result::is_ok), "{outputs:?}");
    assert_eq!(server.calls.load(Ordering::SeqCst), 23);
}

fn rpc_error(status: StatusCode, sent: &PostedMessage, code: i32, message: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": sent.id, "error": {"code": code, "message": message}});
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}

#[tokio::test]
async fn a_session_is_made_anew_however_the_server_refuses_the_old_one() {
    let refusals: [fn(&PostedMessage) -> Response; 8] = [
        |_| StatusCode::GONE.into_response(),
        |_| StatusCode::BAD_REQUEST.into_response(),
        |_| (StatusCode::BAD_REQUEST, "Bad Request: No valid session ID provided").into_response(),
        |_| (StatusCode::UNAUTHORIZED, "Unauthorized: Session not found").into_response(),
        |sent| rpc_error(StatusCode::BAD_REQUEST, sent, -32000, "Bad Request: No valid session ID provided"),
        |sent| rpc_error(StatusCode::BAD_REQUEST, sent, -32000, "Bad Request: Server not initialized"),
        |sent| rpc_error(StatusCode::OK, sent, -32001, "Session not found"),
        |sent| rpc_error(StatusCode::OK, sent, -32602, "Received request before initialization was complete"),
    ];
    for (at, refusal) in refusals.into_iter().enumerate() {
        let server = Arc::new(ForgetfulServer { refusal, ..ForgetfulServer::default() });
        let url = serve(Router::new().fallback(forgetful).with_state(Arc::clone(&server))).await;
        let bench = UpstreamHarness::connected_at(url).await;
        assert_eq!(bench.call("up__forget", "{}").await.unwrap().joined_text(), "1", "{at}");
        assert_eq!(bench.call("up__count", "{}").await.unwrap().joined_text(), "2", "{at}: run once");
        assert_eq!(server.initialized.load(Ordering::SeqCst), 2, "{at}: one new session");
        bench.wait_connected("up").await;
    }
}

#[tokio::test]
async fn a_refusal_that_a_new_session_does_not_change_costs_one_session_only() {
    let server = Arc::new(ForgetfulServer::default());
    let url = serve(Router::new().fallback(forgetful).with_state(Arc::clone(&server))).await;
    let bench = UpstreamHarness::connected_at(url).await;
    for _ in 0..3 {
        let error = bench.call("up__refuse", "{}").await.unwrap_err();
        assert_eq!((error.code, error.dispatched), (Code::HttpStatus, false), "{error:?}");
    }
    assert_eq!(server.initialized.load(Ordering::SeqCst), 2);
    assert_eq!(bench.call("up__count", "{}").await.unwrap().joined_text(), "1");
}

#[tokio::test]
async fn a_server_that_refuses_every_session_is_shown_as_failed() {
    let server = Arc::new(ForgetfulServer {
        refusal: |_| (StatusCode::BAD_REQUEST, "No valid session ID provided").into_response(),
        ..ForgetfulServer::default()
    });
    let is_broken = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (broken, inner) = (Arc::clone(&is_broken), Arc::clone(&server));
    let router = Router::new().fallback(async move |request: Request| {
        if broken.load(Ordering::SeqCst) {
            return (StatusCode::BAD_REQUEST, "No valid session ID provided").into_response();
        }
        forgetful(State(inner), request).await
    });
    let bench = UpstreamHarness::connected_at(serve(router).await).await;
    is_broken.store(true, Ordering::SeqCst);
    let error = bench.call("up__count", "{}").await.unwrap_err();
    assert!(!error.dispatched, "{error:?}");
    let status = bench.wait_failed("up").await;
    assert!(status.problem.unwrap().message.contains("No valid session ID provided"));
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_as_gone_and_comes_back_by_itself() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Arc::new(ForgetfulServer::default());
    let router = Router::new().fallback(forgetful).with_state(Arc::clone(&server));
    let serving = tokio::spawn(axum::serve(listener, router.clone()).into_future());
    let bench = UpstreamHarness::connected_at(format!("http://{address}/mcp")).await;
    serving.abort();
    let _ = serving.await;
    // The connection that was kept may still be answered by the old server's task, which ends with it.
    let gone = async {
        loop {
            if let Err(error) = bench.call("up__count", "{}").await {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(crate::harness::TIMEOUT, gone).await.unwrap();
    assert!(matches!(error.code, Code::Network | Code::DeviceDisconnected), "{error:?}");
    bench.wait_failed("up").await;
    assert!(bench.tools("up").is_empty());
    let error = bench.call("up__count", "{}").await.unwrap_err();
    assert_eq!(error.code, Code::ToolNotAvailable);
    assert!(error.hint.unwrap().contains("is not connected"), "its tools are known");

    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let serving = tokio::spawn(axum::serve(listener, router).into_future());
    bench.wait_connected("up").await;
    bench.call("up__count", "{}").await.unwrap();
    serving.abort();
}
