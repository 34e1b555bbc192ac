//! Benchmarks of the engine: a call of a tool that does nothing, validated and recorded; finding a tool among
//! ten thousand; registering six hundred tools. `cargo bench -p toolway-core [-- --quick] [-- --json]`

#![allow(clippy::print_stdout, reason = "printing its figures is what it is for")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use toolway_core::{
    CallRequest, ClosedCall, EarlierCall, Engine, EngineParts, Lease, OpenedCall, RawArguments, RecordCommit,
    Recorder, Registry, SourceRetention, SpecCache, ToolLookup,
};
use toolway_store::{Store, StoreOptions};
use toolway_types::{PrincipalId, RawJson, Slug, SpecDocument, SystemClock};

use support::{ARGUMENTS, BenchError, BenchMeasurements, caller, document, micros, time_per_round, tool};

/// Counts records and discards them.
#[derive(Default)]
struct CountingRecorder {
    opened: AtomicUsize,
    closed: AtomicUsize,
}

#[async_trait]
impl Recorder for CountingRecorder {
    fn open(&self, _: Arc<OpenedCall>) -> RecordCommit {
        self.opened.fetch_add(1, Ordering::Relaxed);
        RecordCommit::Queued
    }

    fn close(&self, _: ClosedCall) -> RecordCommit {
        self.closed.fetch_add(1, Ordering::Relaxed);
        RecordCommit::Queued
    }

    async fn find_by_key(&self, _: &PrincipalId, _: &str, _: i64) -> Option<EarlierCall> {
        None
    }
}

/// Creates an engine with one source of five tools.
fn engine(recorder: Arc<dyn Recorder>) -> Result<(Arc<Engine>, Lease), BenchError> {
    let (registry, cache) = (Registry::new(), SpecCache::default());
    let lease = registry.lease("living-room-phone".parse()?, SourceRetention::Names);
    let tools: Result<_, _> = (0..5).map(|n| tool(&cache, document(&format!("weather_{n}"))?)).collect();
    lease.replace(tools?);
    let parts = EngineParts { recorder, ..EngineParts::new(registry, Arc::new(SystemClock)) };
    let engine = Engine::new(parts);
    Ok((engine, lease))
}

