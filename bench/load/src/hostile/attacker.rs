//! The process that attacks. It runs on one core, so that the rest of the machine is left to the gateway, the
//! bystander and the owner, whatever the attack costs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use super::attack::{Attack, AttackLimit, RepeatedMessage, SentAmount};
use super::catalog;
use super::content::AttackContext;
use super::stream::{AttackStream, SentTally};
use super::target::AttackTarget;
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::create_data_folder;
use crate::input_lines::input_lines;
use crate::output::print_line;
use crate::process::{ChildProcess, ChildProgram};

/// Open files that a process needs in addition to its connections.
const OTHER_FILES: u64 = 100;
/// Time for the attacker to end after the end of its attack. A busy machine delays it.
const END_TIME: Duration = Duration::from_secs(60);
/// Interval at which the amount is compared with the limit.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// The order to attack.
#[derive(Debug, Serialize, Deserialize)]
struct AttackOrder {
    name: String,
    context: AttackContext,
    limit: AttackLimit,
}

/// The attacker, seen from the harness.
pub(super) struct AttackerProcess;

impl AttackerProcess {
    /// Runs an attack. Returns what the attacker has sent. Its connections are closed when it has ended.
    pub(super) async fn run(
        attack: &Attack,
        target: &AttackTarget,
        limit: AttackLimit,
    ) -> Result<SentAmount> {
        let folder = create_data_folder()?;
        let mut process = ChildProcess::start(&program(attack, &folder)?)?;
        let order = AttackOrder { name: attack.name.to_owned(), context: target.context(attack), limit };
        process.send_line(&serde_json::to_string(&order).context("writing an order")?).await?;
        let sent = process.next_event(END_TIME + Duration::from_secs_f64(limit.seconds)).await;
        process.kill().await?;
        sent
    }
}

/// The attacker's program: this harness, pinned to a core by `taskset` (util-linux).
fn program(attack: &Attack, folder: &TempDir) -> Result<ChildProgram> {
    let files = OTHER_FILES + attack.connections as u64;
    let harness = ChildProgram::current_harness("attacker", &["attacker"], folder.path(), files)?;
    let Some(core) = first_allowed_core() else { return Ok(harness) };
    let mut args = vec!["-c".to_owned(), core.to_string(), harness.path.display().to_string()];
    args.extend(harness.args.iter().cloned());
    Ok(ChildProgram { path: Path::new("taskset").to_owned(), args, ..harness })
}

/// The first core that this process may use. `None` on systems other than Linux.
fn first_allowed_core() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().split(['-', ',']).next()?.parse().ok()
}

/// Attacks as ordered on standard input, and reports the amount on standard output.
pub(crate) async fn run_attacker_process() -> Result<()> {
    let Some(line) = input_lines().recv().await else { return unexpected("no order has arrived") };
    let order: AttackOrder = serde_json::from_str(&line).context("reading the order")?;
    let Some(attack) = catalog::ATTACKS.iter().find(|attack| attack.name == order.name) else {
        return unexpected(format!("there is no attack {:?}", order.name));
    };
    let context = Arc::new(order.context);
    let same = match attack.repeated {
        RepeatedMessage::Same(create) => create(&context),
        _ => Vec::new(),
    };
    let (same, next_message) = (Arc::new(same), Arc::new(AtomicU64::new(0)));
    let tally = Arc::new(SentTally::new());
    let mut streams = JoinSet::new();
    for number in 0..attack.connections {
        let stream = AttackStream {
            attack,
            context: Arc::clone(&context),
            number,
            tally: Arc::clone(&tally),
            same: Arc::clone(&same),
            next_message: Arc::clone(&next_message),
        };
        streams.spawn(stream.run());
    }
    let end = Instant::now() + Duration::from_secs_f64(order.limit.seconds);
    let mut checks = interval(CHECK_INTERVAL);
    loop {
        checks.tick().await;
        let is_enough = order.limit.units.is_some_and(|units| tally.amount().units(attack.unit) >= units);
        if is_enough || Instant::now() >= end {
            break;
        }
    }
    print_line(&serde_json::to_string(&tally.amount()).context("writing the amount")?)?;
    // The harness reads the memory of the gateway, and then ends this process.
    std::future::pending().await
}
