//! One of the two measured targets, the gateway or the relay: its callers, and their results over its slices
//! of time.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::caller::{BenchCaller, CallTally};
use crate::churn::DeviceChurn;
use crate::error::{Result, unexpected};
use crate::procfs::CpuTime;
use crate::schedule::{CallSchedule, open_loop};
use crate::stats::{LatencySummary, ratio};

/// Timeout for answers after the end of a slice.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A measured target with its results so far.
#[derive(Debug)]
pub(crate) struct TargetMeasurement {
    pid: u32,
    callers: Vec<BenchCaller>,
    tally: CallTally,
    elapsed: Duration,
    cpu: Duration,
    own_cpu: Duration,
}

/// Results of one slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceMetrics {
    /// Successful calls per second.
    pub(crate) calls_per_s: f64,
    /// Median latency.
    pub(crate) p50_us: f64,
    /// CPU time of the measured process per call.
    pub(crate) cpu_us_per_call: f64,
}

/// Results of all slices.
#[derive(Debug)]
pub(crate) struct TargetMetrics {
    /// Latencies.
    pub(crate) latency: LatencySummary,
    /// Successful calls per second.
    pub(crate) calls_per_s: f64,
    /// CPU time of the measured process per call.
    pub(crate) cpu_us_per_call: f64,
    /// CPU time of the harness (devices and callers) per call.
    pub(crate) own_cpu_us_per_call: f64,
    /// Errors.
    pub(crate) tally: CallTally,
}

impl TargetMeasurement {
    /// Creates a target for the process `pid` and its callers.
    pub(crate) fn new(pid: u32, callers: Vec<BenchCaller>) -> Self {
        Self {
            pid,
            callers,
            tally: CallTally::default(),
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
            own_cpu: Duration::ZERO,
        }
    }

    /// Makes calls for a while and counts only errors.
    pub(crate) async fn warm_up(&mut self, length: Duration) -> Result<()> {
        self.run_slice(length, None, None).await?;
        self.tally.latencies = crate::stats::LatencySamples::default();
        (self.elapsed, self.cpu, self.own_cpu) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        Ok(())
    }

    /// Makes calls for a while: `rate` calls per second in total, or as fast as they are answered.
    pub(crate) async fn run_slice(
        &mut self,
        length: Duration,
        rate: Option<f64>,
        churn: Option<&DeviceChurn>,
    ) -> Result<SliceMetrics> {
        if self.callers.is_empty() {
            return unexpected("every caller has lost its connection");
        }
        let own_pid = std::process::id();
        let (cpu, own_cpu) = (CpuTime::read(self.pid)?, CpuTime::read(own_pid)?);
        let start = Instant::now();
        let until = start + length;
        let count = u32::try_from(self.callers.len()).unwrap_or(u32::MAX);
        let apart = rate.map(|rate| Duration::from_secs_f64(1.0 / rate.max(0.001)));
        let mut running = JoinSet::new();
        for (number, mut caller) in (0..count).zip(self.callers.drain(..)) {
            let schedule = apart.map(|apart| CallSchedule {
                first: start + apart * number,
                interval: apart * count,
                until,
            });
            running.spawn(async move {
                let mut tally = CallTally::default();
                let calling = async {
                    match schedule {
                        Some(schedule) => open_loop(&mut caller, schedule, &mut tally).await,
                        None => caller.closed_loop(until, &mut tally).await,
                    }
                };
                if timeout_at(until + ANSWER_TIMEOUT, calling).await.is_err() {
                    caller.give_up("no answer within 10 s", &mut tally);
                }
                (caller, tally)
            });
        }
        let mut tally = CallTally::default();
        let gathering = async {
            while let Some(ended) = running.join_next().await {
                match ended {
                    Ok((caller, its)) => {
                        tally.append(its);
                        if !caller.is_lost {
                            self.callers.push(caller);
                        }
                    }
                    Err(error) => tally.count_error(format!("a caller broke: {error}")),
                }
            }
            // The measured time ends with the last answer, not with the last device that disconnects.
            start.elapsed()
        };
        let elapsed = match churn {
            Some(churn) => tokio::join!(gathering, churn.run(until)).0,
            None => gathering.await,
        };
        let used = CpuTime::read(self.pid)?.since(&cpu);
        self.cpu += used;
        self.own_cpu += CpuTime::read(own_pid)?.since(&own_cpu);
        self.elapsed += elapsed;
        let latency = tally.latencies.summary();
        self.tally.append(tally);
        let calls = latency.count as f64;
        Ok(SliceMetrics {
            calls_per_s: ratio(calls, elapsed.as_secs_f64()),
            p50_us: latency.p50_us,
            cpu_us_per_call: ratio(used.as_secs_f64() * 1e6, calls),
        })
    }

    /// Returns the results of all slices.
    pub(crate) fn into_metrics(mut self) -> TargetMetrics {
        let latency = self.tally.latencies.summary();
        let calls = latency.count as f64;
        TargetMetrics {
            latency,
            calls_per_s: ratio(calls, self.elapsed.as_secs_f64()),
            cpu_us_per_call: ratio(self.cpu.as_secs_f64() * 1e6, calls),
            own_cpu_us_per_call: ratio(self.own_cpu.as_secs_f64() * 1e6, calls),
            tally: self.tally,
        }
    }
}
