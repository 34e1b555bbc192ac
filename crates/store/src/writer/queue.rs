//! The writer's queue. Adding a record costs the caller only one short lock and one push. The writer is
//! notified only by the first record after a pause and by records for which a call waits; it finds all others
//! at the end of the time window.

mod unwritten_keys;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use toolway_core::record::{CallNotes, ClosedCall, OpenedCall, RecordCommit};
use toolway_types::{CallId, PrincipalId, RawJson, Slug};

use self::unwritten_keys::UnwrittenKeys;
use super::job::WriterJob;
use super::response_drafts::ResponseDraft;
use super::soft_changes::{SoftChanges, SourceChange};
use crate::options::{Durability, StoreOptions};
use crate::outcome;

/// Start or end of a call.
#[derive(Debug, Clone)]
pub(crate) enum QueuedCall {
    /// The call started.
    Opened(Arc<OpenedCall>),
    /// The call ended. Contains the start too, so that the end alone makes a complete row.
    Closed(ClosedCall),
}

impl QueuedCall {
    pub(crate) fn opened(&self) -> &Arc<OpenedCall> {
        match self {
            Self::Opened(opened) => opened,
            Self::Closed(closed) => &closed.opened,
        }
    }

    pub(crate) fn id(&self) -> CallId {
        self.opened().id
    }

    /// Notes about approvals, hooks and rules, if the call has ended and there are any.
    pub(crate) fn notes(&self) -> Option<&CallNotes> {
        match self {
            Self::Opened(_) => None,
            Self::Closed(closed) => closed.notes.as_deref(),
        }
    }

    fn weight(&self) -> usize {
        let length = |json: Option<&RawJson>| json.map_or(0, |json| json.get().len());
        let arguments = length(self.opened().arguments.as_ref());
        match self {
            Self::Opened(_) => arguments,
            Self::Closed(closed) => {
                let ran_with = length(self.notes().and_then(|notes| notes.ran_with.as_ref()));
                arguments + ran_with + outcome::weight(&closed.outcome)
            }
        }
    }
}

/// A queued record.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    pub(crate) record: QueuedCall,
    /// Approximate memory use, in bytes.
    pub(crate) weight: usize,
    /// Is notified of the commit.
    pub(crate) done: Option<oneshot::Sender<()>>,
}

/// The queue was full or is closed.
#[derive(Debug)]
pub(crate) struct QueueRejection;

/// Content of the queue, taken by the writer.
#[derive(Debug, Default)]
pub(crate) struct QueueBatch {
    pub(crate) records: Vec<QueueEntry>,
    pub(crate) work: VecDeque<WriterJob>,
}

/// State of the queue, without taking its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueStatus {
    pub(crate) records: bool,
    /// True if a call waits for a record.
    pub(crate) urgent: bool,
    pub(crate) work: bool,
    pub(crate) soft: bool,
    /// True if drafts are included, which must not wait as long as other changes.
    pub(crate) drafts: bool,
    pub(crate) stopping: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum QueuePhase {
    Open,
    Stopping,
    Closed,
}

#[derive(Debug)]
struct QueueState {
    phase: QueuePhase,
    records: Vec<QueueEntry>,
    urgent: bool,
    work: VecDeque<WriterJob>,
    soft: SoftChanges,
    unwritten_keys: UnwrittenKeys,
    /// Number of records here and in the writer's hands.
    waiting: usize,
    /// Total weight of these records.
    waiting_bytes: usize,
    /// True if the database cannot be written to, so that no call waits.
    degraded: bool,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct WriteQueue {
    state: Mutex<QueueState>,
    wake: Notify,
    durability: Durability,
    max_records: usize,
    max_bytes: usize,
}

/// Largest buffer that is reused for the next batch.
const MAX_SPARE_ENTRIES: usize = 4096;

impl WriteQueue {
    pub(crate) fn new(options: &StoreOptions) -> Self {
        Self {
            state: Mutex::new(QueueState {
                phase: QueuePhase::Open,
                records: Vec::new(),
                urgent: false,
                work: VecDeque::new(),
                soft: SoftChanges::default(),
                unwritten_keys: UnwrittenKeys::default(),
                waiting: 0,
                waiting_bytes: 0,
                degraded: false,
            }),
            wake: Notify::new(),
            durability: options.durability,
            max_records: options.queue_records,
            max_bytes: options.queue_bytes,
        }
    }

