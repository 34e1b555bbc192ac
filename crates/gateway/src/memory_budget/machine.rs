//! The default size of the budget: a part of the machine's memory.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Default size on a machine with much memory, in bytes.
const DEFAULT_BYTES: u64 = 256 << 20;
/// Part of the machine's memory on a smaller one: one of this many.
const MACHINE_PART: u64 = 8;

/// The default size of the budget on this machine, in bytes.
pub(crate) fn default_bytes() -> u64 {
    let wanted = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let Ok(system) = System::new_with_specifics(wanted) else { return DEFAULT_BYTES };
    // A container may have less than the machine.
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    default_for(system.total_memory().min(limit))
}

/// The default size for this much memory; 0 if it is not known.
fn default_for(memory: u64) -> u64 {
    match memory {
        0 => DEFAULT_BYTES,
        memory => DEFAULT_BYTES.min(memory / MACHINE_PART),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_has_an_eighth_of_its_memory() {
        assert_eq!(default_for(16 << 30), 256 << 20);
        assert_eq!(default_for(2 << 30), 256 << 20);
        assert_eq!(default_for(512 << 20), 64 << 20);
        assert_eq!(default_for(0), 256 << 20);
    }
}
