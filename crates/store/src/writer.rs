//! The single writer: a thread with the only connection that writes. It collects the records of a time
//! window, writes them in one transaction, notifies waiting calls, then does other work and starts again.
//!
//! If the database cannot be written to, the writer keeps its records (as many as the queue allows) and
//! retries with growing pauses. It never blocks a call: waiting calls continue after a bounded time.

mod call_id_hasher;
mod checkpoints;
mod connection;
mod faults;
pub(crate) mod job;
pub(crate) mod queue;
pub(crate) mod response_drafts;
pub(crate) mod rows;
pub(crate) mod soft_changes;
mod start_log;
pub(crate) mod started_calls;
pub(crate) mod submit;

use std::collections::{HashSet, VecDeque};
use std::io;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sqlx::{Connection, SqliteConnection};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use toolway_types::CallId;

use self::call_id_hasher::CallIdHashBuilder;
use self::checkpoints::CheckpointScheduler;
use self::connection::WriterConnection;
use self::faults::WriteFaults;
use self::job::WriterJob;
use self::queue::{QueueEntry, QueuedCall, WriteQueue};
use self::rows::{RecordBatch, RowWriter, StartsRow};
use self::start_log::StartLog;
use crate::connector::DatabaseConnector;
use crate::error::{StoreError, is_connection_error, is_transient};
use crate::health::RecordingCounters;
use crate::options::StoreOptions;

/// Time for which deferrable changes are collected.
const SOFT_WINDOW: Duration = Duration::from_secs(1);
/// Time for which deferrable changes are collected if they include drafts of answers.
const DRAFT_WINDOW: Duration = Duration::from_millis(250);
/// Number of attempts to write the remaining records when the store closes, and the pause between them.
const LAST_ATTEMPTS: u32 = 3;
const LAST_PAUSE: Duration = Duration::from_millis(100);

struct WriterThread {
    queue: Arc<WriteQueue>,
    counters: Arc<RecordingCounters>,
    /// Time that a record waits for others in the same batch.
    window: Duration,
    connection: WriterConnection,
    rows: RowWriter,
    starts: StartLog,
    record_bytes: usize,
    /// Records taken from the queue and not yet written, oldest first.
    pending: Vec<QueueEntry>,
    /// Empty buffer for the queue.
    spare: Vec<QueueEntry>,
    closed_ids: HashSet<CallId, CallIdHashBuilder>,
    soft_deadline: Option<Instant>,
    faults: WriteFaults,
    checkpoints: CheckpointScheduler,
}

/// Starts the thread. The receiver resolves when the thread has ended.
///
/// # Errors
/// Fails if the system cannot create a thread or a runtime.
pub(crate) fn start(
    queue: Arc<WriteQueue>,
    counters: Arc<RecordingCounters>,
    connector: DatabaseConnector,
    options: StoreOptions,
    conn: SqliteConnection,
) -> io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    thread::Builder::new().name("toolway-store".to_owned()).spawn(move || {
        let farewell =
            WriterExitGuard { queue: Arc::clone(&queue), counters: Arc::clone(&counters), _ended: ended };
        runtime.block_on(async move {
            let writer = WriterThread {
                checkpoints: CheckpointScheduler::new(connector.clone()),
                connection: WriterConnection::new(connector, options.durability, conn),
                window: options.window,
                rows: RowWriter::new(options.record_bytes),
                starts: StartLog::default(),
                record_bytes: options.record_bytes,
                faults: WriteFaults::new(options.give_up_after),
                pending: Vec::new(),
                spare: Vec::new(),
                closed_ids: HashSet::default(),
                soft_deadline: None,
                queue,
                counters,
            };
            writer.run().await;
        });
        drop(farewell);
    })?;
    Ok(end)
}

/// Closes the queue when the thread ends for any reason, so that no call waits forever.
struct WriterExitGuard {
    queue: Arc<WriteQueue>,
    counters: Arc<RecordingCounters>,
    /// Dropped last, which signals the end.
    _ended: oneshot::Sender<()>,
}

impl Drop for WriterExitGuard {
    fn drop(&mut self) {
        let left = self.queue.close();
        if left > 0 {
            self.counters.add_lost(left);
            tracing::error!(records = left, "the store ended with call records that were not written");
        }
    }
}

