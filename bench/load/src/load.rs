//! The main measurement: devices and callers on a gateway and, in the same run, as many callers on the bare
//! relay.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::caller::{CallTally, CallTemplate};
use crate::churn::DeviceChurn;
use crate::connections::{DeviceTasks, full_name, join_devices, open_callers, open_pairs};
use crate::error::{Result, unexpected};
use crate::gateway::{BenchGateway, GatewayLaunchOptions};
use crate::procfs::{ProcessMemory, open_file_limit};
use crate::relay::RelayProcess;
use crate::rounds::{RoundRatios, alternate, range};
use crate::stats::{ratio, rounded};
use crate::target_measurement::{TargetMeasurement, TargetMetrics};
use crate::tool_specs::app_frame;

/// Sockets of the harness other than devices and callers: churn, children, `/proc`.
const OTHER_FILES: usize = 200;

/// Options of the measurement.
#[derive(Debug, Clone)]
pub(crate) struct LoadPlan {
    /// The gateway; absent to compare the relay with itself, which shows the random deviation.
    pub(crate) gateway: Option<GatewayLaunchOptions>,
    /// Runtime workers of the relay if the gateway does not report its own.
    pub(crate) workers: Option<usize>,
    /// Number of devices, with five tools each.
    pub(crate) devices: usize,
    /// Number of callers.
    pub(crate) callers: usize,
    /// Duration of the measurement of each side, in seconds.
    pub(crate) seconds: f64,
    /// Calls per second of all callers; as fast as they are answered if absent.
    pub(crate) rate: Option<f64>,
    /// Bytes of text to the device and back.
    pub(crate) payload: usize,
    /// Number of further devices per second that connect and disconnect.
    pub(crate) churn: Option<f64>,
    /// True to give each device different specs.
    pub(crate) distinct_specs: bool,
}

/// Results. Ratios are gateway ÷ relay over all slices; ranges are over the rounds of slices.
#[derive(Debug, Serialize)]
pub(crate) struct LoadReport {
    pub(crate) calls: usize,
    pub(crate) errors: u64,
    pub(crate) calls_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    pub(crate) relay_calls: usize,
    pub(crate) relay_errors: u64,
    pub(crate) relay_calls_per_s: f64,
    pub(crate) relay_p50_us: f64,
    pub(crate) relay_p90_us: f64,
    pub(crate) relay_p99_us: f64,
    pub(crate) relay_max_us: f64,
    pub(crate) p50_ratio: f64,
    pub(crate) calls_per_s_ratio: f64,
    pub(crate) cpu_ratio: f64,
    pub(crate) p50_ratio_range: [f64; 2],
    pub(crate) calls_per_s_ratio_range: [f64; 2],
    pub(crate) cpu_ratio_range: [f64; 2],
    pub(crate) gateway_cpu_us_per_call: f64,
    pub(crate) relay_cpu_us_per_call: f64,
    /// CPU time of devices and callers during the gateway's slices; they share one thread.
    pub(crate) harness_cpu_us_per_call: f64,
    pub(crate) gateway_rss_bytes: u64,
    pub(crate) gateway_peak_rss_bytes: u64,
    pub(crate) relay_rss_bytes: u64,
    pub(crate) devices: usize,
    pub(crate) callers: usize,
    pub(crate) seconds: f64,
    pub(crate) rate: Option<f64>,
    pub(crate) payload_bytes: usize,
    pub(crate) distinct_specs: bool,
    pub(crate) churn_per_s: Option<f64>,
    /// Number of devices that connected and disconnected, and their registration times.
    pub(crate) reconnects: usize,
    pub(crate) reconnect_p50_us: f64,
    pub(crate) reconnect_p99_us: f64,
    /// Runtime workers of the relay, and the source of this number.
    pub(crate) workers: usize,
    pub(crate) workers_from: WorkerCountSource,
    pub(crate) error_kinds: BTreeMap<String, u64>,
    pub(crate) relay_error_kinds: BTreeMap<String, u64>,
}

