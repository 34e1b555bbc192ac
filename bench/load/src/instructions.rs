//! Counts the instructions of a call with callgrind, a tool of valgrind that runs the gateway. Unlike a time, the
//! count hardly depends on the machine or on other programs, so it shows small changes. It does not include the kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::args::PAYLOAD;
use crate::caller::{BenchCaller, CallTally, CallTemplate};
use crate::connections::{DeviceTasks, join_devices, open_callers};
use crate::error::{ErrorContext, Result, unexpected, with_timeout};
use crate::gateway::{BenchGateway, GatewayLaunchOptions, create_data_folder};
use crate::output::{BenchReport, append_errors};
use crate::stats::{LatencySamples, ratio};

/// Calls in flight.
const CALLERS: usize = 64;
const DEVICES: usize = 8;
/// Calls per caller before the count starts, so that caches and prepared statements are ready.
const WARM_UP_CALLS: usize = 4;
/// Counted calls per caller: 1,024 in all.
const COUNTED_CALLS: usize = 16;
/// Maximum duration of a step. Callgrind runs a program about fifty times slower.
const STEP_LIMIT: Duration = Duration::from_secs(120);
/// Callgrind's output file. Callgrind appends the number of the dump.
const PROFILE_NAME: &str = "callgrind.out";

/// More instructions per call than this multiple of the earlier count are a regression.
const MAX_GROWTH: f64 = 1.03;

/// Result of the count.
#[derive(Debug, Serialize)]
pub(crate) struct InstructionReport {
    /// Number of counted calls.
    pub(crate) calls: usize,
    /// Instructions of all threads of the gateway per call.
    pub(crate) instructions_per_call: u64,
    /// Earlier count for the same compiler, if there is one.
    pub(crate) baseline: Option<u64>,
    /// Failed calls by error.
    pub(crate) errors: BTreeMap<String, u64>,
}

/// Counts the instructions of calls to devices. Copies the profile, which `callgrind_annotate` reads, to
/// `profile_copy`.
pub(crate) async fn measure(
    settings: &GatewayLaunchOptions,
    profile_copy: Option<&Path>,
) -> Result<InstructionReport> {
    let folder = create_data_folder()?;
    let profile = folder.path().join(PROFILE_NAME);
    let gateway = BenchGateway::start_in(&under_callgrind(settings, &profile), folder).await?;
    let mut devices = DeviceTasks::new();
    let names = join_devices(&gateway, "load", DEVICES, false, &mut devices).await?;
    let calls = Arc::new(CallTemplate::new(&names, PAYLOAD));
    let callers = open_callers(&gateway, CALLERS, &calls).await?;

    let mut tally = CallTally::default();
    let callers = run_calls(callers, WARM_UP_CALLS, &mut tally).await?;
    tally.latencies = LatencySamples::default();
    // Nothing is counted before, because callgrind starts switched off.
    control_callgrind(gateway.pid(), &["--instr=on"]).await?;
    run_calls(callers, COUNTED_CALLS, &mut tally).await?;
    control_callgrind(gateway.pid(), &["--dump"]).await?;

    let dumped = profile.with_extension("out.1");
    let text = std::fs::read_to_string(&dumped).context("reading the profile")?;
    if let Some(copy) = profile_copy {
        std::fs::write(copy, &text).context(format!("writing {}", copy.display()))?;
    }
    gateway.kill().await?;
    let calls = tally.latencies.summary().count;
    let per_call = instruction_count(&text)? / u64::try_from(calls).unwrap_or(u64::MAX).max(1);
    Ok(InstructionReport { calls, instructions_per_call: per_call, baseline: None, errors: tally.errors })
}

/// Earlier counts, by compiler and target.
type Baselines = BTreeMap<String, u64>;

impl InstructionReport {
    /// Compares the count with the one for `compiler` in a file of earlier counts. With `update`, writes it there.
    pub(crate) fn compare(&mut self, file: &Path, compiler: &str, update: bool) -> Result<()> {
        let what = || file.display().to_string();
        let text = std::fs::read_to_string(file).context(what())?;
        let mut baselines: Baselines = serde_json::from_str(&text).context(what())?;
        if !update {
            self.baseline = baselines.get(compiler).copied();
            return Ok(());
        }
        baselines.insert(compiler.to_owned(), self.instructions_per_call);
        self.baseline = Some(self.instructions_per_call);
        let text = serde_json::to_string_pretty(&baselines).context(what())?;
        std::fs::write(file, format!("{text}\n")).context(what())
    }

