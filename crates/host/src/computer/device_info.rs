//! `device_info`: operating system, hardware and uptime of this computer.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
use toolway_device::{Json, NoArguments, Tool, ToolError};

use super::battery::{self, BatteryStatus};

#[derive(Debug, Serialize, JsonSchema)]
struct DeviceInfo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    host_name: Option<String>,
    /// Operating system or distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    os: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    os_version: Option<String>,
    /// Kernel release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    kernel: Option<String>,
    /// Processor architecture, for example `x86_64` or `aarch64`.
    architecture: String,
    cpu: Processor,
    memory: MemoryUsage,
    /// Seconds since the computer started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    uptime_s: Option<u64>,
    /// The battery, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BatteryStatus")]
    battery: Option<BatteryStatus>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Processor {
    model: String,
    /// Number of threads that can run in parallel.
    logical_cores: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize")]
    physical_cores: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MemoryUsage {
    total_bytes: u64,
    /// Memory available to programs.
    available_bytes: u64,
    swap_total_bytes: u64,
    swap_free_bytes: u64,
}

pub(super) fn tool() -> Tool {
    Tool::typed(
        "device_info",
        "Tells what this computer is: host name, operating system, kernel, architecture, processor, memory, \
         uptime, and battery where it has one",
        |_: NoArguments, _| async { super::query_system(read).await.map(Json) },
    )
    .title("Device information")
    .read_only()
    .output_schema_of::<DeviceInfo>()
}

fn read() -> Result<DeviceInfo, ToolError> {
    let wanted = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::everything());
    let system =
        System::new_with_specifics(wanted).map_err(super::unavailable_error("its name and version"))?;
    let model = system.cpus().first().map(|cpu| cpu.brand().trim()).filter(|brand| !brand.is_empty());
    Ok(DeviceInfo {
        host_name: System::host_name().ok(),
        os: System::name().ok(),
        os_version: System::os_version().ok(),
        kernel: System::kernel_version().ok(),
        architecture: System::cpu_arch(),
        cpu: Processor {
            model: model.unwrap_or("unknown").to_owned(),
            logical_cores: system.cpus().len(),
            physical_cores: System::physical_core_count().ok(),
        },
        memory: MemoryUsage {
            total_bytes: system.total_memory(),
            available_bytes: system.available_memory(),
            swap_total_bytes: system.total_swap(),
            swap_free_bytes: system.free_swap(),
        },
        uptime_s: System::uptime().ok(),
        battery: battery::read(Path::new(battery::POWER_SUPPLIES)),
    })
}
