//! Measures the cost of recording: pushes calls at a rate and prints each thread's processor time per call.
//! Linux only. `cargo run --release -p toolway-store --example record_rate -- [calls per second] [seconds] [each]`

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use toolway_core::caller::EntryPoint;
use toolway_core::record::{CallDurations, ClosedCall, OpenedCall};
use toolway_store::{CallFilter, Durability, Store, StoreOptions};
use toolway_types::{CallId, Outcome, PrincipalId, RawJson, Role, SystemClock, ToolId, ToolOutput};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rate: usize = words.first().map_or(Ok(20_000), |word| word.parse())?;
    let seconds: usize = words.get(1).map_or(Ok(5), |word| word.parse())?;
    let durability =
        if words.iter().any(|word| word == "each") { Durability::Each } else { Durability::Batch };

    let dir = tempfile::tempdir()?;
    let options = StoreOptions { durability, ..StoreOptions::default() };
    let began = Instant::now();
    let store = Store::open(dir.path(), Arc::new(SystemClock), options.clone()).await?;
    store.close().await;
    let made = began.elapsed();
    let began = Instant::now();
    let store = Store::open(dir.path(), Arc::new(SystemClock), options).await?;
    let opened = began.elapsed();
    writeln!(stdout(), "made in {made:?}, opened again in {opened:?}; {} resident", resident())?;

    let recorder = store.recorder();
    let name: Arc<str> = "living-room-phone__device_info".into();
    let tool: ToolId = "living-room-phone/device_info".parse()?;
    let principal = PrincipalId::from("0198c0de-7a3b-7c11-9d2e-5f00aa11bb22");
    let arguments = RawJson::parse(r#"{"verbose":true,"fields":["battery","memory"]}"#)?;
    let result = format!(r#"{{"model":"Pixel","battery":87,"memory_mb":7642,"note":"{}"}}"#, "x".repeat(120));
    let outcome = Arc::new(Outcome::Success(ToolOutput::structured(RawJson::parse(&result)?)));

    let before = processor_times();
    let began = Instant::now();
    let mut pushing = Duration::ZERO;
    let mut running: Vec<Arc<OpenedCall>> = Vec::new();
    let mut ticks = interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut calls = 0;
    while calls < rate * seconds {
        ticks.tick().await;
        let due = rate * usize::try_from(began.elapsed().as_micros())? / 1_000_000;
        let push = Instant::now();
        for opened in running.drain(..) {
            let durations = CallDurations { total: Duration::from_micros(1234), ..CallDurations::default() };
            drop(recorder.close(ClosedCall {
                opened,
                outcome: Arc::clone(&outcome),
                durations,
                attempts: 1,
                notes: None,
            }));
        }
        while calls < due {
            let opened = Arc::new(OpenedCall {
                id: CallId::new(),
                name: Arc::clone(&name),
                tool: Some(tool.clone()),
                principal: principal.clone(),
                role: Role::Client,
                via: EntryPoint::WebSocket,
                agent: None,
                session: None,
                turn: None,
                arguments: Some(arguments.clone()),
                started_ms: i64::try_from(began.elapsed().as_millis())?,
                key: None,
            });
            drop(recorder.open(Arc::clone(&opened)));
            running.push(opened);
            calls += 1;
        }
        pushing += push.elapsed();
    }
    store.flush().await?;
    let health = store.health();
    writeln!(
        stdout(),
        "{calls} calls in {:?}: {} rows written, {} records lost, {:.2} µs a call to push both records",
        began.elapsed(),
        health.records_written,
        health.records_lost,
        pushing.as_secs_f64() * 1e6 / calls as f64,
    )?;
    let mut all = 0.0;
    for (thread, after) in processor_times() {
        let used = after - before.get(&thread).copied().unwrap_or(0);
        let each = used as f64 / 1e3 / calls as f64;
        if !thread.contains("record_rate") {
            all += each;
        }
        writeln!(stdout(), "{each:8.2} µs a call  {thread}")?;
    }
    writeln!(stdout(), "{all:8.2} µs a call  in the store's threads")?;

    if words.iter().any(|word| word == "only") {
        return Ok(());
    }
    let began = Instant::now();
    let filter = CallFilter { source: Some("nobody".to_owned()), ..CallFilter::default() };
    let found = store.calls().list(&filter, None, 100).await?.calls.len();
    writeln!(stdout(), "{found} of {calls} found by a filter that reads them all, in {:?}", began.elapsed())?;
    let began = Instant::now();
    let page = store.calls().list(&CallFilter::default(), None, 100).await?.calls.len();
    writeln!(stdout(), "the newest {page} in {:?}", began.elapsed())?;
    let began = Instant::now();
    let removed = store.calls().remove_all(&CallFilter::default()).await?;
    writeln!(
        stdout(),
        "{} removed in {:?}, {} bytes freed",
        removed.calls,
        began.elapsed(),
        removed.freed_bytes
    )?;
    writeln!(stdout(), "{} resident", resident())?;
    store.close().await;
    Ok(())
}

/// Resident memory of the process, as the system reports it.
fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap_or("?").trim().to_owned()
}

/// Processor time of each thread so far, in nanoseconds.
fn processor_times() -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let used = read("schedstat").split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
        times.insert(format!("{} {}", read("comm").trim(), task.file_name().to_string_lossy()), used);
    }
    times
}
