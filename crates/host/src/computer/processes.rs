//! `processes`: the busiest processes. Only names are reported, because command lines and environments
//! contain secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sysinfo::{MINIMUM_CPU_UPDATE_INTERVAL, ProcessRefreshKind, ProcessesToUpdate, System};
use toolway_device::{Json, Tool, ToolError};

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ProcessSortKey {
    #[default]
    Cpu,
    Memory,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ProcessesRequest {
    /// Sort by processor use or by memory use, highest first.
    #[serde(default)]
    sort_by: ProcessSortKey,
    /// Maximum number of processes to list.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
}

fn ten() -> usize {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProcessList {
    /// Total number of processes.
    total: usize,
    /// The listed processes.
    processes: Vec<ProcessSummary>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProcessSummary {
    pid: u32,
    name: String,
    /// Processor use in percent of one core, so it may exceed 100.
    cpu_percent: f64,
    memory_bytes: u64,
    state: String,
    /// Seconds since the process started.
    run_time_s: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    parent: Option<u32>,
}

pub(super) fn tool() -> Tool {
    Tool::typed(
        "processes",
        "Lists the processes with the highest processor or memory use",
        |question: ProcessesRequest, _| async move { read(question).await.map(Json) },
    )
    .title("Processes")
    .read_only()
    .output_schema_of::<ProcessList>()
}

async fn read(question: ProcessesRequest) -> Result<ProcessList, ToolError> {
    let system = super::query_system(|| {
        let mut system = System::new().map_err(super::unavailable_error("its processes"))?;
        refresh(&mut system);
        Ok(system)
    })
    .await?;
    if matches!(question.sort_by, ProcessSortKey::Memory) {
        return super::query_system(move || Ok(list(&system, &question))).await;
    }
    // Processor use is the difference between two measurements.
    tokio::time::sleep(MINIMUM_CPU_UPDATE_INTERVAL).await;
    super::query_system(move || {
        let mut system = system;
        refresh(&mut system);
        Ok(list(&system, &question))
    })
    .await
}

fn refresh(system: &mut System) {
    let wanted = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, wanted);
}

fn list(system: &System, question: &ProcessesRequest) -> ProcessList {
    let mut all: Vec<&sysinfo::Process> = system.processes().values().collect();
    all.sort_by(|one, other| {
        let order = match question.sort_by {
            ProcessSortKey::Cpu => other.cpu_usage().total_cmp(&one.cpu_usage()),
            ProcessSortKey::Memory => other.memory().cmp(&one.memory()),
        };
        order.then_with(|| one.pid().cmp(&other.pid()))
    });
    ProcessList { total: all.len(), processes: all.into_iter().take(question.limit).map(process).collect() }
}

fn process(process: &sysinfo::Process) -> ProcessSummary {
    ProcessSummary {
        pid: process.pid().as_u32(),
        name: process.name().to_string_lossy().into_owned(),
        cpu_percent: super::rounded(process.cpu_usage()),
        memory_bytes: process.memory(),
        state: process.status().to_string().to_lowercase(),
        run_time_s: process.run_time(),
        parent: process.parent().map(sysinfo::Pid::as_u32),
    }
}
