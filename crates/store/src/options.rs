//! Options of the store.

use std::time::Duration;

/// Point at which a call's record counts as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Records are written within a few milliseconds, and calls do not wait.
    #[default]
    Batch,
    /// A call starts only after its start is on disk, and returns only after its outcome is.
    Each,
}

/// Options of the store, with their defaults.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Durability of call records.
    pub durability: Durability,
    /// Maximum size of a call's arguments, and of its outcome, in a record (1 MiB). Outcomes of calls with an
    /// idempotency key are stored whole, because a repeated call receives them.
    pub record_bytes: usize,
    /// Days for which call records are kept (30). 0 keeps them forever.
    pub retention_days: u32,
    /// Maximum size of the database without conversations, in bytes (1 GiB); the oldest call records are
    /// removed first. 0 means unlimited.
    pub retention_bytes: u64,
    /// Maximum number of records that wait to be written (65,536). Further records are lost and counted.
    pub queue_records: usize,
    /// Maximum size of arguments and outcomes that wait to be written, in bytes (64 MiB).
    pub queue_bytes: usize,
    /// Time that a record waits for others in the same batch (10 ms).
    pub window: Duration,
    /// Time that one attempt waits for another program's lock on the database (1 s).
    pub busy_timeout: Duration,
    /// Time that calls wait for their commit while the database cannot be written to (1 s). After that they
    /// continue, and their records wait in the queue.
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
