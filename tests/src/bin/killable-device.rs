//! A device in a separate process, to be killed by tests. It writes each run of a tool to a file first, and
//! then prints it on standard output.
//!
//! `killable-device URL TOKEN RUNS (resume|v1)`

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::panic,
    reason = "a helper of tests fails by panicking and is heard on standard output"
)]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use toolway_device::Tool;
use toolway_tests::device::{self, NumberArgs};
use toolway_tests::socket;

/// The file of runs.
#[derive(Clone)]
struct RunLogFile(Arc<File>);

impl RunLogFile {
    fn append_run(&self, call_id: &str, n: u64) {
        // One write, so that a line is complete or missing.
        (&*self.0).write_all(format!("{call_id} {n}\n").as_bytes()).unwrap();
        println!("{}", json!({"event": "run", "n": n}));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, token, path, mode] = arguments.as_slice() else { panic!("URL TOKEN RUNS resume|v1") };
    let runs = RunLogFile(Arc::new(OpenOptions::new().append(true).create(true).open(path).unwrap()));
    match mode.as_str() {
        "v1" => run_version_1_device(url, token, &runs).await,
        _ => run_resuming_device(url, token, &runs).await,
    }
}

async fn run_resuming_device(url: &str, token: &str, runs: &RunLogFile) {
    let (held, echoed) = (runs.clone(), runs.clone());
    let hold = Tool::typed("hold", "Never answers", move |args: NumberArgs, cx| {
        held.append_run(cx.call_id(), args.n);
        async move { std::future::pending::<Result<(), _>>().await }
    });
    let echo = Tool::typed("echo", "Gives its number back", move |args: NumberArgs, cx| {
        echoed.append_run(cx.call_id(), args.n);
        async move { Ok(json!({"n": args.n})) }
    });
    let running = device::start(device::builder(url, token, "box").tools([hold, echo])).await;
    println!("{}", json!({"event": "ready"}));
    running.wait().await.unwrap();
}

/// Like chat apps of the first version: without `connect` and without resume.
async fn run_version_1_device(url: &str, token: &str, runs: &RunLogFile) {
    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut socket = socket::open_socket(address, "/ws/device?name=box", token, None).await;
    let tool = |name: &str| json!({"name": name, "description": "A tool", "parameters": {"type": "object"}});
    socket::send_json(&mut socket, &json!({"type": "register_tools", "tools": [tool("hold"), tool("echo")]}))
        .await;
    while let Some(message) = socket::receive_json(&mut socket).await {
        match message["type"].as_str().unwrap() {
            "tools_registered" => println!("{}", json!({"event": "ready"})),
            "tool_call_request" => {
                runs.append_run(message["id"].as_str().unwrap(), message["args"]["n"].as_u64().unwrap());
                if message["name"] == "echo" {
                    let output = message["args"].to_string();
                    let answer: Value = json!({"type": "tool_result", "id": message["id"], "output": output});
                    socket::send_json(&mut socket, &answer).await;
                }
            }
            _ => {}
        }
    }
}
