//! Options of the store.

use std::time::Duration;

/// When a call's record counts as kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Written within a few milliseconds; calls don't wait for it.
    #[default]
    Batch,
    /// A call waits until its opening is on disk before it runs, and until its outcome is before it answers.
    Each,
}

/// The store's settings, each with its default.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// When a call's record counts as kept.
    pub durability: Durability,
    /// Most bytes kept of one call's arguments, and of its outcome (1 MiB). Outcomes of calls with an
    /// idempotency key are kept whole, because a second caller is given them.
    pub record_bytes: usize,
    /// Days for which call records are kept (30). 0 keeps them forever.
    pub retention_days: u32,
    /// Most bytes the database may hold (1 GiB), what conversations take not counted; the oldest records of calls go
    /// first. 0 is no bound.
    pub retention_bytes: u64,
    /// Most openings and closings that wait to be written (65,536). Past it they are lost, and counted.
    pub queue_records: usize,
    /// Most bytes of arguments and outcomes that wait to be written (64 MiB).
    pub queue_bytes: usize,
    /// Time that a record waits for others, to be written with them (10 ms).
    pub window: Duration,
    /// Time that one attempt waits for another program's lock on the database (1 s).
    pub busy_timeout: Duration,
    /// Time that calls wait for their commit when the database can't be written to (1 s). After that they go
    /// on while their records wait in the queue.
    pub give_up_after: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Batch,
            record_bytes: 1 << 20,
            retention_days: 30,
            retention_bytes: 1 << 30,
            queue_records: 65_536,
            queue_bytes: 64 << 20,
            window: Duration::from_millis(10),
            busy_timeout: Duration::from_secs(1),
            give_up_after: Duration::from_secs(1),
        }
    }
}
