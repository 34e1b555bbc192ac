//! Tests that slow peers, and peers that do not read, delay nobody else.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use toolway_device::{ProgressReport, RunningDevice, Tool};
use toolway_tests::caller::ChatCaller;
use toolway_tests::device::{self, NumberArgs};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::runs::RunLog;
use toolway_tests::{socket, with_timeout};

struct IsolationHarness {
    _folder: TestFolder,
    gateway: GatewayProcess,
    _good: RunningDevice,
    caller: ChatCaller,
}

impl IsolationHarness {
    async fn new(flags: &[&str]) -> Self {
        let folder = TestFolder::new();
        let gateway = folder.serve(flags).await;
        let builder = device::builder(&gateway.url(), &gateway.token, "good");
        let good = device::start(builder.tool(device::echo_tool(&RunLog::default()))).await;
        let caller = ChatCaller::connect(gateway.address(), &gateway.token).await;
        Self { _folder: folder, gateway, _good: good, caller }
    }

    /// Asserts that calls to the good device are fast.
    async fn assert_no_delay(&self, caller: &ChatCaller) {
        for n in 0..50 {
            let echo = caller.call("good__echo", json!({"n": n})).await;
            assert_eq!(echo["result"], json!({"n": n}), "{echo}");
        }
    }

    async fn connect_second_caller(&self) -> ChatCaller {
        ChatCaller::connect(self.gateway.address(), &self.gateway.token).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_never_answers() {
    let bench = IsolationHarness::new(&[]).await;
    let held = RunLog::default();
    let builder = device::builder(&bench.gateway.url(), &bench.gateway.token, "slow");
    let _slow = device::start(builder.tool(device::hanging_tool(&held))).await;
    for n in 0..256 {
        bench.caller.send_call("slow__hold", json!({"n": n})).await;
    }
    held.wait_for_count(256).await;
    // Also on the connection with all pending calls.
    bench.assert_no_delay(&bench.caller).await;
    bench.assert_no_delay(&bench.connect_second_caller().await).await;
    let one_more = bench.caller.call("slow__hold", json!({"n": 256})).await;
    assert_eq!(one_more["code"], "overloaded", "{one_more}");
    assert_eq!(bench.caller.answer_count(), 51, "none of the slow ones has ended meanwhile");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_stops_reading() {
    let bench = IsolationHarness::new(&["--set", "timeouts.write_s=6"]).await;
    let (address, token) = (bench.gateway.address(), &bench.gateway.token);
    let mut deaf = socket::open_socket_with_small_buffers(address, "/ws/device?name=deaf", token, None).await;
    let tools = json!([{"name": "swallow", "description": "Takes much"}]);
    socket::send_json(&mut deaf, &json!({"type": "register_tools", "tools": tools})).await;
    assert_eq!(socket::receive_json(&mut deaf).await.unwrap()["registered"], 1);
    // More than the system buffers for one connection.
    let much = "x".repeat(64 << 10);
    let mut calls = Vec::new();
    for _ in 0..100 {
        calls.push(bench.caller.send_call("deaf__swallow", json!({"text": much})).await);
    }
    bench.assert_no_delay(&bench.caller).await;
    bench.assert_no_delay(&bench.connect_second_caller().await).await;
    assert_eq!(bench.caller.answer_count(), 50, "all of it went on beside what waits");
    // It is disconnected, and each of its calls ends.
    for id in &calls {
        let answer = bench.caller.wait_for_answer(id).await.unwrap();
        assert_eq!(answer["code"], "device_disconnected", "{answer}");
    }
    assert_eq!(bench.caller.answer_count(), 50 + calls.len());
    drop(deaf);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_stops_reading() {
    // It must not be disconnected during this test.
    let bench = IsolationHarness::new(&["--set", "timeouts.write_s=600"]).await;
    let (address, token) = (bench.gateway.address(), &bench.gateway.token);
    let runs = RunLog::default();
    let noted = runs.clone();
    let much = Tool::typed("much", "Gives a lot", move |args: NumberArgs, cx| {
        noted.record_run(cx.call_id(), args.n);
        async move {
            for step in 0..10 {
                cx.report_progress(ProgressReport::new(f64::from(step)).with_message("x".repeat(8 << 10)))
                    .await;
            }
            Ok("x".repeat(64 << 10))
        }
    });
    let builder = device::builder(&bench.gateway.url(), token, "rich");
    let _rich = device::start(builder.tools([much, device::echo_tool(&RunLog::default())])).await;
    let mut deaf =
        socket::open_socket_with_small_buffers(address, "/ws/chat", token, Some("toolway.v2")).await;
    for n in 0..100 {
        let call = json!({"type": "call_tool", "id": n.to_string(), "name": "rich__much", "args": {"n": n}});
        socket::send_json(&mut deaf, &call).await;
    }
    runs.wait_for_count(100).await;
    bench.assert_no_delay(&bench.caller).await;
    // Nor is the device affected that had so much to send to it.
    for n in 0..10 {
        let echo = bench.caller.call("rich__echo", json!({"n": n})).await;
        assert_eq!(echo["result"], json!({"n": n}), "{echo}");
    }
    drop(deaf);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_of_the_record_that_stops_reading() {
    let bench = IsolationHarness::new(&["--set", "timeouts.write_s=600"]).await;
    let address = bench.gateway.address();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut deaf = socket.connect(address).await.unwrap();
    let request = format!(
        "GET /api/calls/tail HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        bench.gateway.token
    );
    deaf.write_all(request.as_bytes()).await.unwrap();
    // The follower gets the name of each call, known or not; the caller chooses its length.
    let long = "é".repeat(30 << 10);
    let answer = bench.caller.call(&long, json!({})).await;
    // A message never repeats more than the start of a name.
    assert_eq!(answer["message"], format!("Tool {}… is not available", "é".repeat(150)));
    let name = "x".repeat(5000);
    for _ in 0..100 {
        let mut calls = Vec::new();
        for _ in 0..100 {
            calls.push(bench.caller.send_call(&name, json!({})).await);
        }
        for id in calls {
            assert_eq!(bench.caller.wait_for_answer(&id).await.unwrap()["code"], "tool_not_available");
        }
    }
    bench.assert_no_delay(&bench.caller).await;
    // It missed some calls: only the gateway's bounded queue waited for it.
    let mut told = Vec::new();
    with_timeout("what it was told", async {
        while !told.ends_with(b"\n\n\r\n") || !String::from_utf8_lossy(&told).contains("event: lagged") {
            assert_ne!(deaf.read_buf(&mut told).await.unwrap(), 0, "it was not sent away: {}", told.len());
        }
    })
    .await;
    let told = String::from_utf8_lossy(&told);
    let events = told.matches("event: call").count();
    assert!(told.len() < events * 8192, "long names and messages are told in part: {} {events}", told.len());
}
