//! Many devices held: what one costs in memory, and whether a call to any of them is slower for there being so
//! many. Beside the gateway that holds them all stands a second one that holds ten; calls alternate between the
//! two. Devices live in processes of their own, as many for the ten as for the many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::caller::Calls;
use crate::error::{Result, unexpected};
use crate::gateway::{Gateway, Settings};
use crate::held::{Held, processes_for};
use crate::procfs::Memory;
use crate::report::note;
use crate::side::Side;
use crate::specs::APP_TOOLS;
use crate::stage::{Devices, full_name, join_devices, open_callers};
use crate::stats::{ratio, rounded};
use crate::turns::alternate;

/// How many devices the second gateway holds.
const FEW: usize = 10;
/// What a call carries.
const PAYLOAD: usize = 64;
const WARM_UP: Duration = Duration::from_millis(300);

/// What to hold.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The gateway.
    pub(crate) gateway: Settings,
    /// How many devices, with five tools each.
    pub(crate) devices: usize,
    /// How long calls to random devices are measured, at each gateway.
    pub(crate) seconds: f64,
    /// Whether no two devices offer the same specs.
    pub(crate) distinct_specs: bool,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct IdleReport {
    pub(crate) devices: usize,
    /// Still connected at the end.
    pub(crate) held: usize,
    pub(crate) tools_per_device: usize,
    pub(crate) distinct_specs: bool,
    /// From the first connection to the last registration.
    pub(crate) connect_seconds: f64,
    pub(crate) rss_before_bytes: u64,
    /// With all devices connected and silent.
    pub(crate) rss_after_bytes: u64,
    pub(crate) bytes_per_device: f64,
    /// False where memory still moved when it was read.
    pub(crate) rss_settled: bool,
    /// At the end, after the calls.
    pub(crate) gateway_rss_bytes: u64,
    pub(crate) gateway_peak_rss_bytes: u64,
    pub(crate) calls: usize,
    pub(crate) errors: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// The same of the gateway that holds ten.
    pub(crate) p50_at_10_us: f64,
    pub(crate) p99_at_10_us: f64,
    pub(crate) p50_ratio: f64,
    pub(crate) seconds: f64,
    /// Processes that held the devices.
    pub(crate) processes: usize,
    pub(crate) error_kinds: BTreeMap<String, u64>,
}

/// Holds, measures, lets go.
pub(crate) async fn measure(plan: &Plan) -> Result<IdleReport> {
    if plan.devices == 0 {
        return unexpected("nothing to hold: devices must be more than zero");
    }
    let processes = processes_for(plan.devices);
    let settings = plan.gateway.holding(plan.devices);
    let (many, few) = (Gateway::start(&settings).await?, Gateway::start(&settings).await?);
    let mut warm = Devices::new();
    warm_up(&many, &mut warm).await?;
    warm_up(&few, &mut warm).await?;

    let (before, settled_before) = Memory::settled(many.pid()).await?;
    let started = Instant::now();
    let mut held = Held::connect(&many, plan.devices, processes, plan.distinct_specs).await?;
    let connect_took = started.elapsed();
    note(&format!("{} devices connected in {:.1} s", plan.devices, connect_took.as_secs_f64()));
    let (after, settled_after) = Memory::settled(many.pid()).await?;

    let mut held_few = Held::connect(&few, FEW, processes, false).await?;
    let mut side = random_caller(&many, &held).await?;
    let mut side_few = random_caller(&few, &held_few).await?;
    let length = Duration::from_secs_f64(plan.seconds);
    alternate(&mut side, &mut side_few, length, None, None).await?;

    let (state, state_few) = (held.state().await?, held_few.state().await?);
    let end = Memory::of(many.pid())?;
    let (mut figures, figures_few) = (side.figures(), side_few.figures());
    for reason in state.reasons {
        figures.tally.error(format!("a device was lost: {reason}"));
    }
    for (kind, count) in figures_few.tally.errors {
        *figures.tally.errors.entry(format!("with ten devices: {kind}")).or_default() += count;
    }
    for reason in state_few.reasons {
        figures.tally.error(format!("with ten devices, one was lost: {reason}"));
    }
    many.kill().await?;
    few.kill().await?;
    held.release().await?;
    held_few.release().await?;
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

/// Has a gateway do once all that it will do, so that what it grows by later is what devices cost.
async fn warm_up(gateway: &Gateway, devices: &mut Devices) -> Result<()> {
    let names = join_devices(gateway, "warm", 1, false, devices).await?;
    let calls = Arc::new(Calls::new(&names, PAYLOAD));
    let mut side = Side::new(gateway.pid(), open_callers(gateway, 1, &calls).await?);
    side.warm_up(WARM_UP).await?;
    let tally = side.figures().tally;
    match tally.errors.first_key_value() {
        Some((kind, _)) => unexpected(format!("calls to the first device fail: {kind}")),
        None => Ok(()),
    }
}

/// One caller, of random devices among those held.
async fn random_caller(gateway: &Gateway, held: &Held) -> Result<Side> {
    let names: Vec<_> =
        held.sources.iter().enumerate().map(|(number, source)| full_name(source, number)).collect();
    let calls = Arc::new(Calls::new(&names, PAYLOAD));
    Ok(Side::new(gateway.pid(), open_callers(gateway, 1, &calls).await?))
}