/// Source of the relay's number of runtime workers, which should be that of the gateway.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkerCountSource {
    /// The gateway's status.
    Gateway,
    /// The command line; the gateway got the same number.
    Argument,
    /// The gateway's default: half of the processors.
    Default,
}

impl WorkerCountSource {
    /// Returns a description for people.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Gateway => "as the gateway has",
            Self::Argument => "as the gateway was told",
            Self::Default => "half the processors, the gateway's default",
        }
    }
}

/// The target that is compared with the relay.
enum LoadTarget {
    Gateway(BenchGateway),
    Relay(RelayProcess),
}

impl LoadTarget {
    async fn start(plan: &LoadPlan) -> Result<Self> {
        match &plan.gateway {
            Some(settings) => {
                let settings = settings.with_connections(plan.devices + plan.callers);
                BenchGateway::start(&settings).await.map(Self::Gateway)
            }
            None => {
                let workers = plan.workers.unwrap_or_else(default_workers);
                RelayProcess::start(workers, plan.callers).await.map(Self::Relay)
            }
        }
    }

    fn pid(&self) -> u32 {
        match self {
            Self::Gateway(gateway) => gateway.pid(),
            Self::Relay(relay) => relay.pid(),
        }
    }

    async fn workers(&self, plan: &LoadPlan) -> (usize, WorkerCountSource) {
        let said = match self {
            Self::Gateway(gateway) => gateway.workers().await,
            Self::Relay(_) => None,
        };
        match (said, plan.workers) {
            (Some(said), _) => (said, WorkerCountSource::Gateway),
            (None, Some(told)) => (told, WorkerCountSource::Argument),
            (None, None) => (default_workers(), WorkerCountSource::Default),
        }
    }

    async fn tool_names(&self, plan: &LoadPlan, devices: &mut DeviceTasks) -> Result<Vec<String>> {
        match self {
            Self::Gateway(gateway) => {
                join_devices(gateway, "load", plan.devices, plan.distinct_specs, devices).await
            }
            Self::Relay(_) => Ok((0..plan.devices).map(|number| full_name("load", number)).collect()),
        }
    }

    async fn open_measurement(
        &self,
        plan: &LoadPlan,
        calls: &Arc<CallTemplate>,
        devices: &mut DeviceTasks,
    ) -> Result<TargetMeasurement> {
        let callers = match self {
            Self::Gateway(gateway) => open_callers(gateway, plan.callers, calls).await?,
            Self::Relay(relay) => open_pairs(relay, plan.callers, calls, devices).await?,
        };
        Ok(TargetMeasurement::new(self.pid(), callers))
    }

