//! The result of the attacks, and its bounds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::attack::{Attack, AttackUnit, SentAmount};
use super::probes::{ProbeResult, ProbeResults};
use crate::output::{BenchReport, append_errors, format_bytes};
use crate::stats::rounded;

/// Maximum 99th percentile of a request of the bystander or the owner, in milliseconds.
const MAX_P99_MS: f64 = 100.0;
/// Maximum duration of any of their requests, in milliseconds.
const MAX_WORST_MS: f64 = 500.0;
/// Maximum memory above idle memory and the gateway's budget for peers, in bytes.
const MAX_ABOVE_BUDGET: u64 = 128_000_000;
/// Maximum memory above idle memory after the attack, in bytes.
const MAX_MEMORY_LEFT: u64 = 50_000_000;
/// The same in the short version, where all attacks of a role share a gateway and their remains add up.
const MAX_MEMORY_LEFT_TOGETHER: u64 = 128_000_000;

/// The bounds that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BoundSet {
    /// All bounds, and the minimum rate of each attack.
    All,
    /// Memory and survival: on a busy machine, only those say something.
    MemoryOnly,
}

impl BoundSet {
    /// Maximum memory above idle memory after an attack, in bytes.
    pub(super) fn memory_left(self) -> u64 {
        match self {
            Self::All => MAX_MEMORY_LEFT,
            Self::MemoryOnly => MAX_MEMORY_LEFT_TOGETHER,
        }
    }
}

/// Latencies of one party, in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct PartyReport {
    requests: usize,
    p99_ms: f64,
    worst_ms: f64,
    failures: BTreeMap<String, u64>,
}

/// Memory of the gateway, in bytes.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct AttackMemory {
    /// Before the attack.
    pub(super) idle: u64,
    /// Maximum until the end of the attack.
    pub(super) peak: u64,
    /// Ten seconds after the attack; in the short version, as soon as it is low enough.
    pub(super) after: u64,
    /// The gateway's budget for all peers.
    pub(super) budget: u64,
}

/// The result of one attack.
#[derive(Debug, Serialize)]
pub(super) struct AttackReport {
    name: &'static str,
    role: &'static str,
    unit: AttackUnit,
    /// Units per second.
    rate: f64,
    sent: SentAmount,
    bystander: PartyReport,
    owner: PartyReport,
    /// Absent if the gateway has ended.
    memory: Option<AttackMemory>,
    log_bytes: u64,
    /// Bounds that were broken.
    broken: Vec<String>,
    /// Reason why the attack proves nothing.
    void: Option<String>,
}

/// The results of all attacks.
#[derive(Debug, Serialize)]
pub(crate) struct HostileReport {
    bounds: BoundSet,
    pub(super) attacks: Vec<AttackReport>,
}

impl PartyReport {
    fn new(result: ProbeResult) -> Self {
        Self {
            requests: result.latencies.count,
            p99_ms: rounded(result.latencies.p99_us / 1e3),
            worst_ms: rounded(result.latencies.max_us / 1e3),
            failures: result.failures,
        }
    }

    /// Adds the bounds that this party's requests broke.
    fn judge(&self, party: &str, broken: &mut Vec<String>) {
        if self.p99_ms > MAX_P99_MS {
            broken.push(format!("p99 of the {party} is {} ms; the bound is {MAX_P99_MS} ms", self.p99_ms));
        }
        if self.worst_ms > MAX_WORST_MS {
            let (worst, bound) = (self.worst_ms, MAX_WORST_MS);
            broken
                .push(format!("the slowest request of the {party} took {worst} ms; the bound is {bound} ms"));
        }
        if let Some((failure, _)) = self.failures.first_key_value() {
            let count: u64 = self.failures.values().sum();
            broken.push(format!("{count} requests of the {party} failed: {failure}"));
        }
    }
}

impl AttackReport {
    /// Creates the report of an attack without its verdict.
    pub(super) fn new(
        attack: &Attack,
        sent: SentAmount,
        probes: ProbeResults,
        memory: Option<AttackMemory>,
        log_bytes: u64,
    ) -> Self {
        Self {
            name: attack.name,
            role: attack.role.name(),
            unit: attack.unit,
            rate: rounded(sent.rate(attack.unit)),
            sent,
            bystander: PartyReport::new(probes.bystander),
            owner: PartyReport::new(probes.owner),
            memory,
            log_bytes,
            broken: Vec::new(),
            void: None,
        }
    }

