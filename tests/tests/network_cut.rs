//! Interrupts the network during many calls. With resume, no call is lost and none runs twice.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use toolway_device::{RunningDevice, Tool};
use toolway_tests::caller::ChatCaller;
use toolway_tests::device::{self, NumberArgs};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::proxy::FaultProxy;
use toolway_tests::rest;
use toolway_tests::runs::RunLog;

/// Calls in flight.
const CALLS: u64 = 50;

/// A third of the calls ends before the interruption, a third during it, a third after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CutPhase {
    Before,
    AtTheCut,
    During,
    After,
}

fn phase_of(n: u64) -> CutPhase {
    [CutPhase::AtTheCut, CutPhase::During, CutPhase::After][usize::try_from(n % 3).unwrap()]
}

struct NetworkCutHarness {
    _folder: TestFolder,
    gateway: GatewayProcess,
    proxy: FaultProxy,
    device: RunningDevice,
    runs: RunLog,
    stage: watch::Sender<CutPhase>,
    caller: ChatCaller,
    calls: Vec<String>,
}

impl NetworkCutHarness {
    /// Starts all calls on the device.
    async fn new() -> Self {
        let folder = TestFolder::new();
        // So that both ends notice within the five seconds without data.
        let gateway = folder.serve(&["--set", "timeouts.heartbeat_s=1"]).await;
        let proxy = FaultProxy::start(gateway.address()).await;
        let runs = RunLog::default();
        let (stage, stages) = watch::channel(CutPhase::Before);
        let noted = runs.clone();
        let double = Tool::typed("double", "Twice its number", move |args: NumberArgs, cx| {
            noted.record_run(cx.call_id(), args.n);
            let mut stages = stages.clone();
            async move {
                let _ = stages.wait_for(|now| *now >= phase_of(args.n)).await;
                Ok(json!({"n": args.n, "double": 2 * args.n}))
            }
        });
        let url = format!("http://{}", proxy.address());
        let device = device::start(device::builder(&url, &gateway.token, "box").tool(double)).await;
        let caller = ChatCaller::connect(gateway.address(), &gateway.token).await;
        let mut calls = Vec::new();
        for n in 0..CALLS {
            calls.push(caller.send_call("box__double", json!({"n": n})).await);
        }
        let count = usize::try_from(CALLS).unwrap();
        runs.wait_for_count(count).await;
        assert_eq!(caller.answer_count(), 0);
        Self { _folder: folder, gateway, proxy, device, runs, stage, caller, calls }
    }

    async fn assert_all_complete(self) {
        self.stage.send_replace(CutPhase::After);
        for (n, id) in self.calls.iter().enumerate() {
            let answer = self.caller.wait_for_answer(id).await.unwrap();
            assert_eq!(answer["status"], "success", "{answer}");
            assert_eq!(answer["result"], json!({"n": n, "double": 2 * n}), "{answer}");
        }
        device::wait_online(&self.device).await;
        // A later frame on the same socket was sent after all repeated ones.
        let after = self.caller.call("box__double", json!({"n": CALLS})).await;
        assert_eq!(after["result"]["double"], 2 * CALLS, "{after}");
        assert_eq!(self.runs.arguments(), (0..=CALLS).collect::<Vec<_>>(), "each ran once");
        let answers = self.caller.answers();
        assert!(answers.values().all(|answers| answers.len() == 1), "{answers:?}");

        let record = rest::fetch_all_calls(self.gateway.address(), &self.gateway.token).await;
        assert_eq!(record.len(), self.calls.len() + 1);
        assert!(record.values().all(|call| call["status"] == "success"), "{record:?}");
        for run in self.runs.recorded_runs() {
            let attempts = record[&run.call_id]["attempts"].as_u64().unwrap();
            let expected = if run.n == CALLS || phase_of(run.n) < CutPhase::After { 1 } else { 2 };
            assert!(attempts >= expected, "what was unanswered is sent again: {}", record[&run.call_id]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_falls_silent_for_five_seconds_loses_no_call() {
    let bench = NetworkCutHarness::new().await;
    bench.proxy.stall();
    bench.stage.send_replace(CutPhase::AtTheCut);
    bench.stage.send_replace(CutPhase::During);
    // This is the fault itself, not a wait for something.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(bench.caller.answer_count(), 0, "nothing came through");
    bench.proxy.heal();
    bench.assert_all_complete().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_is_torn_loses_no_call() {
    let bench = NetworkCutHarness::new().await;
    bench.stage.send_replace(CutPhase::AtTheCut);
    bench.proxy.cut();
    bench.stage.send_replace(CutPhase::During);
    bench.proxy.wait_for_refused(3).await;
    bench.proxy.heal();
    bench.assert_all_complete().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_is_torn_again_and_again_loses_no_call() {
    let bench = NetworkCutHarness::new().await;
    for stage in [CutPhase::AtTheCut, CutPhase::During, CutPhase::During] {
        bench.proxy.cut();
        bench.stage.send_replace(stage);
        bench.proxy.wait_for_refused(1).await;
        bench.proxy.heal();
    }
    bench.assert_all_complete().await;
}
