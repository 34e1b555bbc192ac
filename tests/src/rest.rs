//! A REST client.

use std::collections::HashMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::with_timeout;

/// Sends a request. Returns the status and the body (null if there is none).
///
/// # Panics
/// If the gateway does not respond, or not with JSON.
pub async fn send_request(
    address: SocketAddr,
    token: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let asking = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("Host", address.to_string())
            .header("Authorization", format!("Bearer {token}"));
        if body.is_some() {
            request = request.header("Content-Type", "application/json");
        }
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let response = sender.send_request(request.body(Full::new(body)).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        (status, response.into_body().collect().await.unwrap().to_bytes())
    };
    let (status, body) = with_timeout("an answer over REST", asking).await;
    if body.is_empty() {
        return (status, Value::Null);
    }
    let said = || String::from_utf8_lossy(&body).into_owned();
    (status, serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}: {status} {}", said())))
}

/// Reads a resource that must exist.
pub async fn get_json(address: SocketAddr, token: &str, path: &str) -> Value {
    let (status, body) = send_request(address, token, "GET", path, None).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

/// Reads all call records, page by page, by call id.
///
/// # Panics
/// If a call has two records.
pub async fn fetch_all_calls(address: SocketAddr, token: &str) -> HashMap<String, Value> {
    let mut calls = HashMap::new();
    let mut path = "/api/calls?limit=300".to_owned();
    loop {
        let page = get_json(address, token, &path).await;
        for call in page["calls"].as_array().unwrap() {
            let id = call["call_id"].as_str().unwrap().to_owned();
            assert!(calls.insert(id, call.clone()).is_none(), "twice: {call}");
        }
        match page["next_cursor"].as_str() {
            Some(next) => path = format!("/api/calls?limit=300&cursor={next}"),
            None => return calls,
        }
    }
}
