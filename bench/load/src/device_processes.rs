//! Devices in separate processes of the harness, because one process may not have enough open files for ten
//! thousand sockets. The parent sends one line with the devices; the child connects them, reports their
//! number on request, and ends with its standard input.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::device::{BenchDevice, BenchDeviceIdentity};
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::{BenchGateway, SOURCES_PER_TOKEN, create_data_folder};
use crate::output::print_line;
use crate::process::{ChildProcess, ChildProgram};
use crate::tool_specs::app_frame;

/// Maximum number of sockets of one process.
const SOCKETS_PER_PROCESS: usize = 4000;
/// Number of parallel connection attempts in one process.
const CONNECT_CONCURRENCY: usize = 32;
const CONNECT_LIMIT: Duration = Duration::from_secs(300);
const STATE_LIMIT: Duration = Duration::from_secs(30);

/// The devices of one process.
#[derive(Debug, Serialize, Deserialize)]
struct HoldRequest {
    authority: String,
    /// Number of the first device.
    first: usize,
    count: usize,
    /// The token of device `n` is at `n / SOURCES_PER_TOKEN - first / SOURCES_PER_TOKEN`.
    tokens: Vec<String>,
    distinct: bool,
}

/// Message of a process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum HolderEvent {
    Held { sources: Vec<String> },
    State { held: usize, reasons: Vec<String> },
    Failed { reason: String },
}

/// Devices in other processes.
#[derive(Debug)]
pub(crate) struct DeviceProcesses {
    processes: Vec<ChildProcess>,
    /// Slugs by the devices' numbers.
    pub(crate) sources: Vec<String>,
    // Kept while the processes write there.
    logs: TempDir,
}

/// Number of connected devices, and reasons why the others disconnected.
#[derive(Debug, Default)]
pub(crate) struct HeldDevices {
    /// Number of connected devices.
    pub(crate) held: usize,
    /// One reason for each process with lost devices.
    pub(crate) reasons: Vec<String>,
}

/// Returns the number of processes for this number of devices.
pub(crate) fn process_count(devices: usize) -> usize {
    devices.div_ceil(SOCKETS_PER_PROCESS).max(1)
}

/// Splits `total` evenly into at most `parts`, at boundaries between tokens. Returns start and count of each.
fn split_evenly(total: usize, parts: usize) -> Vec<(usize, usize)> {
    let tokens_each = total.div_ceil(SOURCES_PER_TOKEN).div_ceil(parts.max(1)).max(1);
    let each = tokens_each * SOURCES_PER_TOKEN;
    (0..total).step_by(each).map(|first| (first, each.min(total - first))).collect()
}

impl DeviceProcesses {
    /// Connects `count` devices with an app's tools to `gateway`, from at most `processes` processes.
    pub(crate) async fn connect(
        gateway: &BenchGateway,
        count: usize,
        processes: usize,
        distinct: bool,
    ) -> Result<Self> {
        let tokens = gateway.create_device_tokens(count).await?;
        let logs = create_data_folder()?;
        let mut held = Self { processes: Vec::new(), sources: Vec::new(), logs };
        for (first, count) in split_evenly(count, processes) {
            let mut tokens: Vec<_> = tokens.iter().skip(first / SOURCES_PER_TOKEN).cloned().collect();
            tokens.truncate(count.div_ceil(SOURCES_PER_TOKEN));
            let files = u64::try_from(count + 200).unwrap_or(u64::MAX);
            let mut process = ChildProcess::start(&ChildProgram::current_harness(
                "devices",
                &["devices"],
                held.logs.path(),
                files,
            )?)?;
            let job = HoldRequest { authority: gateway.authority.clone(), first, count, tokens, distinct };
            process.send_line(&serde_json::to_string(&job).context("writing what to hold")?).await?;
            held.processes.push(process);
        }
        for process in &mut held.processes {
            match process.next_event(CONNECT_LIMIT).await? {
                HolderEvent::Held { sources } => held.sources.extend(sources),
                HolderEvent::Failed { reason } => {
                    return unexpected(format!("connecting {count} devices: {reason}"));
                }
                HolderEvent::State { .. } => return unexpected("a process spoke out of turn"),
            }
        }
        Ok(held)
    }

    /// Queries the number of connected devices.
    pub(crate) async fn query_held(&mut self) -> Result<HeldDevices> {
        let mut total = HeldDevices::default();
        for process in &mut self.processes {
            process.send_line("state").await?;
            match process.next_event(STATE_LIMIT).await? {
                HolderEvent::State { held, reasons } => {
                    total.held += held;
                    total.reasons.extend(reasons);
                }
                other => return unexpected(format!("a process spoke out of turn: {other:?}")),
            }
        }
        Ok(total)
    }

    /// Disconnects all devices.
    pub(crate) async fn release_all(self) -> Result<()> {
        for process in self.processes {
            process.kill().await?;
        }
        Ok(())
    }
}

/// Runs the child process: holds its devices until standard input ends.
pub(crate) async fn run_device_process() -> Result<()> {
    let mut lines = crate::input_lines::input_lines();
    let Some(line) = lines.recv().await else { return Ok(()) };
    let job: HoldRequest = serde_json::from_str(&line).context("reading what to hold")?;
    let devices = match connect_all(&job).await {
        Ok(devices) => devices,
        Err(failure) => return print_event(&HolderEvent::Failed { reason: failure.to_string() }),
    };
    let sources = devices.iter().map(|device| device.source.clone()).collect();
    let mut serving = JoinSet::new();
    for device in devices {
        serving.spawn(device.serve());
    }
    print_event(&HolderEvent::Held { sources })?;
    let mut reasons = Vec::new();
    while lines.recv().await.is_some() {
        while let Some(ended) = serving.try_join_next() {
            reasons.push(ended.unwrap_or_else(|error| error.to_string()));
        }
        let held = serving.len();
        print_event(&HolderEvent::State { held, reasons: reasons.iter().take(1).cloned().collect() })?;
    }
    Ok(())
}

async fn connect_all(job: &HoldRequest) -> Result<Vec<BenchDevice>> {
    let same: Utf8Bytes = app_frame(None).into();
    let joining = (0..job.count).map(|offset| {
        let number = job.first + offset;
        let token = job.tokens.get(offset / SOURCES_PER_TOKEN).cloned().unwrap_or_default();
        let frame = if job.distinct { app_frame(Some(number)).into() } else { same.clone() };
        async move {
            BenchDevice::join(
                &job.authority,
                &BenchDeviceIdentity { token, id: format!("phone-{number}") },
                frame,
            )
            .await
        }
    });
    stream::iter(joining).buffered(CONNECT_CONCURRENCY).try_collect().await
}

fn print_event(said: &HolderEvent) -> Result<()> {
    print_line(&serde_json::to_string(said).context("writing to the parent")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_and_split_no_token() {
        for (total, parts) in [(10, 3), (2000, 1), (10_000, 3), (1, 4), (8, 8)] {
            let shares = split_evenly(total, parts);
            assert!(shares.len() <= parts, "{total} in {parts}: {shares:?}");
            assert!(shares.iter().all(|(first, _)| first % SOURCES_PER_TOKEN == 0), "{shares:?}");
            assert_eq!(shares.iter().map(|(_, count)| count).sum::<usize>(), total);
        }
    }

    #[test]
    fn no_process_holds_more_sockets_than_it_may() {
        assert_eq!((process_count(2000), process_count(4000), process_count(10_000)), (1, 1, 3));
        assert!(
            split_evenly(10_000, process_count(10_000))
                .iter()
                .all(|(_, count)| *count <= SOCKETS_PER_PROCESS)
        );
    }
}
