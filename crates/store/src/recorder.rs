//! The engine's recorder: queues records, and finds earlier calls by idempotency key.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::SqlitePool;
use toolway_core::record::{CallDurations, ClosedCall, EarlierCall, OpenedCall, RecordCommit, Recorder};
use toolway_types::PrincipalId;

use crate::call_row::{RowColumns, call_id};
use crate::database::Database;
use crate::error::StoreError;
use crate::health::RecordingCounters;
use crate::outcome;
use crate::writer::queue::{QueuedCall, WriteQueue};

/// Records calls in the store. The database stays open while the recorder exists.
#[derive(Debug)]
pub(crate) struct StoreRecorder {
    queue: Arc<WriteQueue>,
    counters: Arc<RecordingCounters>,
    readers: SqlitePool,
    _database: Arc<Database>,
}

impl StoreRecorder {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self {
            queue: Arc::clone(&database.queue),
            counters: Arc::clone(&database.counters),
            readers: database.readers.clone(),
            _database: database,
        }
    }

    fn record(&self, record: QueuedCall) -> RecordCommit {
        self.queue.push(record).unwrap_or_else(|_| {
            self.counters.add_lost(1);
            RecordCommit::Queued
        })
    }

    async fn find_stored(
        &self,
        principal: &PrincipalId,
        key: &str,
        since_ms: i64,
    ) -> Result<Option<(i64, EarlierCall)>, StoreError> {
        const FIND: &str = "SELECT started_ms, id, idempotency_hash, outcome, total_us, user_wait_us, queued_us, running_us \
             FROM calls WHERE principal = ? AND idempotency_key = ? AND started_ms >= ? \
             ORDER BY started_ms DESC, seq DESC LIMIT 1";
        let row = sqlx::query(FIND)
            .bind(&*principal.0)
            .bind(key)
            .bind(since_ms)
            .fetch_optional(&self.readers)
            .await
            .map_err(StoreError::database("look-up of an earlier call"))?;
        let Some(row) = row else { return Ok(None) };
        let columns = RowColumns(&row);
        let hash = columns.blob(2)?;
        let hash = hash.try_into().map_err(|hash: Vec<u8>| StoreError::BadValue {
            what: "hash of an idempotency key",
            text: format!("{} bytes", hash.len()),
        })?;
        let duration = |at| columns.micros(at).map(Duration::from_micros);
        let earlier = EarlierCall {
            id: call_id(&columns.blob(1)?)?,
            hash,
            outcome: columns.text(3)?.and_then(|text| outcome::decode(&text)).map(Arc::new),
            durations: CallDurations {
                total: duration(4)?,
                waiting: duration(5)?,
                queued: duration(6)?,
                running: duration(7)?,
            },
        };
        Ok(Some((columns.number(0)?, earlier)))
    }
}

#[async_trait]
impl Recorder for StoreRecorder {
    fn open(&self, call: Arc<OpenedCall>) -> RecordCommit {
        self.record(QueuedCall::Opened(call))
    }

    fn close(&self, call: ClosedCall) -> RecordCommit {
        self.record(QueuedCall::Closed(call))
    }

    async fn find_by_key(&self, principal: &PrincipalId, key: &str, since_ms: i64) -> Option<EarlierCall> {
        // The queue is read first: a record that leaves it during the query is already in the database.
        let waiting =
            self.queue.find_keyed(principal, key).filter(|record| record.opened().started_ms >= since_ms);
        let stored = match self.find_stored(principal, key, since_ms).await {
            Ok(stored) => stored,
            Err(error) => {
                self.counters.record_fault(error.to_string());
                tracing::error!(%error, "an earlier call with the same idempotency key could not be looked up");
                None
            }
        };
        match (waiting, stored) {
            (Some(waiting), Some((started_ms, stored))) if started_ms > waiting.opened().started_ms => {
                Some(stored)
            }
            (Some(waiting), _) => earlier_call(&waiting),
            (None, stored) => stored.map(|(_, stored)| stored),
        }
    }
}

fn earlier_call(record: &QueuedCall) -> Option<EarlierCall> {
    let opened = record.opened();
    let (outcome, durations) = match record {
        QueuedCall::Opened(_) => (None, CallDurations::default()),
        QueuedCall::Closed(closed) => (Some(Arc::clone(&closed.outcome)), closed.durations),
    };
    Some(EarlierCall { id: opened.id, hash: opened.key.as_ref()?.hash, outcome, durations })
}
