//! `disk_usage`: size and free space of local disks. Network file systems are left out, because one with an
//! unreachable server would block forever.

use schemars::JsonSchema;
use serde::Serialize;
use sysinfo::{DiskRefreshKind, Disks};
use toolway_device::{Json, NoArguments, Tool, ToolError};

#[derive(Debug, Serialize, JsonSchema)]
struct DiskUsage {
    /// Disks, sorted by mount point.
    disks: Vec<MountedDisk>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MountedDisk {
    mount_point: String,
    /// Block device.
    device: String,
    file_system: String,
    total_bytes: u64,
    /// Space available to programs.
    available_bytes: u64,
    used_percent: f64,
    removable: bool,
    read_only: bool,
}

pub(super) fn tool() -> Tool {
    Tool::typed("disk_usage", "Reports the size and free space of each disk", |_: NoArguments, _| async {
        super::query_system(read).await.map(Json)
    })
    .title("Disk usage")
    .read_only()
    .output_schema_of::<DiskUsage>()
}

fn read() -> Result<DiskUsage, ToolError> {
    let wanted = DiskRefreshKind::nothing().with_storage();
    let disks =
        Disks::new_with_refreshed_list_specifics(wanted).map_err(super::unavailable_error("its disks"))?;
    let mut disks: Vec<MountedDisk> = disks.iter().map(disk).collect();
    disks.sort_by(|one, other| one.mount_point.cmp(&other.mount_point));
    disks.dedup_by(|later, earlier| later.mount_point == earlier.mount_point);
    Ok(DiskUsage { disks })
}

fn disk(disk: &sysinfo::Disk) -> MountedDisk {
    let (total, available) = (disk.total_space(), disk.available_space());
    let used = total.saturating_sub(available) as f32 / total.max(1) as f32;
    MountedDisk {
        mount_point: disk.mount_point().display().to_string(),
        device: disk.name().to_string_lossy().into_owned(),
        file_system: disk.file_system().to_string_lossy().into_owned(),
        total_bytes: total,
        available_bytes: available,
        used_percent: super::rounded(used * 100.0),
        removable: disk.is_removable(),
        read_only: disk.is_read_only(),
    }
}
