//! Attacks on a gateway from every role, and what they do to others: the latency of a bystander and of the owner,
//! and the memory of the gateway.
//!
//! Each attack runs against its own gateway, so that its memory belongs to this attack; in the short version, the
//! attacks of one role share a gateway. `attack` is the definition
//! of an attack and `catalog` the list of all; `attacker` is the process that sends, pinned to one core, with
//! `stream` for one of its connections; `target` is the gateway with everything that an attack needs; `probes` are
//! the bystander and the owner; `report` has the bounds. `factors` compares the memory of data with the gateway's count.

mod attack;
pub(crate) mod attacker;
mod catalog;
mod content;
pub(crate) mod factors;
mod message;
mod probes;
mod report;
mod stream;
mod target;

use std::time::Duration;

use tokio::time::{Instant, sleep};

use self::attack::Attack;
use self::attacker::AttackerProcess;
use self::probes::{Probes, read_idle_memory};
use self::report::{AttackMemory, AttackReport, BoundSet, HostileReport};
use self::target::AttackTarget;
use crate::error::{Result, unexpected};
use crate::gateway::GatewayLaunchOptions;
use crate::output::log_progress;
use crate::procfs::ProcessMemory;

/// Time after an attack within which the gateway must have freed its memory.
const RECOVERY_TIME: Duration = Duration::from_secs(10);
/// Interval between readings of the memory after an attack.
const RECOVERY_STEP: Duration = Duration::from_millis(100);

/// Options of the attacks.
#[derive(Debug, Clone)]
pub(crate) struct HostilePlan {
    /// The gateway.
    pub(crate) gateway: GatewayLaunchOptions,
    /// True for the short version: each attack sends a fixed amount, and only memory and survival are judged.
    pub(crate) is_short: bool,
    /// Runs only attacks whose names contain this text.
    pub(crate) only: Option<String>,
    /// Duration of each attack in the full version.
    pub(crate) seconds: f64,
}

/// Runs the attacks one after the other.
pub(crate) async fn measure(plan: &HostilePlan) -> Result<HostileReport> {
    let bounds = if plan.is_short { BoundSet::MemoryOnly } else { BoundSet::All };
    let mut report = HostileReport::new(bounds);
    let is_chosen =
        |attack: &&Attack| plan.only.as_ref().is_none_or(|text| attack.name.contains(text.as_str()));
    let attacks: Vec<&Attack> = catalog::ATTACKS.iter().filter(is_chosen).collect();
    if attacks.is_empty() {
        return unexpected("no attack has this name; --hostile without --only runs all of them");
    }
    let gateway = plan.gateway.with_returned_memory();
    let is_together = |one: &&Attack, other: &&Attack| plan.is_short && one.role == other.role;
    for group in attacks.chunk_by(is_together) {
        let target = AttackTarget::start(&gateway, group).await?;
        let idle = read_idle_memory(&target).await?;
        for attack in group {
            log_progress(&format!("attack: {}", attack.name));
            report.attacks.push(run_attack(plan, attack, &target, idle, bounds).await?);
        }
        target.stop().await?;
    }
    Ok(report)
}

async fn run_attack(
    plan: &HostilePlan,
    attack: &Attack,
    target: &AttackTarget,
    idle: u64,
    bounds: BoundSet,
) -> Result<AttackReport> {
    let probes = Probes::start(target).await?;
    ProcessMemory::reset_peak(target.pid())?;
    let limit = if plan.is_short { attack.short_run() } else { attack.full_run(plan.seconds) };
    let sent = AttackerProcess::run(attack, target, limit).await;
    let peak = ProcessMemory::read(target.pid()).ok();
    let latencies = probes.stop().await;
    let after = match peak {
        Some(_) => read_recovered(target.pid(), idle + bounds.memory_left(), plan.is_short).await,
        None => None,
    };
    let memory = peak.zip(after).map(|(peak, after)| AttackMemory {
        idle,
        peak: peak.peak,
        after,
        budget: target.memory_budget,
    });
    let mut report = AttackReport::new(attack, sent?, latencies, memory, target.log_bytes());
    report.judge(attack, bounds);
    Ok(report)
}

/// Reads the memory after the attack. The short version waits only until enough is free. Returns `None` if the
/// gateway has ended.
async fn read_recovered(pid: u32, bound: u64, ends_early: bool) -> Option<u64> {
    let end = Instant::now() + RECOVERY_TIME;
    loop {
        let resident = ProcessMemory::read(pid).ok()?.resident;
        let is_free = resident <= bound;
        if Instant::now() >= end || (ends_early && is_free) {
            return Some(resident);
        }
        sleep(RECOVERY_STEP).await;
    }
}
