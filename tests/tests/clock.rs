//! Tests jumps of the wall clock: durations, deadlines and the order of calls do not depend on it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use toolway_device::{PairOptions, PairRequest, Tool};
use toolway_gateway::{Gateway, GatewayOptions, Settings};
use toolway_tests::caller::ChatCaller;
use toolway_tests::device::{self, NumberArgs};
use toolway_tests::rest;
use toolway_tests::runs::RunLog;
use toolway_types::Clock;

const HOUR: i64 = 3_600_000;
const START: i64 = 1_800_000_000_000;

/// A clock that changes only when it is set.
#[derive(Debug, Clone)]
struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    fn advance(&self, by_ms: i64) {
        self.0.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct ClockHarness {
    folder: TempDir,
    gateway: Gateway,
    clock: ManualClock,
    owner: String,
}

impl ClockHarness {
    async fn new() -> Self {
        let clock = ManualClock(Arc::new(AtomicI64::new(START)));
        let folder = tempfile::tempdir().unwrap();
        let settings: Settings = serde_json::from_value(json!({"listen": "127.0.0.1:0"})).unwrap();
        let options = GatewayOptions {
            settings,
            origin: Default::default(),
            tool_env: Default::default(),
            data_dir: folder.path().to_owned(),
            host_names: vec!["box".to_owned()],
            clock: Arc::new(clock.clone()),
        };
        let gateway = Gateway::start(options).await.unwrap();
        let owner = std::fs::read_to_string(folder.path().join("owner.token")).unwrap().trim().to_owned();
        Self { folder, gateway, clock, owner }
    }

    fn address(&self) -> SocketAddr {
        self.gateway.app().address.local
    }

    async fn send_request(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        rest::send_request(self.address(), &self.owner, method, path, body).await
    }

    async fn shut_down(self) {
        self.gateway.shut_down().await;
        drop(self.folder);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durations_deadlines_and_the_order_of_calls_do_not_depend_on_it() {
    let bench = ClockHarness::new().await;
    let runs = RunLog::default();
    let (release, released) = watch::channel(false);
    let noted = runs.clone();
    let wait = Tool::typed("wait", "Waits", move |args: NumberArgs, cx| {
        noted.record_run(cx.call_id(), args.n);
        let mut released = released.clone();
        async move {
            let _ = released.wait_for(|it| *it).await;
            Ok(json!({"n": args.n}))
        }
    });
    let tools = [wait, device::echo_tool(&RunLog::default()), device::hanging_tool(&RunLog::default())];
    let builder = device::builder(&bench.gateway.url(), &bench.owner, "box").tools(tools);
    let device = device::start(builder).await;
    let caller = ChatCaller::connect(bench.address(), &bench.owner).await;

    // Backwards and forwards during calls.
    let mut results = Vec::new();
    for (n, jump) in [-HOUR, HOUR / 2, -24 * HOUR, 48 * HOUR].into_iter().enumerate() {
        let id = caller.send_call("box__wait", json!({"n": n})).await;
        runs.wait_for_count(n + 1).await;
        bench.clock.advance(jump);
        release.send_replace(true);
        results.push(caller.wait_for_answer(&id).await.unwrap());
        release.send_replace(false);
        results.push(caller.call("box__echo", json!({"n": n})).await);
        let held = json!({"args": {"n": n}, "timeout_ms": 50});
        let (status, held) = bench.send_request("POST", "/api/tools/box__hold/call", Some(held)).await;
        assert_eq!((status, &held["code"]), (200, &json!("timeout")), "{held}");
        assert!(held["duration_ms"].as_f64().unwrap() >= 50.0, "{held}");
        results.push(held);
    }
    let mut ids = Vec::new();
    for result in &results {
        let duration = result["duration_ms"].as_f64().unwrap();
        assert!((0.0..30_000.0).contains(&duration), "{result}");
        ids.push(result["call_id"].as_str().unwrap().to_owned());
    }
    assert!(ids.is_sorted(), "ids go up as calls are made: {ids:?}");

    // Each of them occurs once in all pages.
    let mut seen = Vec::new();
    let mut path = "/api/calls?limit=5".to_owned();
    loop {
        let (status, page) = bench.send_request("GET", &path, None).await;
        assert_eq!(status, 200, "{page}");
        for call in page["calls"].as_array().unwrap() {
            assert!((0.0..30_000.0).contains(&call["duration_ms"].as_f64().unwrap()), "{call}");
            seen.push(call["call_id"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/api/calls?limit=5&cursor={next}");
    }
    seen.sort_unstable();
    assert_eq!(seen, ids);

    let (_, devices) = bench.send_request("GET", "/api/devices", None).await;
    assert_eq!(devices["devices"][0]["status"], "online", "nobody was lost by it: {devices}");
    device.stop().await.unwrap();
    bench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lifetimes_of_tokens_and_codes_are_kept() {
    let bench = ClockHarness::new().await;
    let ends = json!({"role": "client", "expires_in_s": 3600});
    let (status, made) = bench.send_request("POST", "/api/tokens", Some(ends)).await;
    assert_eq!(status, 201, "{made}");
    let token = made["token"].as_str().unwrap().to_owned();
    let (status, code) = bench.send_request("POST", "/api/pair", Some(json!({"role": "device"}))).await;
    assert_eq!(status, 201, "{code}");
    let tools = async || {
        let (status, body) = rest::send_request(bench.address(), &token, "GET", "/api/tools", None).await;
        (status, body["error"]["code"].as_str().map(str::to_owned))
    };
    assert_eq!(tools().await, (200, None));
    bench.clock.advance(-48 * HOUR);
    assert_eq!(tools().await, (200, None), "an earlier time ends nothing");

    // The lifetime of a code does not depend on the clock.
    bench.clock.advance(24 * HOUR);
    let input = code["code"].as_str().unwrap().parse().unwrap();
    let about = PairRequest { device_id: None, name: Some("box".to_owned()), platform: None };
    let url = bench.gateway.url();
    let paired = toolway_device::pair(Some(&url), &input, &about, &PairOptions::default()).await.unwrap();
    let device =
        device::builder(&url, "", "box").token(paired.token).tool(device::echo_tool(&RunLog::default()));
    let device = device::start(device).await;
    bench.clock.advance(-12 * HOUR);
    let caller = ChatCaller::connect(bench.address(), &token).await;
    assert_eq!(caller.call("box__echo", json!({"n": 1})).await["result"], json!({"n": 1}));

    bench.clock.advance(START + HOUR - bench.clock.now_ms());
    assert_eq!(tools().await, (401, Some("token_expired".to_owned())));
    device.stop().await.unwrap();
    bench.shut_down().await;
}
