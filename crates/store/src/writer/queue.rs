//! The queue of the writer. Adding a call's record is the caller's only cost: one short lock,
//! one push. The writer is woken only by the first record after a pause and by those that someone waits for;
//! everything else is found when the window ends.

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

/// A call's opening or closing.
#[derive(Debug, Clone)]
pub(crate) enum QueuedCall {
    /// It starts.
    Opened(Arc<OpenedCall>),
    /// It ended. Holds the opening too, so that a closing alone makes a whole row.
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

    /// Notes of people, hooks and rules, if the call has ended and there are any.
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

/// A record on its way.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    pub(crate) record: QueuedCall,
    /// Bytes it keeps in memory, roughly.
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
    /// Someone waits for a record.
    pub(crate) urgent: bool,
    pub(crate) work: bool,
    pub(crate) soft: bool,
    /// Some of that should not wait as long as the rest.
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
    /// Records here and in the writer's hands.
    waiting: usize,
    /// Their weight.
    waiting_bytes: usize,
    /// The database can't be written to: nobody is made to wait.
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

/// Largest buffer that is kept for the next batch.
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

    /// Puts a record in. Never waits.
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

    /// Puts work in, to be done after the records that are in already. Hands it back where the store is closed.
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

    /// Notes that a token was used.
    pub(crate) fn touch_token(&self, id: &Arc<str>, at_ms: i64) {
        self.change_soft(|soft| soft.touch_token(id, at_ms));
    }

    /// Notes a change of a source.
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

    /// Notes how far a turn's answer is.
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

    /// Reports whether calls no longer wait for their commits.
    pub(crate) fn is_degraded(&self) -> bool {
        self.state.lock().degraded
    }

    /// Asks the writer to write what there is and end. New work is refused from now on, records are not.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        if state.phase == QueuePhase::Open {
            state.phase = QueuePhase::Stopping;
        }
        drop(state);
        self.wake.notify_one();
    }

    // From here on: what only the writer uses.

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

    /// Takes records and work. `spare` is the empty buffer of an earlier batch, for the next records.
    pub(crate) fn take(&self, spare: Vec<QueueEntry>) -> QueueBatch {
        let mut state = self.state.lock();
        state.urgent = false;
        QueueBatch { records: mem::replace(&mut state.records, spare), work: mem::take(&mut state.work) }
    }

    pub(crate) fn take_soft(&self) -> SoftChanges {
        mem::take(&mut self.state.lock().soft)
    }

    /// Puts back what could not be written; newer changes win.
    pub(crate) fn return_soft(&self, soft: SoftChanges) {
        self.state.lock().soft.merge_older(soft);
    }

    pub(crate) fn set_degraded(&self, degraded: bool) {
        self.state.lock().degraded = degraded;
    }

    /// The writer is done with records: written, merged into others, or given up.
    pub(crate) fn settle(&self, entries: &[QueueEntry]) {
        let mut state = self.state.lock();
        state.waiting = state.waiting.saturating_sub(entries.len());
        let bytes: usize = entries.iter().map(|entry| entry.weight).sum();
        state.waiting_bytes = state.waiting_bytes.saturating_sub(bytes);
        for entry in entries {
            state.unwritten_keys.forget(&entry.record);
        }
    }

    /// The writer has ended. Answers how many records are left behind; whoever waits for one goes on.
    pub(crate) fn close(&self) -> usize {
        let mut state = self.state.lock();
        state.phase = QueuePhase::Closed;
        state.work.clear();
        state.records.clear();
        state.unwritten_keys.clear();
        mem::take(&mut state.waiting)
    }
}

/// A buffer that is worth keeping.
pub(crate) fn reusable_buffer(mut buffer: Vec<QueueEntry>) -> Vec<QueueEntry> {
    buffer.clear();
    if buffer.capacity() > MAX_SPARE_ENTRIES { Vec::new() } else { buffer }
}

#[cfg(test)]
mod tests;
