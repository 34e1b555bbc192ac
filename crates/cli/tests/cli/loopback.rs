//! A scripted HTTP server for responses and timings that a real gateway hardly produces.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar};
use std::time::Duration;

use serde_json::Value;

use crate::support::CliHarness;

/// Timeout; no operation should ever take this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct GatewayRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: String,
}

impl GatewayRequest {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A scripted response.
#[derive(Debug, Clone)]
pub(crate) enum CannedReply {
    Json(u16, Value),
    Text(String),
    /// An event stream, step by step.
    Events(Vec<StreamStep>),
}

/// One step of an event stream.
#[derive(Debug, Clone)]
pub(crate) enum StreamStep {
    Event(&'static str, Value),
    /// Waits until the test opens this gate.
    Gate(&'static str),
    /// Closes the connection without the end of the response.
    Cut,
}

/// Open gates.
#[derive(Default)]
struct GateSet {
    #[allow(
        clippy::disallowed_types,
        reason = "a condition variable of the standard library takes no other"
    )]
    open: std::sync::Mutex<Vec<String>>,
    changed: Condvar,
}

impl GateSet {
    fn open(&self, gate: &str) {
        self.open.lock().unwrap().push(gate.to_owned());
        self.changed.notify_all();
    }

    fn wait(&self, gate: &str) {
        let is_shut = |open: &mut Vec<String>| !open.iter().any(|it| it == gate);
        drop(self.changed.wait_timeout_while(self.open.lock().unwrap(), TIMEOUT, is_shut).unwrap());
    }
}

/// The scripted server.
pub(crate) struct FakeGateway {
    url: String,
    gates: Arc<GateSet>,
    requests: Receiver<GatewayRequest>,
}

impl FakeGateway {
    /// Answers every request with this function, each in its own thread.
    pub(crate) fn start(answer: impl Fn(&GatewayRequest) -> CannedReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let gates = Arc::new(GateSet::default());
        let (sender, seen) = mpsc::channel();
        let (answer, ours) = (Arc::new(answer), Arc::clone(&gates));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, gates, sender) = (Arc::clone(&answer), Arc::clone(&ours), sender.clone());
                std::thread::spawn(move || serve(&stream, &*answer, &gates, &sender));
            }
        });
        Self { url, gates, requests: seen }
    }

    /// Returns the flags that select this server.
    pub(crate) fn connect_flags(&self, folder: &CliHarness) -> Vec<String> {
        let token = folder.sibling_path("token");
        std::fs::write(&token, "twy_o_test").unwrap();
        ["--gateway", &self.url, "--token-file", token.to_str().unwrap()].map(str::to_owned).to_vec()
    }

    /// Opens a gate permanently.
    pub(crate) fn open_gate(&self, gate: &str) {
        self.gates.open(gate);
    }

    /// Waits for a request to this path.
    #[track_caller]
    pub(crate) fn wait_for_request(&self, method: &str, path: &str) -> GatewayRequest {
        loop {
            let request =
                self.requests.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("no {method} {path}"));
            if request.method == method && request.path.split('?').next() == Some(path) {
                return request;
            }
        }
    }
}

fn serve(
    stream: &TcpStream,
    answer: &(dyn Fn(&GatewayRequest) -> CannedReply + Send + Sync),
    gates: &GateSet,
    seen: &Sender<GatewayRequest>,
) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        // The receiver is gone after the end of the test.
        let _ = seen.send(request.clone());
        let (status, kind, body) = match answer(&request) {
            CannedReply::Events(steps) => {
                events(stream, &steps, gates);
                return;
            }
            CannedReply::Json(status, value) => (status, "application/json", value.to_string()),
            CannedReply::Text(text) => (200, "text/markdown", text),
        };
        let head = format!(
            "HTTP/1.1 {status} Answer\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut out = stream;
        if out.write_all(head.as_bytes()).and_then(|()| out.write_all(body.as_bytes())).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<GatewayRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(GatewayRequest { method, path, body: String::from_utf8(body).ok()? })
}

fn events(mut stream: &TcpStream, steps: &[StreamStep], gates: &GateSet) {
    let mut send = |bytes: &[u8]| stream.write_all(bytes).is_ok();
    if !send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n") {
        return;
    }
    for step in steps {
        match step {
            StreamStep::Event(kind, data) => {
                let event = format!("event: {kind}\ndata: {data}\n\n");
                if !send(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()) {
                    return;
                }
            }
            StreamStep::Gate(gate) => gates.wait(gate),
            StreamStep::Cut => return,
        }
    }
    send(b"0\r\n\r\n");
}
