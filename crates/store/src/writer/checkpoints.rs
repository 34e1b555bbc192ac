//! Moves what is in the write-ahead log into the database, beside the writer: the two syncs that it takes
//! would otherwise keep records waiting. Its connection is opened when there is first something to move.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::connector::DatabaseConnector;

/// Bytes of records after which it is worth doing.
const CHECKPOINT_BYTES: usize = 4 << 20;
/// Approximate size of a row without its arguments and outcome, in bytes.
const ROW_OVERHEAD_BYTES: usize = 300;

/// Counts what was written and starts a checkpoint now and then.
#[derive(Debug)]
pub(super) struct CheckpointScheduler {
    written: usize,
    start: Arc<Notify>,
    task: JoinHandle<()>,
}

impl CheckpointScheduler {
    /// Must be called within a runtime.
    pub(super) fn new(connector: DatabaseConnector) -> Self {
        let start = Arc::new(Notify::new());
        let task = tokio::spawn(run_checkpoints(connector, Arc::clone(&start)));
        Self { written: 0, start, task }
    }

    /// Notes what was written.
    pub(super) fn add_written(&mut self, rows: usize, bytes: usize) {
        self.written += rows * ROW_OVERHEAD_BYTES + bytes;
        if self.written >= CHECKPOINT_BYTES {
            self.written = 0;
            self.start.notify_one();
        }
    }
}

impl Drop for CheckpointScheduler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run_checkpoints(connector: DatabaseConnector, start: Arc<Notify>) {
    let mut conn = None;
    loop {
        start.notified().await;
        let open = match conn.take() {
            Some(open) => Ok(open),
            None => connector.helper().await,
        };
        let done = match open {
            // Passive: it takes what it can get without holding up reader or writer.
            Ok(mut open) => {
                let done = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").fetch_all(&mut open).await;
                done.map(|_| conn = Some(open))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            // The log grows until the next attempt; the writer's own checkpoint is the backstop.
            tracing::debug!(%error, "the write-ahead log could not be moved into the database");
        }
    }
}