impl WriterThread {
    async fn run(mut self) {
        loop {
            let stopping = self.wait().await;
            let taken = self.queue.take(mem::take(&mut self.spare));
            self.add_records(taken.records);
            self.write_records().await;
            if stopping
                || !taken.work.is_empty()
                || self.soft_deadline.is_some_and(|due| due <= Instant::now())
            {
                self.write_soft().await;
            }
            self.run_jobs(taken.work).await;
            if stopping {
                return self.finish().await;
            }
        }
    }

    /// Waits until there is work to do. Returns true if the store is closing.
    async fn wait(&mut self) -> bool {
        let mut window_end = None;
        loop {
            let there = self.queue.status();
            if there.stopping || there.work {
                return there.stopping;
            }
            let now = Instant::now();
            if there.soft {
                let window = if there.drafts { DRAFT_WINDOW } else { SOFT_WINDOW };
                let due = self.faults.next_attempt(now).max(now + window);
                self.soft_deadline = Some(self.soft_deadline.map_or(due, |known| known.min(due)));
            }
            let records_due = if !self.pending.is_empty() || there.records {
                let end = *window_end.get_or_insert(now + self.window);
                let due = if there.urgent { now } else { end };
                Some(due.max(self.faults.next_attempt(now)))
            } else {
                None
            };
            match [records_due, self.soft_deadline].into_iter().flatten().min() {
                Some(due) if due <= now => return false,
                // The next iteration decides, whether it was notified or timed out.
                Some(due) => {
                    let _ = timeout_at(due, self.queue.wait_for_wake()).await;
                }
                None => self.queue.wait_for_wake().await,
            }
        }
    }

    /// Adds records to the pending ones. A start is redundant if its end is there too.
    fn add_records(&mut self, mut records: Vec<QueueEntry>) {
        self.closed_ids.clear();
        self.closed_ids.extend(records.iter().filter_map(|entry| match &entry.record {
            QueuedCall::Closed(closed) => Some(closed.opened.id),
            QueuedCall::Opened(_) => None,
        }));
        if !self.closed_ids.is_empty() {
            let closed = &self.closed_ids;
            let merged = |entry: &mut QueueEntry| {
                matches!(entry.record, QueuedCall::Opened(_))
                    && entry.done.is_none()
                    && closed.contains(&entry.record.id())
            };
            let mut gone: Vec<QueueEntry> = self.pending.extract_if(.., merged).collect();
            gone.extend(records.extract_if(.., merged));
            self.queue.settle(&gone);
        }
        if self.pending.is_empty() {
            mem::swap(&mut self.pending, &mut records);
        } else {
            self.pending.append(&mut records);
        }
        self.spare = queue::reusable_buffer(records);
    }

    /// Writes pending records, as far as possible.
    async fn write_records(&mut self) {
        while !self.pending.is_empty() {
            let count = self.pending.len().min(rows::MAX_ROWS);
            let began = Instant::now();
            match self.try_write(count).await {
                Ok(()) => {
                    // Before the waiting calls are notified, so that they see the new state.
                    self.handle_recovery();
                    self.counters.add_written(count);
                    let bytes = self.settle(count, true);
                    self.checkpoints.add_written(count, bytes);
                }
                Err(error) if is_transient(&error) => {
                    self.handle_failure(began, &error);
                    return;
                }
                // Retrying would fail again, and it would block all other records.
                Err(error) => {
                    self.handle_failure(began, &error);
                    self.counters.add_lost(count);
                    self.settle(count, false);
                }
            }
        }
        self.faults.log_lost(&self.counters);
    }

    async fn try_write(&mut self, count: usize) -> Result<(), sqlx::Error> {
        let now = self.pending.get(..count).unwrap_or(&self.pending);
        let awaited = now.iter().any(|entry| entry.done.is_some());
        let mut starts = Vec::new();
        let mut batch = RecordBatch::new(awaited);
        for entry in now {
            match &entry.record {
                QueuedCall::Opened(opened) if start_log::is_for_slot(entry) => starts.push(opened),
                record => batch.push(record),
            }
        }
        let slot = self.starts.next_slot();
        let mut moved: Vec<QueuedCall> = Vec::new();
        if !starts.is_empty() {
            batch.starts = Some(StartsRow { slot, text: started_calls::encode(&starts, self.record_bytes) });
            moved.extend(self.starts.calls_in(slot).cloned().map(QueuedCall::Opened));
            // Before the attempt, because a part of it can succeed.
            self.starts.mark_stored();
        }
        for record in &moved {
            batch.is_atomic = true;
            batch.push(record);
        }
        let conn = self.connection.get(awaited).await?;
        self.rows.write(conn, &batch).await?;
        for record in batch.rows() {
            self.starts.remove(record.id());
        }
        if !starts.is_empty() {
            self.starts.add(slot, starts.into_iter().cloned());
        }
        Ok(())
    }

