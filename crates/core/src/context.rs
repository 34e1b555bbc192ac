//! The context of a running tool: its caller, its remaining time, progress reports and cancellation.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use toolway_types::CallId;

use crate::caller::Caller;
use crate::progress::{ProgressReport, ProgressSink};
use crate::run_clock::RunClock;

/// Reason why a call ended from outside the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CancelReason {
    /// The caller cancelled, or left.
    Caller = 1,
    /// The deadline passed.
    Deadline = 2,
    /// The tool sent no progress for too long.
    Silence = 3,
    /// The gateway is shutting down.
    Shutdown = 4,
}

impl CancelReason {
    /// Name sent to devices.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "cancelled",
            Self::Deadline => "timeout",
            Self::Silence => "no_progress",
            Self::Shutdown => "shutting_down",
        }
    }
}

/// Data that an entry point passes to tools of its own protocol. The engine does not use it.
pub type CallExtension = Arc<dyn Any + Send + Sync>;

/// The call has not ended.
const REASON_NONE: u8 = 0;
/// The tool's answer has arrived.
const REASON_ANSWERED: u8 = u8::MAX;

/// The context of a running tool. Cheap to clone; all clones belong to the same call.
#[derive(Debug, Clone)]
pub struct CallContext {
    shared: Arc<CallState>,
}

struct CallState {
    id: CallId,
    caller: Caller,
    clock: RunClock,
    /// Notified when there is a reason.
    ended: Notify,
    /// [`REASON_NONE`], [`REASON_ANSWERED`] or a reason. The first one set decides how the call ends.
    reason: AtomicU8,
    dispatched: AtomicBool,
    attempts: AtomicU32,
    queued_us: AtomicU64,
    /// Start of the run in microseconds of the clock, plus one; 0 before the start.
    started_us: AtomicU64,
    progress: Option<ProgressSink>,
    extension: Option<CallExtension>,
    /// The last report: progress and total.
    last_report: Mutex<(f64, Option<f64>)>,
}

impl std::fmt::Debug for CallState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallState").field("id", &self.id).finish_non_exhaustive()
    }
}

impl CallContext {
    pub(crate) fn new(
        id: CallId,
        caller: Caller,
        clock: RunClock,
        progress: Option<ProgressSink>,
        attachment: Option<CallExtension>,
    ) -> Self {
        let shared = CallState {
            id,
            caller,
            clock,
            ended: Notify::new(),
            reason: AtomicU8::new(REASON_NONE),
            dispatched: AtomicBool::new(false),
            attempts: AtomicU32::new(0),
            queued_us: AtomicU64::new(0),
            started_us: AtomicU64::new(0),
            progress,
            extension: attachment,
            last_report: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Id of the call.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.shared.id
    }

    /// Caller of the call.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.shared.caller
    }

    /// Data from the call's entry point, if it has this type.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.shared.extension.clone()?.downcast().ok()
    }

    /// Remaining time of the call.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.shared.clock.remaining()
    }

    /// Resolves when the call is ended from outside. The task is aborted at about the same time.
    pub async fn cancelled(&self) {
        // Created before the check, so that an end in between is not missed.
        let ended = self.shared.ended.notified();
        if self.cancel_reason().is_none() {
            ended.await;
        }
    }

    /// Reason why the call was ended from outside, if it was.
    #[must_use]
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        match self.shared.reason.load(Ordering::Acquire) {
            1 => Some(CancelReason::Caller),
            2 => Some(CancelReason::Deadline),
            3 => Some(CancelReason::Silence),
            4 => Some(CancelReason::Shutdown),
            _ => None,
        }
    }

    /// Reports progress. Also resets the limit on silence, and ends a pause for a person.
    pub fn report_progress(&self, progress: ProgressReport) {
        self.shared.clock.note_activity();
        if let Some(sink) = &self.shared.progress {
            *self.shared.last_report.lock() = (progress.progress, progress.total);
            sink(progress);
        }
    }

    /// Pauses the clock while a person is asked, until [`CallContext::report_progress`] or
    /// [`CallContext::resume`].
    pub fn pause_for_person(&self) {
        self.shared.clock.pause();
    }

    /// Sends a message with the last reported progress. It does not reset the limit on silence.
    pub fn report_message(&self, words: String) {
        if let Some(sink) = &self.shared.progress {
            let (progress, total) = *self.shared.last_report.lock();
            sink(ProgressReport { progress, total, message: Some(words), content: Vec::new() });
        }
    }

    /// Resets the limit on silence without a report, and ends a pause for a person.
    pub fn resume(&self) {
        self.shared.clock.note_activity();
    }

    /// Records that the request was sent to the tool, so it may have effects from now on.
    pub fn mark_dispatched(&self) {
        self.shared.dispatched.store(true, Ordering::Release);
        self.shared.attempts.fetch_add(1, Ordering::Relaxed);
    }

    /// True if the request was sent to the tool.
    #[must_use]
    pub fn is_dispatched(&self) -> bool {
        self.shared.dispatched.load(Ordering::Acquire)
    }

    /// Number of times that the request was sent to the tool.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.shared.attempts.load(Ordering::Relaxed)
    }

    pub(crate) fn clock(&self) -> &RunClock {
        &self.shared.clock
    }

    /// Records that the tool's answer has arrived, although its task has not returned it yet. From now on
    /// nothing else can be the outcome. Returns false if the call was ended from outside before, so the
    /// answer is late.
    #[must_use]
    pub fn mark_answered(&self) -> bool {
        self.shared
            .reason
            .compare_exchange(REASON_NONE, REASON_ANSWERED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Ends the call from outside. The first reason wins. Returns false if the answer has already arrived.
    pub(crate) fn cancel(&self, reason: CancelReason) -> bool {
        let state = &self.shared.reason;
        let before = state.compare_exchange(REASON_NONE, reason as u8, Ordering::AcqRel, Ordering::Acquire);
        self.shared.ended.notify_waiters();
        before != Err(REASON_ANSWERED)
    }

    pub(crate) fn set_queue_time(&self, queued: Duration) {
        self.shared.queued_us.store(micros(queued), Ordering::Relaxed);
    }

    pub(crate) fn queue_time(&self) -> Duration {
        Duration::from_micros(self.shared.queued_us.load(Ordering::Relaxed))
    }

    /// Records the start of the tool.
    pub(crate) fn mark_running(&self) {
        let began = micros(self.shared.clock.elapsed()).saturating_add(1);
        self.shared.started_us.store(began, Ordering::Relaxed);
    }

    /// Time since the start of the tool.
    pub(crate) fn running_time(&self) -> Duration {
        match self.shared.started_us.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => self.shared.clock.elapsed().saturating_sub(Duration::from_micros(began - 1)),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
