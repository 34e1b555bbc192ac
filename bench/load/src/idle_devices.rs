//! Many idle devices: the memory of each, and the latency of a call to one of many. A second gateway holds
//! only ten devices; calls alternate between the two. The devices run in separate processes, as many for the
//! ten as for the many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::caller::CallTemplate;
use crate::connections::{DeviceTasks, full_name, join_devices, open_callers};
use crate::device_processes::{DeviceProcesses, process_count};
use crate::error::{Result, unexpected};
use crate::gateway::{BenchGateway, GatewayLaunchOptions};
use crate::output::log_progress;
use crate::procfs::ProcessMemory;
use crate::rounds::alternate;
use crate::stats::{ratio, rounded};
use crate::target_measurement::TargetMeasurement;
use crate::tool_specs::APP_TOOLS;

/// Number of devices of the second gateway.
const SMALL_DEVICE_COUNT: usize = 10;
/// Payload of a call in bytes.
const PAYLOAD: usize = 64;
const WARM_UP: Duration = Duration::from_millis(300);

/// Options of the measurement.
#[derive(Debug, Clone)]
pub(crate) struct IdlePlan {
    /// The gateway.
    pub(crate) gateway: GatewayLaunchOptions,
    /// Number of devices, with five tools each.
    pub(crate) devices: usize,
    /// Duration of calls to random devices at each gateway, in seconds.
    pub(crate) seconds: f64,
    /// True to give each device different specs.
    pub(crate) distinct_specs: bool,
}

/// Results of the measurement.
#[derive(Debug, Serialize)]
pub(crate) struct IdleReport {
    pub(crate) devices: usize,
    /// Number of devices that were still connected at the end.
    pub(crate) held: usize,
    pub(crate) tools_per_device: usize,
    pub(crate) distinct_specs: bool,
    /// Time from the first connection to the last registration.
    pub(crate) connect_seconds: f64,
    pub(crate) rss_before_bytes: u64,
    /// Memory with all devices connected and idle.
    pub(crate) rss_after_bytes: u64,
    pub(crate) bytes_per_device: f64,
    /// False if memory still changed when it was read.
    pub(crate) rss_settled: bool,
    /// Memory at the end, after the calls.
    pub(crate) gateway_rss_bytes: u64,
    pub(crate) gateway_peak_rss_bytes: u64,
    pub(crate) calls: usize,
    pub(crate) errors: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Latency at the gateway with ten devices.
    pub(crate) p50_at_10_us: f64,
    pub(crate) p99_at_10_us: f64,
    pub(crate) p50_ratio: f64,
    pub(crate) seconds: f64,
    /// Number of processes with devices.
    pub(crate) processes: usize,
    pub(crate) error_kinds: BTreeMap<String, u64>,
}

/// Runs the measurement.
pub(crate) async fn measure(plan: &IdlePlan) -> Result<IdleReport> {
    if plan.devices == 0 {
        return unexpected("nothing to hold: devices must be more than zero");
    }
    let processes = process_count(plan.devices);
    let settings = plan.gateway.with_connections(plan.devices);
    let (many, few) = (BenchGateway::start(&settings).await?, BenchGateway::start(&settings).await?);
    let mut warm = DeviceTasks::new();
    warm_up(&many, &mut warm).await?;
    warm_up(&few, &mut warm).await?;

    let (before, settled_before) = ProcessMemory::read_settled(many.pid()).await?;
    let started = Instant::now();
    let mut held = DeviceProcesses::connect(&many, plan.devices, processes, plan.distinct_specs).await?;
    let connect_took = started.elapsed();
    log_progress(&format!("{} devices connected in {:.1} s", plan.devices, connect_took.as_secs_f64()));
    let (after, settled_after) = ProcessMemory::read_settled(many.pid()).await?;

    let mut held_few = DeviceProcesses::connect(&few, SMALL_DEVICE_COUNT, processes, false).await?;
    let mut side = random_caller(&many, &held).await?;
    let mut side_few = random_caller(&few, &held_few).await?;
    let length = Duration::from_secs_f64(plan.seconds);
    alternate(&mut side, &mut side_few, length, None, None).await?;

    let (state, state_few) = (held.query_held().await?, held_few.query_held().await?);
    let end = ProcessMemory::read(many.pid())?;
    let (mut figures, figures_few) = (side.into_metrics(), side_few.into_metrics());
    for reason in state.reasons {
        figures.tally.count_error(format!("a device was lost: {reason}"));
    }
    for (kind, count) in figures_few.tally.errors {
        *figures.tally.errors.entry(format!("with ten devices: {kind}")).or_default() += count;
    }
    for reason in state_few.reasons {
        figures.tally.count_error(format!("with ten devices, one was lost: {reason}"));
    }
    many.kill().await?;
    few.kill().await?;
    held.release_all().await?;
    held_few.release_all().await?;
    let growth = after.resident.saturating_sub(before.resident);
    Ok(IdleReport {
        devices: plan.devices,
        held: state.held,
        tools_per_device: APP_TOOLS.len(),
        distinct_specs: plan.distinct_specs,
        connect_seconds: rounded(connect_took.as_secs_f64()),
        rss_before_bytes: before.resident,
        rss_after_bytes: after.resident,
        bytes_per_device: rounded(ratio(growth as f64, plan.devices as f64)),
        rss_settled: settled_before && settled_after,
        gateway_rss_bytes: end.resident,
        gateway_peak_rss_bytes: end.peak,
        calls: figures.latency.count,
        errors: figures.tally.error_count(),
        p50_us: figures.latency.p50_us,
        p99_us: figures.latency.p99_us,
        p50_at_10_us: figures_few.latency.p50_us,
        p99_at_10_us: figures_few.latency.p99_us,
        p50_ratio: rounded(ratio(figures.latency.p50_us, figures_few.latency.p50_us)),
        seconds: plan.seconds,
        processes,
        error_kinds: figures.tally.errors,
    })
}

/// Makes a gateway do everything once, so that later growth is the cost of devices.
async fn warm_up(gateway: &BenchGateway, devices: &mut DeviceTasks) -> Result<()> {
    let names = join_devices(gateway, "warm", 1, false, devices).await?;
    let calls = Arc::new(CallTemplate::new(&names, PAYLOAD));
    let mut side = TargetMeasurement::new(gateway.pid(), open_callers(gateway, 1, &calls).await?);
    side.warm_up(WARM_UP).await?;
    let tally = side.into_metrics().tally;
    match tally.errors.first_key_value() {
        Some((kind, _)) => unexpected(format!("calls to the first device fail: {kind}")),
        None => Ok(()),
    }
}

/// Creates a caller for random devices.
async fn random_caller(gateway: &BenchGateway, held: &DeviceProcesses) -> Result<TargetMeasurement> {
    let names: Vec<_> =
        held.sources.iter().enumerate().map(|(number, source)| full_name(source, number)).collect();
    let calls = Arc::new(CallTemplate::new(&names, PAYLOAD));
    Ok(TargetMeasurement::new(gateway.pid(), open_callers(gateway, 1, &calls).await?))
}