    /// Adds a record. Never blocks.
    pub(crate) fn push(&self, record: QueuedCall) -> Result<RecordCommit, QueueRejection> {
        let weight = record.weight();
        let keyed = record.opened().key.is_some();
        let opens = matches!(record, QueuedCall::Opened(_));
        let mut state = self.state.lock();
        let full = state.waiting >= self.max_records
            || (state.waiting > 0 && state.waiting_bytes.saturating_add(weight) > self.max_bytes);
        if state.phase == QueuePhase::Closed || full {
            return Err(QueueRejection);
        }
        let wait = !state.degraded && (self.durability == Durability::Each || (keyed && opens));
        let (done, commit) = if wait {
            let (done, committed) = oneshot::channel();
            (Some(done), RecordCommit::Pending(committed))
        } else {
            (None, RecordCommit::Queued)
        };
        if keyed {
            state.unwritten_keys.remember(&record);
        }
        let wake = state.records.is_empty() || (wait && !state.urgent);
        state.records.push(QueueEntry { record, weight, done });
        state.waiting += 1;
        state.waiting_bytes += weight;
        state.urgent |= wait;
        drop(state);
        if wake {
            self.wake.notify_one();
        }
        Ok(commit)
    }

    /// Adds a job, to run after all records queued before it. Fails if the store is closed.
    pub(crate) fn push_work(&self, work: WriterJob) -> Result<(), QueueRejection> {
        let mut state = self.state.lock();
        if state.phase != QueuePhase::Open {
            return Err(QueueRejection);
        }
        state.work.push_back(work);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Records a use of a token.
    pub(crate) fn touch_token(&self, id: &Arc<str>, at_ms: i64) {
        self.change_soft(|soft| soft.touch_token(id, at_ms));
    }

    /// Records a change of a source.
    pub(crate) fn change_source(&self, slug: &Slug, change: SourceChange) {
        self.change_soft(|soft| soft.change_source(slug, change));
    }

    fn change_soft(&self, note: impl FnOnce(&mut SoftChanges)) {
        let mut state = self.state.lock();
        let wake = state.soft.is_empty();
        note(&mut state.soft);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Records the draft of a turn's answer.
    pub(crate) fn draft(&self, turn: &Arc<str>, draft: ResponseDraft) {
        let mut state = self.state.lock();
        if state.phase != QueuePhase::Open {
            return;
        }
        let wake = !state.soft.has_drafts();
        state.soft.draft(turn, draft);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// The newest unwritten record of a key.
    pub(crate) fn find_keyed(&self, principal: &PrincipalId, key: &str) -> Option<QueuedCall> {
        self.state.lock().unwritten_keys.get(principal, key)
    }

    /// Number of waiting records.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// Returns whether calls no longer wait for their commits.
    pub(crate) fn is_degraded(&self) -> bool {
        self.state.lock().degraded
    }

    /// Asks the writer to write everything and end. From now on jobs are refused; records are not.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        if state.phase == QueuePhase::Open {
            state.phase = QueuePhase::Stopping;
        }
        drop(state);
        self.wake.notify_one();
    }

    // Methods below are for the writer.

    pub(crate) async fn wait_for_wake(&self) {
        self.wake.notified().await;
    }

    pub(crate) fn status(&self) -> QueueStatus {
        let state = self.state.lock();
        QueueStatus {
            records: !state.records.is_empty(),
            urgent: state.urgent,
            work: !state.work.is_empty(),
            soft: !state.soft.is_empty(),
            drafts: state.soft.has_drafts(),
            stopping: state.phase != QueuePhase::Open,
        }
    }

    /// Takes records and jobs. `spare` is the empty buffer of an earlier batch, for the next records.
    pub(crate) fn take(&self, spare: Vec<QueueEntry>) -> QueueBatch {
        let mut state = self.state.lock();
        state.urgent = false;
        QueueBatch { records: mem::replace(&mut state.records, spare), work: mem::take(&mut state.work) }
    }

    pub(crate) fn take_soft(&self) -> SoftChanges {
        mem::take(&mut self.state.lock().soft)
    }

    /// Puts back changes that could not be written. Newer changes win.
    pub(crate) fn return_soft(&self, soft: SoftChanges) {
        self.state.lock().soft.merge_older(soft);
    }

    pub(crate) fn set_degraded(&self, degraded: bool) {
        self.state.lock().degraded = degraded;
    }

    /// Marks records as done: written, merged into others, or given up.
    pub(crate) fn settle(&self, entries: &[QueueEntry]) {
        let mut state = self.state.lock();
        state.waiting = state.waiting.saturating_sub(entries.len());
        let bytes: usize = entries.iter().map(|entry| entry.weight).sum();
        state.waiting_bytes = state.waiting_bytes.saturating_sub(bytes);
        for entry in entries {
            state.unwritten_keys.forget(&entry.record);
        }
    }

    /// Closes the queue when the writer ends. Returns the number of unwritten records; calls that wait for
    /// one continue.
    pub(crate) fn close(&self) -> usize {
        let mut state = self.state.lock();
        state.phase = QueuePhase::Closed;
        state.work.clear();
        state.records.clear();
        state.unwritten_keys.clear();
        mem::take(&mut state.waiting)
    }
}

/// Clears a buffer for reuse, or replaces one that is too large.
pub(crate) fn reusable_buffer(mut buffer: Vec<QueueEntry>) -> Vec<QueueEntry> {
    buffer.clear();
    if buffer.capacity() > MAX_SPARE_ENTRIES { Vec::new() } else { buffer }
}

#[cfg(test)]
mod tests;
