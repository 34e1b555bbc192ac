//! The cost of an idle gateway: the start with a used data folder, the idle memory, and the size on disk.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::process::Command;

use crate::caller::CallTemplate;
use crate::connections::{DeviceTasks, join_devices, open_callers};
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::{BenchGateway, GatewayLaunchOptions, create_data_folder};
use crate::procfs::ProcessMemory;
use crate::stats::{median, rounded};
use crate::target_measurement::TargetMeasurement;

const PAYLOAD: usize = 64;
const USED_FOR: Duration = Duration::from_millis(500);

/// Results of the measurement.
#[derive(Debug, Serialize)]
pub(crate) struct StartReport {
    pub(crate) starts: usize,
    /// Median time from starting the process to status 200 on `/health`.
    pub(crate) start_ms: f64,
    pub(crate) slowest_start_ms: f64,
    /// Stable memory without devices.
    pub(crate) idle_rss_bytes: u64,
    /// False if memory still changed when it was read.
    pub(crate) rss_settled: bool,
    /// Size of the stripped binary, or of the binary itself if there is no `strip`.
    pub(crate) binary_bytes: u64,
}

/// Starts the gateway `starts` times.
pub(crate) async fn measure(settings: &GatewayLaunchOptions, starts: usize) -> Result<StartReport> {
    let mut folder = Some(create_used_folder(BenchGateway::start(settings).await?).await?);
    let mut took = Vec::new();
    let mut idle = None;
    for number in 0..starts {
        let Some(existing) = folder.take() else { return unexpected("the data folder was lost") };
        let gateway = BenchGateway::start_in(settings, existing).await?;
        took.push(gateway.start_duration.as_secs_f64() * 1e3);
        if number + 1 == starts {
            idle = Some(ProcessMemory::read_settled(gateway.pid()).await?);
        }
        folder = Some(gateway.terminate().await?);
    }
    let Some((idle, rss_settled)) = idle else { return unexpected("nothing to measure: no starts") };
    let slowest = took.iter().copied().fold(0.0, f64::max);
    Ok(StartReport {
        starts,
        start_ms: rounded(median(took)),
        slowest_start_ms: rounded(slowest),
        idle_rss_bytes: idle.resident,
        rss_settled,
        binary_bytes: stripped_size(&settings.path).await?,
    })
}

/// Creates a used data folder: some devices, some thousand calls.
async fn create_used_folder(gateway: BenchGateway) -> Result<tempfile::TempDir> {
    let mut devices = DeviceTasks::new();
    let names = join_devices(&gateway, "used", 4, false, &mut devices).await?;
    let calls = Arc::new(CallTemplate::new(&names, PAYLOAD));
    let mut side = TargetMeasurement::new(gateway.pid(), open_callers(&gateway, 4, &calls).await?);
    side.run_slice(USED_FOR, None, None).await?;
    if let Some((kind, _)) = side.into_metrics().tally.errors.first_key_value() {
        return unexpected(format!("calls fail: {kind}"));
    }
    devices.shutdown().await;
    gateway.terminate().await
}

async fn stripped_size(path: &Path) -> Result<u64> {
    let folder = create_data_folder()?;
    let copy = folder.path().join("stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&copy).arg(path).stderr(Stdio::null());
    let stripped = strip.status().await.is_ok_and(|status| status.success());
    let measured = if stripped { &copy } else { path };
    let what = format!("measuring {}", measured.display());
    Ok(std::fs::metadata(measured).context(what)?.len())
}
