//! One of those that are measured: its callers, and what their requests came to in each round.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::request::{Era, Line, Prepared};
use super::wire::Wire;
use crate::caller::Tally;
use crate::error::{Result, unexpected};
use crate::procfs::CpuTime;
use crate::stats::{Latencies, median, ratio, rounded};

/// How long an answer is waited for when a round is over.
const GRACE: Duration = Duration::from_secs(10);

/// A caller with one request in flight.
#[derive(Debug)]
struct Caller {
    wire: Wire,
    request: Prepared,
    /// What a right answer has in it.
    expected: Vec<u8>,
    lost: bool,
}

impl Caller {
    async fn closed_loop(&mut self, until: Instant, tally: &mut Tally) {
        loop {
            let (bytes, id) = self.request.next();
            let sent = Instant::now();
            let answered = self.wire.ask(bytes).await;
            let received = Instant::now();
            let answer = match answered {
                Ok(answer) => answer,
                Err(failure) => {
                    self.lost = true;
                    return tally.error(failure.to_string());
                }
            };
            let is_right = answer.status == 200
                && answer.has(id.as_bytes())
                && answer.has(&self.expected)
                && !answer.has(b"\"isError\":true");
            if is_right {
                tally.latencies.record(received - sent);
            } else {
                tally.error(format!("wrong answer: {}", answer.shown()));
            }
            if received >= until {
                return;
            }
        }
    }
}

/// What is asked, and what a right answer has in it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) request: Prepared,
    pub(crate) expected: String,
}

/// One of those that are measured.
#[derive(Debug)]
pub(crate) struct Side {
    name: &'static str,
    era: Era,
    pid: u32,
    in_flight: usize,
    callers: Vec<Caller>,
    tally: Tally,
    cpu: Duration,
    rounds: Vec<Round>,
}

/// One round of one side.
#[derive(Debug, Clone, Copy)]
struct Round {
    calls_per_s: f64,
    p50_us: f64,
}

/// What one side came to. Rates and medians are medians over the rounds; the other percentiles are of all samples.
#[derive(Debug, Serialize)]
pub(crate) struct SideReport {
    pub(crate) name: &'static str,
    pub(crate) era: Era,
    pub(crate) in_flight: usize,
    pub(crate) calls: usize,
    pub(crate) errors: u64,
    pub(crate) calls_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    /// Of the process that is called; what stands behind it is not counted.
    pub(crate) cpu_us_per_call: f64,
    pub(crate) error_kinds: BTreeMap<String, u64>,
    #[serde(skip)]
    rounds: Vec<Round>,
}

impl SideReport {
    /// Whether all went well.
    pub(crate) fn sound(&self) -> bool {
        self.calls > 0 && self.errors == 0
    }

    /// Calls a second against another side's: the median of the rounds' ratios, the lowest, the highest.
    pub(crate) fn against(&self, other: &Self) -> [f64; 3] {
        spread(
            self.rounds.iter().zip(&other.rounds).map(|(own, its)| ratio(own.calls_per_s, its.calls_per_s)),
        )
    }

    /// How much longer the middle request takes than at another side, in microseconds: the median of the rounds, the
    /// least, the most.
    pub(crate) fn added(&self, other: &Self) -> [f64; 3] {
        spread(self.rounds.iter().zip(&other.rounds).map(|(own, its)| own.p50_us - its.p50_us))
    }
}

fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let values: Vec<f64> = values.collect();
    let lowest = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let highest = values.iter().copied().reduce(f64::max).unwrap_or(0.0);
    [median(values), lowest, highest].map(rounded)
}

impl Side {
    /// `in_flight` callers that ask what `asked` makes of a line; with an MCP session each, where the era has such.
    pub(crate) async fn open(
        name: &'static str,
        pid: u32,
        line: &Line,
        in_flight: usize,
        asked: impl Fn(&Line) -> Asked,
    ) -> Result<Self> {
        let mut callers = Vec::new();
        for _ in 0..in_flight {
            let mut wire = Wire::open(&line.endpoint.authority).await?;
            let line = super::sessions::begin(&mut wire, line).await?;
            let Asked { request, expected } = asked(&line);
            callers.push(Caller { wire, request, expected: expected.into_bytes(), lost: false });
        }
        let (tally, cpu) = (Tally::default(), Duration::ZERO);
        Ok(Self { name, era: line.era, pid, in_flight, callers, tally, cpu, rounds: Vec::new() })
    }

    async fn round(&mut self, length: Duration) -> Result<()> {
        if self.callers.is_empty() {
            return unexpected(format!("{}: every caller has lost its connection", self.name));
        }
        let cpu = CpuTime::of(self.pid)?;
        let start = Instant::now();
        let until = start + length;
        let mut running = JoinSet::new();
        for mut caller in self.callers.drain(..) {
            running.spawn(async move {
                let mut tally = Tally::default();
                if timeout_at(until + GRACE, caller.closed_loop(until, &mut tally)).await.is_err() {
                    caller.lost = true;
                    tally.error("no answer within 10 s");
                }
                (caller, tally)
            });
        }
        let mut tally = Tally::default();
        while let Some(ended) = running.join_next().await {
            match ended {
                Ok((caller, its)) => {
                    tally.append(its);
                    if !caller.lost {
                        self.callers.push(caller);
                    }
                }
                Err(error) => tally.error(format!("a caller broke: {error}")),
            }
        }
        let elapsed = start.elapsed();
        self.cpu += CpuTime::of(self.pid)?.since(&cpu);
        let summary = tally.latencies.summary();
        let calls_per_s = ratio(summary.count as f64, elapsed.as_secs_f64());
        self.rounds.push(Round { calls_per_s, p50_us: summary.p50_us });
        self.tally.append(tally);
        Ok(())
    }

    fn report(mut self) -> SideReport {
        let summary = self.tally.latencies.summary();
        let over = |of: fn(&Round) -> f64| rounded(median(self.rounds.iter().map(of).collect()));
        SideReport {
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

/// Measures sides in turns: so many rounds in which each has its time, every second round in reverse order.
pub(crate) async fn in_turns(
    mut sides: Vec<Side>,
    rounds: usize,
    length: Duration,
) -> Result<Vec<SideReport>> {
    for side in &mut sides {
        side.round(length).await?;
        side.tally.latencies = Latencies::default();
        side.rounds.clear();
        side.cpu = Duration::ZERO;
    }
    for number in 0..rounds {
        let mut order: Vec<&mut Side> = sides.iter_mut().collect();
        if number % 2 == 1 {
            order.reverse();
        }
        for side in order {
            side.round(length).await?;
        }
    }
    Ok(sides.into_iter().map(Side::report).collect())
}

#[cfg(test)]
mod tests;