/// Calls one after the other and returns the duration of each, in nanoseconds. `rest` is a number of calls
/// and the pause after them, so that a recorder can keep up.
async fn call(
    engine: Arc<Engine>,
    calls: usize,
    rest: Option<(usize, Duration)>,
) -> Result<Vec<u64>, String> {
    let (caller, name) = (caller(), Arc::<str>::from("living-room-phone__weather_2"));
    let arguments = RawJson::parse(ARGUMENTS).map_err(|error| error.to_string())?;
    let mut times = Vec::with_capacity(calls);
    for n in 0..calls {
        let call = CallRequest::new(name.clone(), RawArguments::Json(arguments.clone()), caller.clone());
        let began = Instant::now();
        let finished = engine.call(call).await;
        times.push(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if !finished.outcome.is_success() {
            return Err(format!("{:?}", finished.outcome));
        }
        if let Some((burst, pause)) = rest
            && n % burst == 0
        {
            tokio::time::sleep(pause).await;
        }
    }
    times.sort_unstable();
    Ok(times)
}

/// Warms up, then measures in a task of the runtime, as for a connection.
fn measure(
    runtime: &Runtime,
    engine: &Arc<Engine>,
    calls: usize,
    rest: Option<(usize, Duration)>,
) -> Result<Vec<u64>, BenchError> {
    runtime.block_on(async {
        tokio::spawn(call(engine.clone(), calls / 10, rest)).await??;
        Ok(tokio::spawn(call(engine.clone(), calls, rest)).await??)
    })
}

fn measure_calls(figures: &mut BenchMeasurements, count: usize) -> Result<(), BenchError> {
    let one = Builder::new_current_thread().enable_all().build()?;
    let two = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for (name, runtime) in [("call", &one), ("call_two_workers", &two)] {
        let recorder = Arc::new(CountingRecorder::default());
        let (engine, _lease) = engine(recorder.clone())?;
        figures.times(name, &measure(runtime, &engine, count, None)?);
        let kept = (recorder.opened.load(Ordering::Relaxed), recorder.closed.load(Ordering::Relaxed));
        if kept != (count + count / 10, count + count / 10) {
            return Err(format!("not every call was recorded: {kept:?}").into());
        }
    }
    Ok(())
}

/// Measures calls with the recorder of the gateway.
fn measure_recorded_calls(figures: &mut BenchMeasurements, count: usize) -> Result<(), BenchError> {
    let folder = tempfile::tempdir()?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let options = StoreOptions::default();
    let store = runtime.block_on(Store::open(folder.path(), Arc::new(SystemClock), options))?;
    let (engine, _lease) = engine(store.recorder())?;
    let rest = Some((50, Duration::from_millis(5)));
    figures.times("call_recorded_in_sqlite", &measure(&runtime, &engine, count, rest)?);
    runtime.block_on(store.flush())?;
    let health = store.health();
    if health.records_lost > 0 {
        return Err(format!("records were lost: {health:?}").into());
    }
    runtime.block_on(store.close());
    Ok(())
}

fn measure_lookups(figures: &mut BenchMeasurements, rounds: usize) -> Result<(), BenchError> {
    let (registry, cache) = (Registry::new(), SpecCache::default());
    let mut leases = Vec::new();
    for source in 0..100 {
        let lease = registry.lease(format!("device-{source}").parse::<Slug>()?, SourceRetention::Names);
        let tools: Result<_, _> = (0..100)
            .map(|n| tool(&cache, document(&format!("tool_{}", if n < 50 { n } else { source * 100 + n }))?))
            .collect();
        lease.replace(tools?);
        leases.push(lease);
    }
    let snapshot = registry.snapshot();
    let caller = caller();
    let look = |name: &str| snapshot.lookup(name, &caller, |_, _| true);
    for (figure, name, found) in [
        ("lookup_full_name", "device-42__tool_17", true),
        ("lookup_bare_name", "tool_4277", true),
        ("lookup_unknown_name", "device-42__nothing", false),
        ("lookup_ambiguous_name", "tool_17", false),
    ] {
        let time = time_per_round(rounds, || matches!(look(name), ToolLookup::Found(..)) == found)?;
        figures.add(figure, time, "ns");
    }
    Ok(())
}

/// A spec of about 1,800 bytes.
fn large(n: usize, distinct: bool) -> Result<SpecDocument, BenchError> {
    let mark = if distinct { n } else { 0 };
    let property = |at: usize| {
        let described =
            format!("What number {at} of tool {mark} is for, in a sentence as people write them.");
        (
            format!("property_{at}"),
            json!({ "type": "string", "description": described, "maxLength": 100 + at }),
        )
    };
    let properties: Map<String, Value> = (0..13).map(property).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": ["property_0"] });
    Ok(SpecDocument { parameters: Some(RawJson::from(&schema)), ..document(&format!("tool_{n}"))? })
}

/// Resident memory of this process, in bytes; None if the system does not report it.
fn resident_memory() -> Option<f64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split(' ').nth(1)?.parse::<f64>().ok()? * 4096.0)
}

fn measure_registration(figures: &mut BenchMeasurements) -> Result<(), BenchError> {
    // The one-time cost of a process's first schema does not count.
    drop(tool(&SpecCache::default(), large(0, true)?)?);
    for (name, distinct) in [("register_600_same_schema", false), ("register_600_distinct", true)] {
        let before = resident_memory();
        let documents: Result<Vec<_>, _> = (0..600).map(|n| large(n, distinct)).collect();
        let documents = documents?;
        let bytes: usize =
            documents.iter().filter_map(|it| it.parameters.as_ref()).map(|it| it.get().len()).sum();
        let (registry, cache) = (Registry::new(), SpecCache::default());
        let lease = registry.lease("phone".parse()?, SourceRetention::Names);
        let began = Instant::now();
        let tools: Result<_, _> = documents.into_iter().map(|document| tool(&cache, document)).collect();
        lease.replace(tools?);
        figures.add(name, micros(u64::try_from(began.elapsed().as_nanos())?) / 1000.0, "ms");
        figures.add(format!("{name}_schemas"), f64::from(u32::try_from(bytes)?) / 1e6, "mb");
        if let (Some(before), Some(after)) = (before, resident_memory()) {
            figures.add(format!("{name}_memory"), (after - before) / 1e6, "mb");
        }
        drop(lease);
    }
    Ok(())
}

fn main() -> Result<(), BenchError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_said = |word: &str| words.iter().any(|it| it == word);
    let (count, rounds) = if is_said("--quick") { (20_000, 20_000) } else { (300_000, 200_000) };
    let mut figures = BenchMeasurements::default();
    measure_registration(&mut figures)?;
    measure_lookups(&mut figures, rounds)?;
    measure_calls(&mut figures, count)?;
    measure_recorded_calls(&mut figures, count / 10)?;
    figures.print(is_said("--json"));
    Ok(())
}
