use super::*;

#[test]
fn stat_is_read_past_a_name_with_spaces_and_parentheses() {
    let stat = "42 (a b) c) S 1 42 42 0 -1 4194560 900 0 0 0 17 25 0 0 20 0 3 0 1 2 3";
    assert_eq!(user_and_system(stat), Some(42));
    assert_eq!(user_and_system("42 (short) S 1"), None);
}

#[test]
fn memory_is_read_in_kilobytes() {
    let status = "Name:\tx\nVmHWM:\t   14000 kB\nVmRSS:\t   12345 kB\n";
    assert_eq!(kilobytes(status, "VmRSS:"), Some(12_345));
    assert_eq!(kilobytes(status, "VmHWM:"), Some(14_000));
    assert_eq!(kilobytes(status, "VmSwap:"), None);
}

#[test]
fn limits_are_read() {
    let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files            20000                20000                files\n";
    assert_eq!(soft_limit(limits), Some(20_000));
    assert_eq!(soft_limit("Max open files unlimited unlimited files"), Some(u64::MAX));
    assert_eq!(soft_limit(""), None);
}

#[test]
fn cpu_counts_new_threads_whole_and_old_ones_by_difference() {
    let before = CpuTime::Threads(HashMap::from([(1, 100), (2, 50)]));
    let after = CpuTime::Threads(HashMap::from([(1, 160), (3, 7)]));
    assert_eq!(after.since(&before), Duration::from_nanos(67));
    assert_eq!(CpuTime::Ticks(12).since(&CpuTime::Ticks(10)), Duration::from_millis(20));
}

#[test]
fn this_process_can_be_read() {
    let pid = std::process::id();
    let memory = ProcessMemory::read(pid).unwrap();
    assert!(memory.resident > 100_000 && memory.peak >= memory.resident / 2, "{memory:?}");
    let before = CpuTime::read(pid).unwrap();
    assert!(matches!(before, CpuTime::Threads(_) | CpuTime::Ticks(_)));
}
