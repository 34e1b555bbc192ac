//! Tests SIGKILL of the gateway during a thousand calls: every caller gets one answer or a lost connection,
//! and after the restart there is one recorded outcome for each call.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;
use toolway_tests::caller::ChatCaller;
use toolway_tests::device;
use toolway_tests::process::TestFolder;
use toolway_tests::proxy::FaultProxy;
use toolway_tests::rest;
use toolway_tests::runs::RunLog;

/// Number of devices, and of callers.
const DEVICES: u64 = 4;
/// Calls in flight on each device.
const HELD: u64 = 250;
/// Duration of other calls meanwhile.
const CHURN: Duration = Duration::from_millis(500);
/// Records are written within 10 ms; a busy machine may need longer.
const MARGIN: Duration = Duration::from_millis(50);

/// Minimum content of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordDurability {
    EachRecord,
    Batched,
}

async fn kill_gateway_mid_call(durability: RecordDurability) {
    let folder = TestFolder::new();
    let word = if durability == RecordDurability::EachRecord { "per_call" } else { "batch" };
    let durable = format!("calls.durability={word}");
    let flags = ["--set", &durable, "--set", "limits.calls_in_flight_per_device=300"];
    let gateway = folder.serve(&flags).await;
    let proxy = FaultProxy::start(gateway.address()).await;
    let url = format!("http://{}", proxy.address());
    let (held, echoed) = (RunLog::default(), RunLog::default());
    let mut devices = Vec::new();
    for i in 0..DEVICES {
        let tools = [device::hanging_tool(&held), device::echo_tool(&echoed)];
        let builder = device::builder(&url, &gateway.token, &format!("box-{i}")).tools(tools);
        devices.push(device::start(builder).await);
    }
    let callers =
        join_all((0..DEVICES).map(|_| ChatCaller::connect(gateway.address(), &gateway.token))).await;
    join_all(callers.iter().zip(0..).map(async |(caller, i)| {
        for n in 0..HELD {
            // The calls of each caller go to all devices.
            let name = format!("box-{}__hold", n % DEVICES);
            caller.send_call(&name, json!({"n": i * HELD + n})).await;
        }
    }))
    .await;
    held.wait_for_count(usize::try_from(DEVICES * HELD).unwrap()).await;

    // Other calls run meanwhile, until the end.
    let begun = Instant::now();
    let churn = join_all(callers.iter().zip(0..).map(async |(caller, i)| {
        let name = format!("box-{i}__echo");
        let mut n = 0;
        loop {
            let mut batch = Vec::new();
            for _ in 0..8 {
                batch.push(caller.send_call(&name, json!({"n": n})).await);
                n += 1;
            }
            for id in batch {
                if caller.wait_for_answer(&id).await.is_none() {
                    return;
                }
            }
        }
    }));
    let killing = async {
        tokio::time::sleep_until(begun + CHURN).await;
        let at = Instant::now();
        gateway.kill().await;
        at
    };
    let (_, killed) = tokio::join!(churn, killing);
    join_all(callers.iter().map(ChatCaller::wait_closed)).await;

    // At most one answer; none to the held calls.
    let mut answered = HashMap::new();
    for caller in &callers {
        for (id, answers) in caller.answers() {
            assert_eq!(answers.len(), 1, "call {id}: {answers:?}");
            let answer = &answers[0];
            assert_eq!(answer.result["status"], "success", "only what was done is answered: {answer:?}");
            let call_id = answer.result["call_id"].as_str().unwrap().to_owned();
            assert!(answered.insert(call_id, answer.at).is_none(), "{answer:?}");
        }
    }
    assert!(answered.len() >= 8, "calls came and went: {}", answered.len());

    let gateway = folder.serve(&flags).await;
    let record = rest::fetch_all_calls(gateway.address(), &gateway.token).await;
    let counts = |at: Instant| durability == RecordDurability::EachRecord || at + MARGIN < killed;
    let mut must = 0;
    for run in held.recorded_runs().iter().filter(|run| counts(run.at)) {
        must += 1;
        let call = record.get(&run.call_id).unwrap_or_else(|| panic!("a call is not recorded: {run:?}"));
        assert_eq!(
            (&call["status"], &call["code"]),
            (&json!("error"), &json!("gateway_restarted")),
            "{call}"
        );
    }
    assert_eq!(must, DEVICES * HELD, "all that were held are old enough");
    for run in echoed.recorded_runs().iter().filter(|run| counts(run.at)) {
        assert!(record.contains_key(&run.call_id), "a call is not recorded: {run:?}");
    }
    for (id, at) in &answered {
        if counts(*at) {
            assert_eq!(record[id]["status"], "success", "an answered call: {}", record[id]);
        }
    }
    for call in record.values() {
        let ended = call["status"] == "success" || call["code"] == "gateway_restarted";
        assert!(ended, "one of the two: {call}");
        let ran = held
            .recorded_runs()
            .iter()
            .chain(&echoed.recorded_runs())
            .any(|run| call["call_id"] == *run.call_id);
        assert!(ran || call["code"] == "gateway_restarted", "an outcome out of nothing: {call}");
    }

    // The devices reconnect by themselves, and nothing runs again.
    proxy.heal_to(gateway.address());
    let ran_before = (held.arguments(), echoed.recorded_runs().len());
    let caller = ChatCaller::connect(gateway.address(), &gateway.token).await;
    for (device, i) in devices.iter().zip(0..) {
        assert_reconnects(&caller, device, i).await;
    }
    assert_eq!(held.arguments(), (0..DEVICES * HELD).collect::<Vec<_>>(), "each ran once");
    assert_eq!((held.arguments(), echoed.recorded_runs().len() - devices.len()), ran_before);
}

async fn assert_reconnects(caller: &ChatCaller, device: &toolway_device::RunningDevice, i: usize) {
    device::wait_online(device).await;
    let name = format!("box-{i}__echo");
    let echo: Value = caller.call(&name, json!({"n": 7})).await;
    assert_eq!(echo["result"], json!({"n": 7}), "{echo}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_durability_per_call_every_visible_call_is_recorded() {
    kill_gateway_mid_call(RecordDurability::EachRecord).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_default_all_but_the_latest_calls_are_recorded() {
    kill_gateway_mid_call(RecordDurability::Batched).await;
}
