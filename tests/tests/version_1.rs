//! Clients of version 1 work unchanged: the files in `tests/data/version-1` have the frames and requests that they
//! send, and the exact frames and answers that they get. `docs/version-1.md` explains them.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::fs;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use golden_file::{Placeholders, Step};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use toolway_fake_models::{ApiKind, FakeModels, ScriptedResponse};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::socket::TestSocket;
use toolway_tests::{rest, with_timeout};

#[path = "version_1/golden_file.rs"]
mod golden_file;

/// A request over HTTP that is not sent yet.
struct PendingRequest {
    method: String,
    path: String,
    body: Option<String>,
    headers: Vec<(String, String)>,
}

/// A gateway, a model that answers as a file says, and a client that does what the file says.
struct Replay {
    gateway: GatewayProcess,
    models: FakeModels,
    placeholders: Placeholders,
    socket: Option<TestSocket>,
    call: Option<JoinHandle<(u16, Value)>>,
    request: Option<PendingRequest>,
    _folder: TestFolder,
}

impl Replay {
    async fn start() -> Self {
        let folder = TestFolder::new();
        let models = FakeModels::start().await;
        fs::create_dir_all(folder.data_path()).unwrap();
        let file = format!(
            "[[model]]\nname = \"fake\"\nkind = \"compatible\"\nbase_url = \"{}\"\nmodel = \"fake-model\"\n\
             [model.compatibility]\nstream_usage = true\n",
            models.base_url(ApiKind::Compatible)
        );
        fs::write(folder.data_path().join("models.toml"), file).unwrap();
        let gateway = folder.serve(&["--set", "tools.builtin=false"]).await;
        let mut placeholders = Placeholders::default();
        for role in ["companion", "device"] {
            let body = json!({"label": role, "role": role});
            let made =
                rest::send_request(gateway.address(), &gateway.token, "POST", "/api/tokens", Some(body))
                    .await
                    .1;
            placeholders.set(&format!("{role}_token"), made["token"].as_str().unwrap());
        }
        let pairing = json!({"role": "companion"});
        let made =
            rest::send_request(gateway.address(), &gateway.token, "POST", "/api/pair", Some(pairing)).await.1;
        placeholders.set("code", made["code"].as_str().unwrap());
        Self { gateway, models, placeholders, socket: None, call: None, request: None, _folder: folder }
    }

    async fn run(mut self, file: &str) {
        let steps = golden_file::read(file);
        let mut at = 0;
        while let Some((line, step)) = steps.get(at) {
            let place = format!("{file}:{line}");
            let mut group = 1;
            if let Step::Receive { in_any_order: true, .. } = step {
                let same =
                    |(_, step): &&(usize, Step)| matches!(step, Step::Receive { in_any_order: true, .. });
                group = steps[at..].iter().take_while(same).count();
                self.receive_in_any_order(&place, &steps[at..at + group]).await;
            } else {
                self.step(&place, step).await;
            }
            at += group;
        }
    }

    async fn step(&mut self, place: &str, step: &Step) {
        match step {
            Step::Connect { path, subprotocols } => self.connect(path, subprotocols.as_deref()).await,
            Step::Send(frame) => {
                let frame = Message::text(self.placeholders.fill(frame));
                self.socket.as_mut().unwrap().send(frame).await.unwrap();
            }
            Step::Receive { frame, .. } => {
                let actual = self.receive(place).await;
                assert!(self.placeholders.fits(frame, &actual), "{place}: expected\n{frame}\ngot\n{actual}");
            }
            Step::Call { name, arguments } => {
                let (address, token) = (self.gateway.address(), self.gateway.token.clone());
                let path = format!("/api/tools/{name}/call");
                let body = json!({"args": serde_json::from_str::<Value>(arguments).unwrap()});
                self.call = Some(tokio::spawn(async move {
                    rest::send_request(address, &token, "POST", &path, Some(body)).await
                }));
            }
            Step::Called(fields) => {
                let (_, outcome) =
                    with_timeout("the end of a call", self.call.take().unwrap()).await.unwrap();
                let fields: Value = serde_json::from_str(fields).unwrap();
                for (name, value) in fields.as_object().unwrap() {
                    assert_eq!(&outcome[name], value, "{place}: {outcome}");
                }
            }
            Step::Model(answer) => {
                self.models.answer(serde_json::from_str::<ScriptedResponse>(answer).unwrap());
            }
            Step::Reached(gate) => with_timeout("a gate", self.models.wait_for_gate(gate)).await,
            Step::Open(gate) => self.models.open(gate),
            Step::Request { method, path, body } => {
                let fill = |text: &String| self.placeholders.fill(text);
                self.request = Some(PendingRequest {
                    method: method.clone(),
                    path: fill(path),
                    body: body.as_ref().map(fill),
                    headers: Vec::new(),
                });
            }
            Step::Header { name, value } => {
                let value = self.placeholders.fill(value);
                self.request.as_mut().unwrap().headers.push((name.clone(), value));
            }
            Step::Answer { status, body, has_others } => {
                let actual = self.send_request().await;
                let fits = if *has_others {
                    let expected = serde_json::from_str(&self.placeholders.fill(body)).unwrap();
                    has_fields(&serde_json::from_str(&actual.1).unwrap(), &expected)
                } else {
                    self.placeholders.fits(body, &actual.1)
                };
                assert!(
                    *status == actual.0 && fits,
                    "{place}: expected\n{body}\ngot {}\n{}",
                    actual.0,
                    actual.1
                );
            }
            Step::Close => self.socket.take().unwrap().close(None).await.unwrap(),
            Step::Closed(code) => {
                let mut socket = self.socket.take().unwrap();
                match with_timeout("the end of a connection", socket.next()).await {
                    Some(Ok(Message::Close(Some(frame)))) => {
                        assert_eq!(u16::from(frame.code), *code, "{place}")
                    }
                    other => panic!("{place}: {other:?}"),
                }
            }
        }
    }