    /// Gives all running calls rows, so that readers see them.
    async fn move_starts(&mut self) {
        // After a failure, another attempt would only delay the reader.
        if !self.starts.is_stored() || !self.pending.is_empty() {
            return;
        }
        let began = Instant::now();
        let moved = async {
            let calls: Vec<QueuedCall> = self.starts.calls().cloned().map(QueuedCall::Opened).collect();
            let mut batch = RecordBatch::default();
            calls.iter().for_each(|call| batch.push(call));
            let mut transaction = self.connection.get(false).await?.begin_with("BEGIN IMMEDIATE").await?;
            self.rows.write_rows(&mut transaction, &batch).await?;
            started_calls::remove_all(&mut transaction).await?;
            transaction.commit().await
        };
        match moved.await {
            Ok(()) => {
                self.starts.clear();
                self.handle_recovery();
            }
            Err(error) => self.handle_failure(began, &error),
        }
    }

    /// Removes the first records, and notifies the waiting calls if they were written. Returns their weight.
    fn settle(&mut self, count: usize, written: bool) -> usize {
        let mut gone: Vec<QueueEntry> = if count == self.pending.len() {
            mem::take(&mut self.pending)
        } else {
            self.pending.drain(..count).collect()
        };
        self.queue.settle(&gone);
        let mut bytes = 0;
        for entry in &mut gone {
            bytes += entry.weight;
            if let Some(done) = entry.done.take_if(|_| written) {
                // The caller may be gone.
                let _ = done.send(());
            }
        }
        if self.pending.capacity() == 0 {
            self.pending = queue::reusable_buffer(gone);
        }
        bytes
    }

    fn handle_failure(&mut self, began: Instant, error: &sqlx::Error) {
        self.faults.record_failure(began, error, &self.counters, self.queue.waiting());
        if is_connection_error(error) {
            self.connection.drop_connection();
        }
        if self.faults.is_lasting() {
            self.queue.set_degraded(true);
            // The calls continue; their records stay pending.
            for entry in &mut self.pending {
                entry.done = None;
            }
        }
    }

    fn handle_recovery(&mut self) {
        if self.faults.record_recovery(&self.counters) {
            self.queue.set_degraded(false);
        }
    }

    async fn write_soft(&mut self) {
        self.soft_deadline = None;
        let soft = self.queue.take_soft();
        if soft.is_empty() {
            return;
        }
        let began = Instant::now();
        let written = async { soft.write(self.connection.get(false).await?).await };
        match written.await {
            Ok(()) => self.handle_recovery(),
            Err(error) => {
                self.handle_failure(began, &error);
                if is_transient(&error) {
                    self.queue.return_soft(soft);
                }
            }
        }
    }

    async fn run_jobs(&mut self, work: VecDeque<WriterJob>) {
        for work in work {
            match work {
                WriterJob::Flush(answer) => {
                    self.move_starts().await;
                    // The caller may be gone.
                    let _ = answer.send(self.pending.len());
                }
                WriterJob::Run { durable, task } => {
                    let ready = self.connection.get(durable).await.map_err(StoreError::database("opening"));
                    task(ready).await;
                }
            }
        }
    }

    /// Writes the last records. Those that cannot be written are counted as lost when the thread ends.
    async fn finish(mut self) {
        for _ in 1..LAST_ATTEMPTS {
            if self.pending.is_empty() && !self.queue.status().records {
                break;
            }
            if !self.pending.is_empty() {
                tokio::time::sleep(LAST_PAUSE).await;
            }
            let taken = self.queue.take(Vec::new());
            self.add_records(taken.records);
            self.write_records().await;
        }
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "the database could not be closed properly");
        }
    }
}
