//! Tests of hooks that are webhooks.

use serde_json::Value;
use toolway_core::{AfterCallDecision, BeforeCallDecision, HookEntry, HookError, RawArguments};
use toolway_types::{Outcome, ToolOutput};

use super::expected_request_before;
use crate::hooks::SigningKey;
use crate::hooks::testing::{CALL, HookHarness, SECRET, call};
use crate::web::testing::{StubReply, StubServer, answer, redirect};

fn at(server: &StubServer) -> HookEntry {
    HookHarness::new().webhook(&server.url("/hook?tenant=t0ken"))
}

async fn before(
    reply: impl Fn() -> StubReply + Send + Sync + 'static,
) -> Result<BeforeCallDecision, HookError> {
    let server = StubServer::start(move |_| reply()).await;
    at(&server).hook.before_call(&call()).await
}

async fn fault(reply: impl Fn() -> StubReply + Send + Sync + 'static) -> String {
    before(reply).await.unwrap_err().0
}

#[tokio::test]
async fn the_request_is_posted_and_signed() {
    let server = StubServer::start(|_| answer("204 No Content", &[], b"")).await;
    let entry = at(&server);
    assert!(matches!(entry.hook.before_call(&call()).await, Ok(BeforeCallDecision::Continue)));
    let seen = server.single_request();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/hook?tenant=t0ken"));
    assert_eq!(serde_json::from_slice::<Value>(&seen.body).unwrap(), expected_request_before());
    let id = format!("msg_{CALL}_before_it");
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("webhook-id"), Some(id.as_str()));
    assert_eq!(seen.header("webhook-timestamp"), Some("1735787045"));
    let key = SigningKey::parse(&SECRET.to_owned().into()).unwrap();
    let signature = key.sign(&id, 1_735_787_045, &seen.body);
    assert_eq!(seen.header("webhook-signature"), Some(signature.as_str()));
}

#[tokio::test]
async fn the_response_body_is_the_decision() {
    let modify = br#"{"decision":"modify","arguments":{"flash":false}}"#;
    match before(|| answer("200 OK", &["Content-Type: application/json"], modify)).await {
        Ok(BeforeCallDecision::Modify(RawArguments::Json(raw))) => {
            assert_eq!(raw.get(), r#"{"flash":false}"#)
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(before(|| answer("200 OK", &[], b"")).await, Ok(BeforeCallDecision::Continue)));
    match before(|| answer("202 Accepted", &[], br#"{"decision":"cancel","reason":"no"}"#)).await {
        Ok(BeforeCallDecision::Cancel { reason }) => assert_eq!(reason, "no"),
        other => panic!("{other:?}"),
    }
    let server =
        StubServer::start(|_| answer("200 OK", &[], br#"{"decision":"replace","result":"hidden"}"#)).await;
    let outcome = Outcome::Success(ToolOutput::text("a secret"));
    match at(&server).hook.after_call(&call(), &outcome).await {
        Ok(AfterCallDecision::Replace(output)) => assert_eq!(output, ToolOutput::text("hidden")),
        other => panic!("{other:?}"),
    }
    let seen = server.single_request();
    assert_eq!(seen.header("webhook-id"), Some(format!("msg_{CALL}_after_it").as_str()));
    let question: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(question["outcome"]["result"], "a secret");
}

#[tokio::test]
async fn an_error_status_is_an_error() {
    for (status, said) in [
        ("500 Internal Server Error", "it answered 500 Internal Server Error"),
        ("503 Service Unavailable", "it answered 503 Service Unavailable"),
        ("404 Not Found", "it answered 404 Not Found"),
        ("401 Unauthorized", "it answered 401 Unauthorized"),
    ] {
        let body = br#"{"decision":"continue"}"#;
        assert_eq!(fault(move || answer(status, &[], body)).await, said);
    }
    let said = fault(|| answer("200 OK", &[], b"fine")).await;
    assert!(said.starts_with("its response is not a decision: "), "{said}");
    assert_eq!(fault(|| answer("200 OK", &[], b"\xFF")).await, "its response is not UTF-8");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = StubServer::start(|_| answer("204 No Content", &[], b"")).await;
    for status in [301, 302, 303, 307, 308] {
        let to = other.url("/elsewhere");
        let said = fault(move || redirect(status, &to)).await;
        assert!(said.starts_with(&format!("it answered {status}")), "{said}");
        assert!(said.ends_with("redirects are not followed"), "{said}");
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn a_response_is_read_only_up_to_the_limit() {
    let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    let server = StubServer::start(move |_| StubReply::Endless(head.clone(), vec![b' '; 64 << 10])).await;
    let said = at(&server).hook.before_call(&call()).await.unwrap_err().0;
    assert_eq!(said, "its response is longer than 16777216 bytes");
    server.wait_for_disconnect().await;
}

/// Error messages contain neither the URL nor its parts.
#[tokio::test]
async fn a_failed_connection_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = listener.local_addr().unwrap();
    drop(listener);
    let entry = HookHarness::new().webhook(&format!("http://{free}/hook?tenant=t0ken"));
    let said = entry.hook.before_call(&call()).await.unwrap_err().0;
    assert!(said.starts_with("cannot connect: ") && !said.contains("t0ken"), "{said}");
    let cut = || StubReply::Says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"deci".to_vec());
    let said = fault(cut).await;
    assert!(said.starts_with("its response is incomplete") && !said.contains("t0ken"), "{said}");
    let said = fault(|| StubReply::Says(b"What?\r\n\r\n".to_vec())).await;
    assert!(said.starts_with("the request cannot be sent") && !said.contains("t0ken"), "{said}");
}

/// The engine drops a request on timeout.
#[tokio::test]
async fn dropping_a_request_closes_the_connection() {
    let server =
        StubServer::start(|_| StubReply::Hangs(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_vec()))
            .await;
    let entry = at(&server);
    let asking = tokio::spawn(async move { entry.hook.before_call(&call()).await });
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    server.wait_for_disconnect().await;
}
