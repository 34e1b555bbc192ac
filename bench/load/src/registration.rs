//! One device that registers very many tools at once: duration and memory.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::device::{BenchDevice, BenchDeviceIdentity};
use crate::error::{Result, unexpected};
use crate::gateway::{BenchGateway, GatewayLaunchOptions};
use crate::procfs::ProcessMemory;
use crate::stats::{median, rounded};
use crate::tool_specs::{app_frame, bulk_frame};

const TOOLS: usize = 600;
const BYTES: usize = 1_100_000;

/// Results: medians over several new gateways.
#[derive(Debug, Serialize)]
pub(crate) struct RegisterReport {
    /// True if all schemas differ.
    pub(crate) distinct_specs: bool,
    pub(crate) tools: usize,
    /// Size of the frame.
    pub(crate) bytes: usize,
    /// Time from sending the frame to `tools_registered`.
    pub(crate) register_ms: f64,
    /// Growth of the gateway's stable memory.
    pub(crate) rss_growth_bytes: f64,
    /// Growth of its peak memory.
    pub(crate) peak_growth_bytes: f64,
    /// False if memory still changed when it was read.
    pub(crate) rss_settled: bool,
    pub(crate) rounds: usize,
}

/// Registers at `rounds` new gateways, one after the other.
pub(crate) async fn measure(
    settings: &GatewayLaunchOptions,
    distinct: bool,
    rounds: usize,
) -> Result<RegisterReport> {
    let frame = bulk_frame(TOOLS, BYTES, distinct);
    let (mut took, mut growth, mut peak, mut settled) = (Vec::new(), Vec::new(), Vec::new(), true);
    for _ in 0..rounds {
        let round = register_once(settings, &frame).await?;
        took.push(round.duration.as_secs_f64() * 1e3);
        growth.push(round.growth as f64);
        peak.push(round.peak_growth as f64);
        settled &= round.settled;
    }
    Ok(RegisterReport {
        distinct_specs: distinct,
        tools: TOOLS,
        bytes: frame.len(),
        register_ms: rounded(median(took)),
        rss_growth_bytes: median(growth),
        peak_growth_bytes: median(peak),
        rss_settled: settled,
        rounds,
    })
}

struct RegisterSample {
    duration: Duration,
    growth: u64,
    peak_growth: u64,
    settled: bool,
}

async fn register_once(settings: &GatewayLaunchOptions, frame: &str) -> Result<RegisterSample> {
    let gateway = BenchGateway::start(settings).await?;
    let token = gateway.create_device_tokens(1).await?.into_iter().next().unwrap_or_default();
    let identity = BenchDeviceIdentity { token, id: "bulk".to_owned() };
    let mut device = BenchDevice::connect(&gateway.authority, &identity).await?;
    // A few tools first, so that one-time costs of the gateway do not count.
    device.register(app_frame(None).into()).await?;
    let (before, settled_before) = ProcessMemory::read_settled(gateway.pid()).await?;
    let sent = Instant::now();
    let answer = device.register(frame.to_owned().into()).await?;
    let took = sent.elapsed();
    if answer.registered != TOOLS {
        return unexpected(format!("of {TOOLS} tools, {} were registered", answer.registered));
    }
    let (after, settled_after) = ProcessMemory::read_settled(gateway.pid()).await?;
    device.leave().await?;
    gateway.kill().await?;
    Ok(RegisterSample {
        duration: took,
        growth: after.resident.saturating_sub(before.resident),
        peak_growth: after.peak.saturating_sub(before.resident),
        settled: settled_before && settled_after,
    })
}
