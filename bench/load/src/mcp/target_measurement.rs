//! One measured target: its callers, and the results of each round.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::connection::HttpConnection;
use super::request::{McpRequestBuilder, PreparedMcpRequest, ProtocolEra};
use crate::caller::CallTally;
use crate::error::{Result, unexpected};
use crate::procfs::CpuTime;
use crate::stats::{LatencySamples, median, ratio, rounded};

/// Timeout for answers after the end of a round.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A caller with one request in flight.
#[derive(Debug)]
struct McpCaller {
    wire: HttpConnection,
    request: PreparedMcpRequest,
    /// Bytes that a correct answer contains.
    expected: Vec<u8>,
    is_lost: bool,
}

impl McpCaller {
    async fn closed_loop(&mut self, until: Instant, tally: &mut CallTally) {
        loop {
            let (bytes, id) = self.request.next_request();
            let sent = Instant::now();
            let answered = self.wire.request(bytes).await;
            let received = Instant::now();
            let answer = match answered {
                Ok(answer) => answer,
                Err(failure) => {
                    self.is_lost = true;
                    return tally.count_error(failure.to_string());
                }
            };
            let is_right = answer.status == 200
                && answer.body_contains(id.as_bytes())
                && answer.body_contains(&self.expected)
                && !answer.body_contains(b"\"isError\":true");
            if is_right {
                tally.latencies.record(received - sent);
            } else {
                tally.count_error(format!("wrong answer: {}", answer.summary()));
            }
            if received >= until {
                return;
            }
        }
    }
}

/// A request, and the bytes that a correct answer contains.
#[derive(Debug, Clone)]
pub(crate) struct ExpectedExchange {
    pub(crate) request: PreparedMcpRequest,
    pub(crate) expected: String,
}

/// One measured target.
#[derive(Debug)]
pub(crate) struct McpTargetMeasurement {
    name: &'static str,
    era: ProtocolEra,
    pid: u32,
    in_flight: usize,
    callers: Vec<McpCaller>,
    tally: CallTally,
    cpu: Duration,
    rounds: Vec<McpRoundMetrics>,
}

/// Results of one round.
#[derive(Debug, Clone, Copy)]
struct McpRoundMetrics {
    calls_per_s: f64,
    p50_us: f64,
}

/// Results of one target. Rates and medians are medians over the rounds; other percentiles are of all
/// samples.
#[derive(Debug, Serialize)]
pub(crate) struct McpTargetReport {
    pub(crate) name: &'static str,
    pub(crate) era: ProtocolEra,
    pub(crate) in_flight: usize,
    pub(crate) calls: usize,
    pub(crate) errors: u64,
    pub(crate) calls_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    /// CPU time of the called process only, without the processes behind it.
    pub(crate) cpu_us_per_call: f64,
    pub(crate) error_kinds: BTreeMap<String, u64>,
    #[serde(skip)]
    rounds: Vec<McpRoundMetrics>,
}

impl McpTargetReport {
    /// Returns true if there were no errors.
    pub(crate) fn is_valid(&self) -> bool {
        self.calls > 0 && self.errors == 0
    }

    /// Returns the ratio of calls per second to another target: the median of the rounds' ratios, the
    /// minimum, the maximum.
    pub(crate) fn throughput_ratio(&self, other: &Self) -> [f64; 3] {
        spread(
            self.rounds.iter().zip(&other.rounds).map(|(own, its)| ratio(own.calls_per_s, its.calls_per_s)),
        )
    }

    /// Returns the additional median latency compared with another target, in microseconds: the median of the
    /// rounds, the minimum, the maximum.
    pub(crate) fn added_latency(&self, other: &Self) -> [f64; 3] {
        spread(self.rounds.iter().zip(&other.rounds).map(|(own, its)| own.p50_us - its.p50_us))
    }
}

fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let values: Vec<f64> = values.collect();
    let lowest = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let highest = values.iter().copied().reduce(f64::max).unwrap_or(0.0);
    [median(values), lowest, highest].map(rounded)
}

impl McpTargetMeasurement {
    /// Opens `in_flight` callers that send the request of `asked`; with an MCP session each, if the era has
    /// sessions.
    pub(crate) async fn open(
        name: &'static str,
        pid: u32,
        line: &McpRequestBuilder,
        in_flight: usize,
        asked: impl Fn(&McpRequestBuilder) -> ExpectedExchange,
    ) -> Result<Self> {
        let mut callers = Vec::new();
        for _ in 0..in_flight {
            let mut wire = HttpConnection::open(&line.endpoint.authority).await?;
            let line = super::session::begin_session(&mut wire, line).await?;
            let ExpectedExchange { request, expected } = asked(&line);
            callers.push(McpCaller { wire, request, expected: expected.into_bytes(), is_lost: false });
        }
        let (tally, cpu) = (CallTally::default(), Duration::ZERO);
        Ok(Self { name, era: line.era, pid, in_flight, callers, tally, cpu, rounds: Vec::new() })
    }

    async fn run_round(&mut self, length: Duration) -> Result<()> {
        if self.callers.is_empty() {
            return unexpected(format!("{}: every caller has lost its connection", self.name));
        }
        let cpu = CpuTime::read(self.pid)?;
        let start = Instant::now();
        let until = start + length;
        let mut running = JoinSet::new();
        for mut caller in self.callers.drain(..) {
            running.spawn(async move {
                let mut tally = CallTally::default();
                if timeout_at(until + ANSWER_TIMEOUT, caller.closed_loop(until, &mut tally)).await.is_err() {
                    caller.is_lost = true;
                    tally.count_error("no answer within 10 s");
                }
                (caller, tally)
            });
        }
        let mut tally = CallTally::default();
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
        let elapsed = start.elapsed();
        self.cpu += CpuTime::read(self.pid)?.since(&cpu);
        let summary = tally.latencies.summary();
        let calls_per_s = ratio(summary.count as f64, elapsed.as_secs_f64());
        self.rounds.push(McpRoundMetrics { calls_per_s, p50_us: summary.p50_us });
        self.tally.append(tally);
        Ok(())
    }

    fn into_report(mut self) -> McpTargetReport {
        let summary = self.tally.latencies.summary();
        let over = |of: fn(&McpRoundMetrics) -> f64| rounded(median(self.rounds.iter().map(of).collect()));
        McpTargetReport {
            name: self.name,
            era: self.era,
            in_flight: self.in_flight,
            calls: summary.count,
            errors: self.tally.error_count(),
            calls_per_s: over(|round| round.calls_per_s),
            p50_us: over(|round| round.p50_us),
            p90_us: summary.p90_us,
            p99_us: summary.p99_us,
            max_us: summary.max_us,
            cpu_us_per_call: rounded(ratio(self.cpu.as_secs_f64() * 1e6, summary.count as f64)),
            error_kinds: self.tally.errors,
            rounds: self.rounds,
        }
    }
}

/// Measures targets in turns: in each round, each target has its slice; every second round is in reverse
/// order.
pub(crate) async fn measure_in_rounds(
    mut sides: Vec<McpTargetMeasurement>,
    rounds: usize,
    length: Duration,
) -> Result<Vec<McpTargetReport>> {
    for side in &mut sides {
        side.run_round(length).await?;
        side.tally.latencies = LatencySamples::default();
        side.rounds.clear();
        side.cpu = Duration::ZERO;
    }
    for number in 0..rounds {
        let mut order: Vec<&mut McpTargetMeasurement> = sides.iter_mut().collect();
        if number % 2 == 1 {
            order.reverse();
        }
        for side in order {
            side.run_round(length).await?;
        }
    }
    Ok(sides.into_iter().map(McpTargetMeasurement::into_report).collect())
}

#[cfg(test)]
mod tests;