    async fn start_churn(&self, plan: &LoadPlan) -> Result<Option<DeviceChurn>> {
        match (self, plan.churn) {
            (Self::Gateway(gateway), Some(per_s)) => {
                DeviceChurn::new(gateway, per_s, app_frame(None).into()).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    async fn kill(self) -> Result<()> {
        match self {
            Self::Gateway(gateway) => gateway.kill().await,
            Self::Relay(relay) => relay.kill().await,
        }
    }
}

/// Returns the gateway's default: half of the processors, at least one.
pub(crate) fn default_workers() -> usize {
    (std::thread::available_parallelism().map_or(1, NonZero::get) / 2).max(1)
}

/// Runs the measurement.
pub(crate) async fn measure(plan: &LoadPlan) -> Result<LoadReport> {
    validate_plan(plan)?;
    let mut devices = DeviceTasks::new();
    let subject = LoadTarget::start(plan).await?;
    let workers = subject.workers(plan).await;
    let relay = RelayProcess::start(workers.0, plan.callers).await?;

    let names = subject.tool_names(plan, &mut devices).await?;
    let calls = Arc::new(CallTemplate::new(&names, plan.payload));
    let mut side = subject.open_measurement(plan, &calls, &mut devices).await?;
    let mut relay_side =
        TargetMeasurement::new(relay.pid(), open_pairs(&relay, plan.callers, &calls, &mut devices).await?);
    let churn = subject.start_churn(plan).await?;

    let length = Duration::from_secs_f64(plan.seconds);
    let rounds = alternate(&mut side, &mut relay_side, length, plan.rate, churn.as_ref()).await?;

    let memory = [ProcessMemory::read(subject.pid())?, ProcessMemory::read(relay.pid())?];
    let mut figures = [side.into_metrics(), relay_side.into_metrics()];
    let came = churn.map(|churn| churn.take_tally()).unwrap_or_default();
    let [measured, _] = &mut figures;
    measured.tally.errors.extend(came.errors.clone());
    while let Some(ended) = devices.try_join_next() {
        let why = ended.unwrap_or_else(|error| error.to_string());
        measured.tally.count_error(format!("a device was lost: {why}"));
    }
    subject.kill().await?;
    relay.kill().await?;
    Ok(build_report(plan, workers, figures, memory, &rounds, came))
}

fn validate_plan(plan: &LoadPlan) -> Result<()> {
    if plan.devices == 0 || plan.callers == 0 || !plan.seconds.is_normal() || plan.seconds < 0.0 {
        return unexpected("nothing to measure: devices, callers and seconds must be more than zero");
    }
    let files = u64::try_from(plan.devices + 3 * plan.callers + OTHER_FILES).unwrap_or(u64::MAX);
    let limit = open_file_limit();
    if files > limit {
        return unexpected(format!(
            "this needs {files} open files and a process may have {limit}: use fewer, raise the limit (ulimit -n), \
             or measure with --idle, which spreads devices over several processes"
        ));
    }
    Ok(())
}

fn build_report(
    plan: &LoadPlan,
    (workers, workers_from): (usize, WorkerCountSource),
    [gateway, relay]: [TargetMetrics; 2],
    [memory, relay_memory]: [ProcessMemory; 2],
    rounds: &[RoundRatios],
    mut came: CallTally,
) -> LoadReport {
    let reconnects = came.latencies.summary();
    let rounded_range = |of: fn(&RoundRatios) -> f64| range(rounds, of).map(rounded);
    LoadReport {
        calls: gateway.latency.count,
        errors: gateway.tally.error_count(),
        calls_per_s: rounded(gateway.calls_per_s),
        p50_us: gateway.latency.p50_us,
        p90_us: gateway.latency.p90_us,
        p99_us: gateway.latency.p99_us,
        max_us: gateway.latency.max_us,
        relay_calls: relay.latency.count,
        relay_errors: relay.tally.error_count(),
        relay_calls_per_s: rounded(relay.calls_per_s),
        relay_p50_us: relay.latency.p50_us,
        relay_p90_us: relay.latency.p90_us,
        relay_p99_us: relay.latency.p99_us,
        relay_max_us: relay.latency.max_us,
        p50_ratio: rounded(ratio(gateway.latency.p50_us, relay.latency.p50_us)),
        calls_per_s_ratio: rounded(ratio(gateway.calls_per_s, relay.calls_per_s)),
        cpu_ratio: rounded(ratio(gateway.cpu_us_per_call, relay.cpu_us_per_call)),
        p50_ratio_range: rounded_range(|round| round.p50),
        calls_per_s_ratio_range: rounded_range(|round| round.calls_per_s),
        cpu_ratio_range: rounded_range(|round| round.cpu),
        gateway_cpu_us_per_call: rounded(gateway.cpu_us_per_call),
        relay_cpu_us_per_call: rounded(relay.cpu_us_per_call),
        harness_cpu_us_per_call: rounded(gateway.own_cpu_us_per_call),
        gateway_rss_bytes: memory.resident,
        gateway_peak_rss_bytes: memory.peak,
        relay_rss_bytes: relay_memory.resident,
        devices: plan.devices,
        callers: plan.callers,
        seconds: plan.seconds,
        rate: plan.rate,
        payload_bytes: plan.payload,
        distinct_specs: plan.distinct_specs,
        churn_per_s: plan.churn,
        reconnects: reconnects.count,
        reconnect_p50_us: reconnects.p50_us,
        reconnect_p99_us: reconnects.p99_us,
        workers,
        workers_from,
        error_kinds: gateway.tally.errors,
        relay_error_kinds: relay.tally.errors,
    }
}
