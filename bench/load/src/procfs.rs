//! Resource usage of a process, from Linux's `/proc`. Other systems give an error.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{ErrorContext, Result, unexpected};

/// Unit of `/proc/PID/stat`: 100 per second on every Linux.
const TICK: Duration = Duration::from_millis(10);
const SETTLE_STEP: Duration = Duration::from_millis(100);
/// Memory is stable when this number of consecutive readings differ by at most [`SETTLE_SLACK`].
const SETTLE_READINGS: usize = 15;
const SETTLE_LIMIT: Duration = Duration::from_secs(20);
const SETTLE_SLACK: u64 = 128 << 10;

/// CPU time of a process at one moment.
#[derive(Debug)]
pub(crate) enum CpuTime {
    /// Nanoseconds per thread, from `schedstat`.
    Threads(HashMap<u32, u64>),
    /// User and system time from `stat`, if the kernel has no `schedstat`; precision 10 ms.
    Ticks(u64),
}

impl CpuTime {
    /// Reads the CPU time.
    pub(crate) fn read(pid: u32) -> Result<Self> {
        match threads(pid) {
            Ok(threads) if threads.values().any(|nanos| *nanos > 0) => Ok(Self::Threads(threads)),
            _ => ticks(pid).map(Self::Ticks),
        }
    }

    /// Returns the CPU time since an earlier moment. The time of threads that have ended in between is lost,
    /// which is negligible: the measured worker threads do not end.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        match (self, earlier) {
            (Self::Threads(now), Self::Threads(before)) => Duration::from_nanos(
                now.iter()
                    .map(|(thread, nanos)| nanos.saturating_sub(before.get(thread).copied().unwrap_or(0)))
                    .sum(),
            ),
            (Self::Ticks(now), Self::Ticks(before)) => {
                TICK.saturating_mul(u32::try_from(now.saturating_sub(*before)).unwrap_or(u32::MAX))
            }
            _ => Duration::ZERO,
        }
    }
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    /// Resident memory (`VmRSS`).
    pub(crate) resident: u64,
    /// Peak resident memory (`VmHWM`).
    pub(crate) peak: u64,
}

impl ProcessMemory {
    /// Reads the memory.
    pub(crate) fn read(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/status");
        let text = std::fs::read_to_string(&path).context(format!("reading {path} (only Linux has it)"))?;
        match (kilobytes(&text, "VmRSS:"), kilobytes(&text, "VmHWM:")) {
            (Some(resident), Some(peak)) => Ok(Self { resident: resident << 10, peak: peak << 10 }),
            _ => unexpected(format!("{path} says nothing of memory; has the process ended?")),
        }
    }

    /// Sets the peak to the present memory.
    pub(crate) fn reset_peak(pid: u32) -> Result<()> {
        let path = format!("/proc/{pid}/clear_refs");
        std::fs::write(&path, "5").context(format!("writing {path} (only Linux has it)"))
    }

    /// Waits until memory is stable, then reads it. The second value is false if it still changed after 20 s.
    pub(crate) async fn read_settled(pid: u32) -> Result<(Self, bool)> {
        let end = Instant::now() + SETTLE_LIMIT;
        let mut last = Vec::<Self>::with_capacity(SETTLE_READINGS);
        loop {
            let now = Self::read(pid)?;
            if last.len() == SETTLE_READINGS {
                last.remove(0);
            }
            last.push(now);
            if last.len() == SETTLE_READINGS && spread(&last) <= SETTLE_SLACK {
                return Ok((now, true));
            }
            if Instant::now() >= end {
                return Ok((now, false));
            }
            sleep(SETTLE_STEP).await;
        }
    }
}

/// Returns the limit of open files of this process.
pub(crate) fn open_file_limit() -> u64 {
    let text = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    soft_limit(&text).unwrap_or(1024)
}

fn soft_limit(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

fn spread(readings: &[ProcessMemory]) -> u64 {
    let residents = readings.iter().map(|memory| memory.resident);
    residents.clone().max().unwrap_or(0) - residents.min().unwrap_or(0)
}

fn kilobytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn threads(pid: u32) -> std::io::Result<HashMap<u32, u64>> {
    let mut all = HashMap::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let entry = entry?;
        let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A thread may end in the meantime.
        if let Ok(text) = std::fs::read_to_string(entry.path().join("schedstat"))
            && let Some(nanos) = text.split_whitespace().next().and_then(|field| field.parse().ok())
        {
            all.insert(thread, nanos);
        }
    }
    Ok(all)
}

fn ticks(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).context(format!("reading {path} (only Linux has it)"))?;
    match user_and_system(&text) {
        Some(ticks) => Ok(ticks),
        None => unexpected(format!("{path} has another form than expected")),
    }
}

/// Fields 14 and 15; the second field is a name in parentheses with arbitrary characters.
fn user_and_system(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests;
