//! `--memory-factors`: compares the memory that data takes in a gateway with what the gateway counts for it. The gateway
//! holds a known amount for a while; its process must not grow by more than its count.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::attack::{Attack, AttackRole, AttackUnit, RepeatedMessage, StreamOpening};
use super::content as c;
use super::probes::read_idle_memory;
use super::stream::{AttackStream, SentTally};
use super::target::AttackTarget;
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::GatewayLaunchOptions;
use crate::output::{BenchReport, format_bytes, log_progress};
use crate::procfs::ProcessMemory;

/// Growth that is not counted, in bytes: connections, caches, and what the allocator keeps.
const SLACK: u64 = 12_000_000;
/// Maximum time until the gateway holds everything.
const SEND_LIMIT: Duration = Duration::from_secs(60);
/// Number of equal readings after which the count does not change any more.
const EQUAL_READINGS: usize = 15;
/// Interval of these readings.
const READING_INTERVAL: Duration = Duration::from_millis(100);

/// A kind of data that a gateway holds: connections that send their first bytes and stay open.
const HOLD: Attack = Attack {
    name: "",
    role: AttackRole::Companion,
    tokens: 1,
    connections: 1,
    opening: StreamOpening::WebSocket("/ws/chat"),
    first: c::nothing,
    repeated: RepeatedMessage::Nothing,
    reads: true,
    unit: AttackUnit::Bytes,
    floor: 0.0,
    short: 0,
};

/// All kinds.
const KINDS: &[Attack] = &[
    Attack { name: "unfinished frames", connections: 4, first: c::eight_megabytes_of_a_frame, ..HOLD },
    Attack {
        name: "unfinished bodies",
        role: AttackRole::Client,
        connections: 6,
        opening: StreamOpening::Plain,
        first: c::unfinished_body,
        ..HOLD
    },
    Attack { name: "texts of running calls", first: c::calls_with_texts, ..HOLD },
    Attack { name: "arrays of running calls", first: c::calls_with_arrays, ..HOLD },
    Attack { name: "objects of running calls", first: c::calls_with_objects, ..HOLD },
    Attack { name: "small objects of running calls", first: c::calls_with_small_objects, ..HOLD },
    Attack { name: "small arrays of running calls", first: c::calls_with_small_arrays, ..HOLD },
    Attack { name: "frames that are not read", first: c::calls_with_texts, reads: false, ..HOLD },
    Attack { name: "definitions of tools", connections: 2, first: c::five_hundred_tools, ..HOLD },
    Attack {
        name: "mcp sessions",
        role: AttackRole::Client,
        tokens: 4,
        connections: 4,
        opening: StreamOpening::Plain,
        first: c::a_hundred_mcp_sessions,
        ..HOLD
    },
    Attack {
        name: "running turns",
        role: AttackRole::Client,
        connections: 20,
        opening: StreamOpening::Plain,
        first: c::chat_turn,
        ..HOLD
    },
];

/// The result of one kind.
#[derive(Debug, Serialize)]
struct FactorReport {
    name: &'static str,
    /// Bytes that were sent.
    wire: u64,
    /// Growth of the process, in bytes.
    grown: u64,
    /// Memory that the gateway counts, in bytes.
    counted: u64,
    is_enough: bool,
}

/// The results of all kinds.
#[derive(Debug, Default, Serialize)]
pub(crate) struct FactorReports(Vec<FactorReport>);

/// Measures all kinds whose names contain `only`.
pub(crate) async fn measure(options: &GatewayLaunchOptions, only: Option<&str>) -> Result<FactorReports> {
    let (options, mut reports) = (options.with_returned_memory(), FactorReports::default());
    for kind in KINDS.iter().filter(|kind| only.is_none_or(|text| kind.name.contains(text))) {
        log_progress(&format!("memory: {}", kind.name));
        reports.0.push(measure_kind(&options, kind).await?);
    }
    Ok(reports)
}

async fn measure_kind(options: &GatewayLaunchOptions, kind: &'static Attack) -> Result<FactorReport> {
    let target = AttackTarget::start(options, &[kind]).await?;
    let (idle, counted_idle) = (read_idle_memory(&target).await?, read_counted(&target).await?);
    let context = Arc::new(target.context(kind));
    let tally = Arc::new(SentTally::new());
    let mut streams = JoinSet::new();
    let mut wire = 0;
    for number in 0..kind.connections {
        wire += (kind.first)(&context, number).len() as u64;
        let stream = AttackStream {
            attack: kind,
            context: Arc::clone(&context),
            number,
            tally: Arc::clone(&tally),
            same: Arc::default(),
            next_message: Arc::new(AtomicU64::new(0)),
        };
        streams.spawn(stream.run());
    }
    let end = Instant::now() + SEND_LIMIT;
    let mut readings = Vec::new();
    while readings.len() < EQUAL_READINGS || tally.amount().bytes < wire {
        if Instant::now() >= end {
            return unexpected(format!("{}: the gateway did not take everything in time", kind.name));
        }
        sleep(READING_INTERVAL).await;
        let counted = read_counted(&target).await?;
        if readings.last().is_some_and(|last| *last != counted) {
            readings.clear();
        }
        readings.push(counted);
    }
    if tally.amount().connections > kind.connections as u64 {
        return unexpected(format!("{}: the gateway closed a connection", kind.name));
    }
    let counted = readings.last().copied().unwrap_or_default().saturating_sub(counted_idle);
    let grown = ProcessMemory::read(target.pid())?.resident.saturating_sub(idle);
    target.stop().await?;
    Ok(FactorReport { name: kind.name, wire, grown, counted, is_enough: grown <= counted + SLACK })
}

/// The memory that the gateway counts for all peers.
async fn read_counted(target: &AttackTarget) -> Result<u64> {
    #[derive(Deserialize)]
    struct MemoryStatus {
        memory_bytes: u64,
    }
    let body = target.read_status().await?;
    Ok(serde_json::from_str::<MemoryStatus>(&body).context("reading /api/status")?.memory_bytes)
}

impl FactorReports {
    /// The kinds whose count is too low.
    pub(crate) fn too_low(&self) -> Vec<&'static str> {
        self.0.iter().filter(|report| !report.is_enough).map(|report| report.name).collect()
    }
}

impl BenchReport for FactorReports {
    #[allow(clippy::cast_precision_loss, reason = "sizes of memory")]
    fn text(&self) -> String {
        let mut text = String::from(
            "| data | on the wire | in memory | counted | factor | result |\n|---|---|---|---|---|---|\n",
        );
        for report in &self.0 {
            let bytes = |bytes: u64| format_bytes(bytes as f64);
            let factor = report.grown as f64 / report.wire.max(1) as f64;
            let result = if report.is_enough { "enough" } else { "too low" };
            let (wire, grown, counted) = (bytes(report.wire), bytes(report.grown), bytes(report.counted));
            let _ =
                writeln!(text, "| {} | {wire} | {grown} | {counted} | {factor:.1} | {result} |", report.name);
        }
        text
    }

    fn is_valid(&self) -> bool {
        !self.0.is_empty()
    }
}