    fn growth(&self) -> Option<f64> {
        self.baseline.map(|baseline| ratio(self.instructions_per_call as f64, baseline as f64))
    }
}

/// Runs the gateway with callgrind and, unless chosen otherwise, with one worker, because the number of wake-ups
/// between workers is random.
fn under_callgrind(settings: &GatewayLaunchOptions, profile: &Path) -> GatewayLaunchOptions {
    let wrapper = [
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        "--instr-atstart=no".to_owned(),
        format!("--callgrind-out-file={}", profile.display()),
    ];
    GatewayLaunchOptions {
        workers: settings.workers.or(Some(1)),
        wrapper: wrapper.to_vec(),
        ..settings.clone()
    }
}

/// Makes `count` calls on each of the callers at the same time.
async fn run_calls(
    callers: Vec<BenchCaller>,
    count: usize,
    tally: &mut CallTally,
) -> Result<Vec<BenchCaller>> {
    let mut running = JoinSet::new();
    for mut caller in callers {
        running.spawn(async move {
            let mut tally = CallTally::default();
            caller.make_calls(count, &mut tally).await;
            (caller, tally)
        });
    }
    let ended = with_timeout(STEP_LIMIT, "calling", async { Ok(running.join_all().await) }).await?;
    Ok(ended
        .into_iter()
        .map(|(caller, its)| {
            tally.append(its);
            caller
        })
        .collect())
}

async fn control_callgrind(pid: u32, arguments: &[&str]) -> Result<()> {
    let what = format!("callgrind_control {}", arguments.join(" "));
    let run = Command::new("callgrind_control").args(arguments).arg(pid.to_string()).output();
    let output = with_timeout(STEP_LIMIT, &what, async { run.await.context(&what) }).await?;
    if output.status.success() {
        return Ok(());
    }
    unexpected(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Returns the number of instructions in a profile.
fn instruction_count(profile: &str) -> Result<u64> {
    let total = profile.lines().find_map(|line| line.strip_prefix("totals: "));
    match total.map(|total| total.trim().parse()) {
        Some(Ok(count)) => Ok(count),
        _ => unexpected("the profile has no line `totals:` with a number"),
    }
}

impl BenchReport for InstructionReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} instructions per call ({} calls, {CALLERS} in flight, {DEVICES} devices)\n",
            self.instructions_per_call, self.calls
        );
        if let Some(growth) = self.growth() {
            let _ = writeln!(text, "{growth:.3} × the earlier count; at most {MAX_GROWTH} × is allowed");
        }
        append_errors(&mut text, "gateway", &self.errors);
        text
    }

    fn is_valid(&self) -> bool {
        self.calls == CALLERS * COUNTED_CALLS
            && self.errors.is_empty()
            && self.growth().is_none_or(|growth| growth <= MAX_GROWTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_percent_more_than_the_earlier_count_of_the_same_compiler_are_a_regression() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("counts.json");
        std::fs::write(&file, r#"{"1.95.0 here":1000}"#).unwrap();
        let report = |count| InstructionReport {
            calls: CALLERS * COUNTED_CALLS,
            instructions_per_call: count,
            baseline: None,
            errors: BTreeMap::new(),
        };
        for (count, compiler, is_valid) in
            [(1030, "1.95.0 here", true), (1031, "1.95.0 here", false), (1031, "1.96.0 here", true)]
        {
            let mut report = report(count);
            report.compare(&file, compiler, false).unwrap();
            assert_eq!(report.is_valid(), is_valid, "{count} {compiler}");
        }
        report(1100).compare(&file, "1.96.0 here", true).unwrap();
        let mut later = report(1100);
        later.compare(&file, "1.96.0 here", false).unwrap();
        assert_eq!(later.baseline, Some(1100));
    }

    #[test]
    fn the_count_is_the_total_of_all_functions() {
        let profile = "version: 1\nevents: Ir\nsummary: 12\n\nfn=(1) main\n0 12\n\ntotals: 12\n";
        assert_eq!(instruction_count(profile).ok(), Some(12));
        assert!(instruction_count("version: 1\n").is_err());
    }
}