    /// Opens a connection, with the token in a header unless the address or a subprotocol has it.
    async fn connect(&mut self, path: &str, subprotocols: Option<&str>) {
        let (address, path) = (self.gateway.address(), self.placeholders.fill(path));
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        let role = if path.starts_with("/ws/device") { "$device_token" } else { "$companion_token" };
        let header = |text: &str| HeaderValue::from_str(text).unwrap();
        let token = self.placeholders.fill(role);
        let offered = subprotocols.map(|it| self.placeholders.fill(it));
        if !path.contains("token=") && !offered.as_ref().is_some_and(|it| it.contains("bearer.")) {
            request.headers_mut().insert(AUTHORIZATION, header(&format!("Bearer {token}")));
        }
        if let Some(offered) = &offered {
            request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, header(offered));
        }
        let stream = TcpStream::connect(address).await.unwrap();
        let (socket, response) = tokio_tungstenite::client_async(request, stream).await.unwrap();
        let selected = response.headers().get(SEC_WEBSOCKET_PROTOCOL).map(|it| it.to_str().unwrap());
        assert_eq!(selected, offered.map(|_| "clawseed.v1"));
        self.socket = Some(socket);
    }

    async fn receive(&mut self, place: &str) -> String {
        let socket = self.socket.as_mut().unwrap();
        loop {
            match with_timeout(&format!("a frame ({place})"), socket.next()).await {
                Some(Ok(Message::Text(text))) => return text.as_str().to_owned(),
                Some(Ok(Message::Ping(_))) => {}
                other => panic!("{place}: {other:?}"),
            }
        }
    }

    async fn receive_in_any_order(&mut self, place: &str, steps: &[(usize, Step)]) {
        let mut expected: Vec<&String> = steps
            .iter()
            .filter_map(|(_, step)| match step {
                Step::Receive { frame, .. } => Some(frame),
                _ => None,
            })
            .collect();
        while !expected.is_empty() {
            let actual = self.receive(place).await;
            let found = expected.iter().position(|frame| self.placeholders.fits(frame, &actual));
            expected.remove(
                found.unwrap_or_else(|| panic!("{place}: expected one of\n{expected:#?}\ngot\n{actual}")),
            );
        }
    }

    async fn send_request(&mut self) -> (u16, String) {
        let PendingRequest { method, path, body, headers } = self.request.take().unwrap();
        let address = self.gateway.address();
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(&*method).uri(path).header("Host", address.to_string());
        if body.is_some() {
            request = request.header("Content-Type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default()))).unwrap();
        let response = with_timeout("an answer over HTTP", sender.send_request(request)).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

/// Reports whether an answer has all of these fields, at every depth, and lists of the same length.
fn has_fields(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| actual.get(name).is_some_and(|actual| has_fields(actual, expected))),
        (Value::Array(actual), Value::Array(expected)) => {
            actual.len() == expected.len()
                && actual.iter().zip(expected).all(|(actual, expected)| has_fields(actual, expected))
        }
        _ => actual == expected,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_on_the_chat_socket_registers_and_answers_calls() {
    Replay::start().await.run("tools.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_on_its_own_socket_gets_the_same_frames() {
    Replay::start().await.run("device.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_shown_as_it_always_was() {
    Replay::start().await.run("chat.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_resumed_in_the_middle_of_a_turn() {
    Replay::start().await.run("reconnect.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_have_the_codes_that_clients_know() {
    Replay::start().await.run("errors.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_answers_have_the_fields_that_clients_read() {
    Replay::start().await.run("rest.txt").await;
}
