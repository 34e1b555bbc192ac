//! Checkpoints the write-ahead log on another connection, because the two syncs would block the writer. The
//! connection is opened for the first checkpoint.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::connector::DatabaseConnector;

/// Size of new records that triggers a checkpoint, in bytes.
const CHECKPOINT_BYTES: usize = 4 << 20;
/// Approximate size of a row without its arguments and outcome, in bytes.
const ROW_OVERHEAD_BYTES: usize = 300;

/// Counts written bytes and starts checkpoints.
#[derive(Debug)]
pub(super) struct CheckpointScheduler {
    written: usize,
    start: Arc<Notify>,
    task: JoinHandle<()>,
}

impl CheckpointScheduler {
    /// Creates a scheduler. Must be called within a runtime.
    pub(super) fn new(connector: DatabaseConnector) -> Self {
        let start = Arc::new(Notify::new());
        let task = tokio::spawn(run_checkpoints(connector, Arc::clone(&start)));
        Self { written: 0, start, task }
    }

    /// Adds written rows and bytes to the count.
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
            // A passive checkpoint does as much as possible without blocking readers or the writer.
            Ok(mut open) => {
                let done = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").fetch_all(&mut open).await;
                done.map(|_| conn = Some(open))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            // The log grows until the next attempt; the automatic checkpoint of the writer's connection is
            // the backstop.
            tracing::debug!(%error, "the write-ahead log could not be moved into the database");
        }
    }
}
