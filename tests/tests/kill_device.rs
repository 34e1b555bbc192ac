//! Tests SIGKILL of a device during calls: each call ends once as `device_disconnected`, and none runs again.
//! Also tests a device that is suspended for a while.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::Instant;
use toolway_tests::caller::ChatCaller;
use toolway_tests::process::{GatewayProcess, RunningProgram, TestFolder};
use toolway_tests::rest;

/// Calls in flight.
const CALLS: u64 = 20;

struct KillDeviceHarness {
    _folder: TestFolder,
    gateway: GatewayProcess,
    caller: ChatCaller,
    runs: PathBuf,
    mode: &'static str,
}

impl KillDeviceHarness {
    async fn new(mode: &'static str, grace_s: &str) -> Self {
        Self::with_settings(mode, &[&format!("timeouts.resume_grace_s={grace_s}")]).await
    }

    async fn with_settings(mode: &'static str, settings: &[&str]) -> Self {
        let folder = TestFolder::new();
        let flags: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
        let gateway = folder.serve(&flags).await;
        let caller = ChatCaller::connect(gateway.address(), &gateway.token).await;
        let runs = folder.sibling_path("runs");
        Self { _folder: folder, gateway, caller, runs, mode }
    }

    async fn start_device(&self) -> RunningProgram {
        let mut command = Command::new(env!("CARGO_BIN_EXE_killable-device"));
        command.args([&self.gateway.url(), &self.gateway.token]).arg(&self.runs).arg(self.mode);
        let mut device = RunningProgram::start(command);
        device.wait_for_event("ready").await;
        device
    }

    /// Starts calls that all run on the device.
    async fn start_calls(&self, device: &mut RunningProgram) -> Vec<String> {
        let mut calls = Vec::new();
        for n in 0..CALLS {
            calls.push(self.caller.send_call("box__hold", json!({"n": n})).await);
        }
        for _ in 0..CALLS {
            device.wait_for_event("run").await;
        }
        assert_eq!(self.caller.answer_count(), 0);
        calls
    }

    /// Waits until the gateway has noticed that the device is gone.
    async fn wait_until_noticed(&self) {
        let status = toolway_tests::poll_until("the gateway has noticed", async || {
            let devices = rest::get_json(self.gateway.address(), &self.gateway.token, "/api/devices").await;
            let status = devices["devices"][0]["status"].clone();
            (status != "online").then_some(status)
        })
        .await;
        assert_eq!(status, "reconnecting", "for all that it knows, the device may go on");
        assert_eq!(self.caller.answer_count(), 0);
    }

    async fn assert_all_ended(&self, calls: &[String]) {
        for id in calls {
            let answer = self.caller.wait_for_answer(id).await.unwrap();
            let found = [&answer["status"], &answer["error_type"], &answer["code"], &answer["dispatched"]];
            let expected =
                [json!("error"), json!("execution_error"), json!("device_disconnected"), json!(true)];
            assert_eq!(found, expected.each_ref(), "{answer}");
        }
    }

    /// Asserts that the returned device gets new calls only.
    async fn assert_nothing_runs_again(&self, device: &mut RunningProgram) {
        let echo = self.caller.call("box__echo", json!({"n": CALLS})).await;
        assert_eq!(echo["status"], "success", "{echo}");
        assert_eq!(
            device.wait_for_event("run").await["n"],
            CALLS,
            "requests come in the order in which they are sent"
        );
        let written = std::fs::read_to_string(&self.runs).unwrap();
        let mut ran: Vec<u64> =
            written.lines().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        ran.sort_unstable();
        assert_eq!(ran, (0..=CALLS).collect::<Vec<_>>(), "{written}");
        let answers = self.caller.answers();
        assert!(answers.values().all(|answers| answers.len() == 1), "{answers:?}");

        let record = rest::fetch_all_calls(self.gateway.address(), &self.gateway.token).await;
        assert_eq!(record.len(), written.lines().count());
        for line in written.lines() {
            let (id, n) = line.split_once(' ').unwrap();
            let call = &record[id];
            let code = if n == CALLS.to_string() { Value::Null } else { json!("device_disconnected") };
            assert_eq!((&call["code"], &call["attempts"]), (&code, &json!(1)), "{call}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_first_version_device_end_at_once() {
    // Far longer than the test.
    let bench = KillDeviceHarness::new("v1", "3000").await;
    let mut device = bench.start_device().await;
    let calls = bench.start_calls(&mut device).await;
    device.kill().await;
    bench.assert_all_ended(&calls).await;
    let gone = bench.caller.call("box__echo", json!({"n": 0})).await;
    assert_eq!((&gone["code"], &gone["dispatched"]), (&json!("tool_not_available"), &json!(false)), "{gone}");

    let mut device = bench.start_device().await;
    let echo = bench.caller.call("box__echo", json!({"n": CALLS})).await;
    assert_eq!(echo["result"], "{\"n\":20}", "text stays text: {echo}");
    assert_eq!(device.wait_for_event("run").await["n"], CALLS);
    assert_eq!(std::fs::read_to_string(&bench.runs).unwrap().lines().count(), 21);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_resuming_device_end_after_the_grace() {
    let bench = KillDeviceHarness::new("resume", "1").await;
    let mut device = bench.start_device().await;
    let calls = bench.start_calls(&mut device).await;
    let killed = Instant::now();
    device.kill().await;
    bench.assert_all_ended(&calls).await;
    let waited = killed.elapsed();
    assert!(waited >= Duration::from_secs(1), "they had a second to be resumed: {waited:?}");
    bench.assert_nothing_runs_again(&mut bench.start_device().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_resuming_device_end_when_it_is_started_again() {
    let bench = KillDeviceHarness::new("resume", "3000").await;
    let mut device = bench.start_device().await;
    let calls = bench.start_calls(&mut device).await;
    device.kill().await;
    bench.wait_until_noticed().await;
    let mut device = bench.start_device().await;
    bench.assert_all_ended(&calls).await;
    bench.assert_nothing_runs_again(&mut device).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_device_continues() {
    let bench = KillDeviceHarness::with_settings(
        "resume",
        &["timeouts.resume_grace_s=3000", "timeouts.heartbeat_s=0.3"],
    )
    .await;
    let mut device = bench.start_device().await;
    bench.start_calls(&mut device).await;
    // Its connection stays open, but it does not respond.
    device.signal(Signal::STOP);
    bench.wait_until_noticed().await;
    let echo = bench.caller.send_call("box__echo", json!({"n": CALLS})).await;
    device.signal(Signal::CONT);
    let echo = bench.caller.wait_for_answer(&echo).await.unwrap();
    assert_eq!(echo["result"], json!({"n": CALLS}), "{echo}");
    assert_eq!(bench.caller.answer_count(), 1, "the others still run");
    let written = std::fs::read_to_string(&bench.runs).unwrap();
    assert_eq!(written.lines().count(), 21, "and none runs twice: {written}");
}
