//! Counts the instructions of a call with callgrind, a tool of valgrind that runs the gateway. Unlike a time, the
//! count hardly depends on the machine or on other programs, so it shows small changes. It does not include the kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
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
/// Callgrind's output file. Callgrind appends the numbers of the dump and of the thread.
const PROFILE_NAME: &str = "callgrind.out";
/// Start of the names of the threads' profiles.
const THREAD_PROFILE: &str = "callgrind.out.1-";

/// More instructions than this multiple of the earlier count are a regression.
const MAX_RUNTIME_GROWTH: f64 = 1.03;
/// The same for records. Their number per transaction depends on the speed of the machine.
const MAX_RECORDS_GROWTH: f64 = 1.25;

/// Instructions per call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstructionCounts {
    /// Those of the runtime's thread.
    pub(crate) runtime: u64,
    /// Those of all other threads, which write the records.
    pub(crate) records: u64,
}

/// Result of the count.
#[derive(Debug, Serialize)]
pub(crate) struct InstructionReport {
    /// Number of counted calls.
    pub(crate) calls: usize,
    /// Instructions per call.
    pub(crate) counted: InstructionCounts,
    /// Earlier counts for the same compiler, if there are any.
    pub(crate) earlier: Option<InstructionCounts>,
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

    let threads = read_threads(folder_of(&profile), profile_copy)?;
    gateway.kill().await?;
    let calls = tally.latencies.summary().count;
    let per_call = |count: u64| count / u64::try_from(calls).unwrap_or(u64::MAX).max(1);
    // With one worker, the runtime's thread does most of the work.
    let busiest = threads.iter().copied().max().unwrap_or_default();
    let counted = InstructionCounts {
        runtime: per_call(busiest),
        records: per_call(threads.iter().sum::<u64>() - busiest),
    };
    Ok(InstructionReport { calls, counted, earlier: None, errors: tally.errors })
}

fn folder_of(profile: &Path) -> &Path {
    profile.parent().unwrap_or(Path::new("."))
}

/// Reads the number of instructions of each thread. Copies the profile of the busiest one to `copy`.
fn read_threads(folder: &Path, copy: Option<&Path>) -> Result<Vec<u64>> {
    let mut threads = Vec::new();
    let mut busiest = 0;
    for entry in std::fs::read_dir(folder).context("reading the profiles")? {
        let entry = entry.context("reading the profiles")?;
        if !entry.file_name().to_string_lossy().starts_with(THREAD_PROFILE) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).context("reading a profile")?;
        let count = instruction_count(&text)?;
        threads.push(count);
        if let Some(copy) = copy
            && count > busiest
        {
            busiest = count;
            std::fs::write(copy, &text).context(format!("writing {}", copy.display()))?;
        }
    }
    Ok(threads)
}

/// Earlier counts, by compiler and target.
type EarlierCounts = BTreeMap<String, InstructionCounts>;

impl InstructionReport {
    /// Compares the counts with those for `compiler` in a file. With `update`, writes them there.
    pub(crate) fn compare(&mut self, file: &Path, compiler: &str, update: bool) -> Result<()> {
        let what = || file.display().to_string();
        let text = std::fs::read_to_string(file).context(what())?;
        let mut earlier: EarlierCounts = serde_json::from_str(&text).context(what())?;
        if !update {
            self.earlier = earlier.get(compiler).copied();
            return Ok(());
        }
        earlier.insert(compiler.to_owned(), self.counted);
        self.earlier = Some(self.counted);
        let text = serde_json::to_string_pretty(&earlier).context(what())?;
        std::fs::write(file, format!("{text}\n")).context(what())
    }

    /// Names each part with its count, its growth since the earlier count, and the allowed growth.
    fn parts(&self) -> [(&'static str, u64, Option<f64>, f64); 2] {
        let growth = |now: u64, before: fn(&InstructionCounts) -> u64| {
            self.earlier.as_ref().map(|earlier| ratio(now as f64, before(earlier) as f64))
        };
        let InstructionCounts { runtime, records } = self.counted;
        [
            ("runtime", runtime, growth(runtime, |counts| counts.runtime), MAX_RUNTIME_GROWTH),
            ("records", records, growth(records, |counts| counts.records), MAX_RECORDS_GROWTH),
        ]
    }
}

/// Runs the gateway with callgrind and, unless chosen otherwise, with one worker, because the number of wake-ups
/// between workers is random.
fn under_callgrind(settings: &GatewayLaunchOptions, profile: &Path) -> GatewayLaunchOptions {
    let wrapper = [
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        "--instr-atstart=no".to_owned(),
        "--separate-threads=yes".to_owned(),
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
        let InstructionCounts { runtime, records } = self.counted;
        let mut text = format!(
            "{} instructions per call ({} calls, {CALLERS} in flight, {DEVICES} devices)\n",
            runtime + records,
            self.calls
        );
        for (name, count, growth, most) in self.parts() {
            let _ = match growth {
                Some(growth) => {
                    writeln!(
                        text,
                        "{name} {count}: {growth:.3} × the earlier count, at most {most} × is allowed"
                    )
                }
                None => writeln!(text, "{name} {count}: no earlier count for this compiler"),
            };
        }
        append_errors(&mut text, "gateway", &self.errors);
        text
    }

    fn is_valid(&self) -> bool {
        self.calls == CALLERS * COUNTED_CALLS
            && self.errors.is_empty()
            && self.parts().iter().all(|(_, _, growth, most)| growth.is_none_or(|growth| growth <= *most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(runtime: u64, records: u64) -> InstructionReport {
        InstructionReport {
            calls: CALLERS * COUNTED_CALLS,
            counted: InstructionCounts { runtime, records },
            earlier: None,
            errors: BTreeMap::new(),
        }
    }

    #[test]
    fn much_more_instructions_than_earlier_with_the_same_compiler_are_a_regression() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("counts.json");
        std::fs::write(&file, r#"{"1.95.0 here":{"runtime":1000,"records":100}}"#).unwrap();
        for (runtime, records, compiler, is_valid) in [
            (1030, 125, "1.95.0 here", true),
            (1031, 100, "1.95.0 here", false),
            (1000, 126, "1.95.0 here", false),
            (1031, 126, "1.96.0 here", true),
        ] {
            let mut report = report(runtime, records);
            report.compare(&file, compiler, false).unwrap();
            assert_eq!(report.is_valid(), is_valid, "{runtime} {records} {compiler}");
        }
        report(1100, 7).compare(&file, "1.96.0 here", true).unwrap();
        let mut later = report(1, 1);
        later.compare(&file, "1.96.0 here", false).unwrap();
        assert_eq!(later.earlier, Some(InstructionCounts { runtime: 1100, records: 7 }));
    }

    #[test]
    fn every_thread_is_counted_and_the_busiest_ones_profile_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        for (name, count) in
            [("callgrind.out.1-01", 3), ("callgrind.out.1-02", 12), ("callgrind.out.1-03", 5), ("other", 99)]
        {
            std::fs::write(folder.path().join(name), format!("totals: {count}\n")).unwrap();
        }
        let copy = folder.path().join("copy");
        let mut threads = read_threads(folder.path(), Some(&copy)).unwrap();
        threads.sort_unstable();
        assert_eq!(threads, [3, 5, 12]);
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "totals: 12\n");
    }

    #[test]
    fn the_count_is_the_total_of_all_functions() {
        let profile = "version: 1\nevents: Ir\nsummary: 12\n\nfn=(1) main\n0 12\n\ntotals: 12\n";
        assert_eq!(instruction_count(profile).ok(), Some(12));
        assert!(instruction_count("version: 1\n").is_err());
    }
}