    /// Compares the result with its bounds.
    pub(super) fn judge(&mut self, attack: &Attack, bounds: BoundSet) {
        let broken = &mut self.broken;
        match &self.memory {
            None => broken.push("the gateway has ended".to_owned()),
            Some(memory) => {
                let bound = memory.idle + memory.budget + MAX_ABOVE_BUDGET;
                if memory.peak > bound {
                    let (peak, bound) = (megabytes(memory.peak), megabytes(bound));
                    broken.push(format!("the peak memory is {peak}; the bound is {bound}"));
                }
                let bound = memory.idle + bounds.memory_left();
                if memory.after > bound {
                    let (after, bound) = (megabytes(memory.after), megabytes(bound));
                    broken.push(format!("the memory after the attack is {after}; the bound is {bound}"));
                }
            }
        }
        if bounds == BoundSet::All {
            self.bystander.judge("bystander", broken);
            self.owner.judge("owner", broken);
        }
        if bounds == BoundSet::All && self.rate < attack.floor {
            let (rate, unit, floor) = (self.rate, attack.unit.name(), attack.floor);
            self.void = Some(format!("the attack sent {rate} {unit}/s; the minimum is {floor}"));
        } else if self.sent.bytes == 0 && self.sent.connections == 0 {
            self.void = Some("the attack sent nothing".to_owned());
        }
    }
}

impl AttackUnit {
    fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Messages => "messages",
            Self::Bytes => "bytes",
        }
    }
}

impl HostileReport {
    /// Creates an empty report.
    pub(super) fn new(bounds: BoundSet) -> Self {
        Self { bounds, attacks: Vec::new() }
    }

    /// The bounds that were broken and the attacks that were too slow, each with its attack.
    pub(crate) fn problems(&self) -> Vec<String> {
        let of = |attack: &AttackReport| {
            let name = attack.name;
            let reasons: Vec<String> = attack.broken.iter().chain(&attack.void).cloned().collect();
            reasons.into_iter().map(move |reason| format!("{name}: {reason}"))
        };
        self.attacks.iter().flat_map(of).collect()
    }
}

impl BenchReport for HostileReport {
    fn text(&self) -> String {
        let mut text = String::from(
            "| attack | role | rate | bystander p99, worst | owner p99, worst | peak | after | result |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        for attack in &self.attacks {
            let party = |party: &PartyReport| format!("{} ms, {} ms", party.p99_ms, party.worst_ms);
            let rate = match attack.unit {
                AttackUnit::Bytes => format!("{}/s", format_bytes(attack.rate)),
                unit => format!("{:.0} {}/s", attack.rate, unit.name()),
            };
            let memory = |read: fn(&AttackMemory) -> u64| {
                attack.memory.as_ref().map_or_else(|| "ended".to_owned(), |memory| megabytes(read(memory)))
            };
            let result = match (attack.broken.is_empty(), &attack.void) {
                (false, _) => "broken",
                (true, Some(_)) => "void",
                (true, None) => "kept",
            };
            let (bystander, owner) = (party(&attack.bystander), party(&attack.owner));
            let (peak, after) = (memory(|memory| memory.peak), memory(|memory| memory.after));
            let _ = writeln!(
                text,
                "| {} | {} | {rate} | {bystander} | {owner} | {peak} | {after} | {result} |",
                attack.name, attack.role,
            );
        }
        for attack in &self.attacks {
            append_errors(&mut text, &format!("{}: bystander", attack.name), &attack.bystander.failures);
            append_errors(&mut text, &format!("{}: owner", attack.name), &attack.owner.failures);
        }
        for problem in self.problems() {
            let _ = writeln!(text, "broken: {problem}");
        }
        text
    }

    fn is_valid(&self) -> bool {
        self.attacks.iter().all(|attack| attack.void.is_none())
    }
}

#[allow(clippy::cast_precision_loss, reason = "sizes of memory")]
fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}
