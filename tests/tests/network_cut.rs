//! The network is cut in the middle of many calls, and comes back: with resume no call is lost and none runs
//! twice.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use toolway_device::{Running, Tool};
use toolway_tests::caller::Caller;
use toolway_tests::device::{self, Number};
use toolway_tests::process::{Folder, Gateway};
use toolway_tests::proxy::Proxy;
use toolway_tests::rest;
use toolway_tests::runs::Runs;

/// Calls in flight.
const CALLS: u64 = 50;

/// A third of the calls ends at the moment of the cut, a third during it, a third after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Before,
    AtTheCut,
    During,
    After,
}

fn ends(n: u64) -> Stage {
    [Stage::AtTheCut, Stage::During, Stage::After][usize::try_from(n % 3).unwrap()]
}

struct Bench {
    _folder: Folder,
    gateway: Gateway,
    proxy: Proxy,
    device: Running,
    runs: Runs,
    stage: watch::Sender<Stage>,
    caller: Caller,
    calls: Vec<String>,
}

impl Bench {
    /// All calls are running on the device.
    async fn new() -> Self {
        let folder = Folder::new();
        // So that both ends notice within the five seconds that nothing comes through any more.
        let gateway = folder.serve(&["--set", "timeouts.heartbeat_s=1"]).await;
        let proxy = Proxy::to(gateway.address()).await;
        let runs = Runs::default();
        let (stage, stages) = watch::channel(Stage::Before);
        let noted = runs.clone();
        let double = Tool::typed("double", "Twice its number", move |args: Number, cx| {
            noted.note(cx.call_id(), args.n);
            let mut stages = stages.clone();
            async move {
                let _ = stages.wait_for(|now| *now >= ends(args.n)).await;
                Ok(json!({"n": args.n, "double": 2 * args.n}))
            }
        });
        let url = format!("http://{}", proxy.address());
        let device = device::start(device::builder(&url, &gateway.token, "box").tool(double)).await;
        let caller = Caller::connect(gateway.address(), &gateway.token).await;
        let mut calls = Vec::new();
        for n in 0..CALLS {
            calls.push(caller.start("box__double", json!({"n": n})).await);
        }
        let count = usize::try_from(CALLS).unwrap();
        runs.reach(count).await;
        assert_eq!(caller.answered(), 0);
        Self { _folder: folder, gateway, proxy, device, runs, stage, caller, calls }
    }

    async fn whole(self) {
        self.stage.send_replace(Stage::After);
        for (n, id) in self.calls.iter().enumerate() {
            let answer = self.caller.answer(id).await.unwrap();
            assert_eq!(answer["status"], "success", "{answer}");
            assert_eq!(answer["result"], json!({"n": n, "double": 2 * n}), "{answer}");
        }
        device::online(&self.device).await;
        // What comes after it on the same socket was sent after whatever is sent again.
        let after = self.caller.call("box__double", json!({"n": CALLS})).await;
        assert_eq!(after["result"]["double"], 2 * CALLS, "{after}");
        assert_eq!(self.runs.arguments(), (0..=CALLS).collect::<Vec<_>>(), "each ran once");
        let answers = self.caller.answers();
        assert!(answers.values().all(|answers| answers.len() == 1), "{answers:?}");

        let record = rest::all_calls(self.gateway.address(), &self.gateway.token).await;
        assert_eq!(record.len(), self.calls.len() + 1);
        assert!(record.values().all(|call| call["status"] == "success"), "{record:?}");
        for run in self.runs.all() {
            let attempts = record[&run.call_id]["attempts"].as_u64().unwrap();
            let expected = if run.n == CALLS || ends(run.n) < Stage::After { 1 } else { 2 };
            assert!(attempts >= expected, "what was unanswered is sent again: {}", record[&run.call_id]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_falls_silent_for_five_seconds_loses_no_call() {
    let bench = Bench::new().await;
    bench.proxy.stall();
    bench.stage.send_replace(Stage::AtTheCut);
    bench.stage.send_replace(Stage::During);
    // Not to wait for something: this is the fault itself.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(bench.caller.answered(), 0, "nothing came through");
    bench.proxy.heal();
    bench.whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_is_torn_loses_no_call() {
    let bench = Bench::new().await;
    bench.stage.send_replace(Stage::AtTheCut);
    bench.proxy.cut();
    bench.stage.send_replace(Stage::During);
    bench.proxy.has_refused(3).await;
    bench.proxy.heal();
    bench.whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_is_torn_again_and_again_loses_no_call() {
    let bench = Bench::new().await;
    for stage in [Stage::AtTheCut, Stage::During, Stage::During] {
        bench.proxy.cut();
        bench.stage.send_replace(stage);
        bench.proxy.has_refused(1).await;
        bench.proxy.heal();
    }
    bench.whole().await;
}
