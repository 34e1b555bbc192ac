//! What a running tool is given: who calls, how long it may take, how to report and to notice the end.

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

/// Why a call was ended from outside the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CancelReason {
    /// The caller cancelled, or went away.
    Caller = 1,
    /// The deadline passed.
    Deadline = 2,
    /// The tool was silent too long.
    Silence = 3,
    /// The gateway shuts down.
    Shutdown = 4,
}

impl CancelReason {
    /// The word that a device is told.
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

/// What a door hands to tools of its own protocol along with a call. The engine does not look at it.
pub type CallExtension = Arc<dyn Any + Send + Sync>;

/// Nothing has ended the call yet.
const REASON_NONE: u8 = 0;
/// The tool's answer is here.
const REASON_ANSWERED: u8 = u8::MAX;

/// What a running tool is given. Cheap to clone; all clones are the same call's.
#[derive(Debug, Clone)]
pub struct CallContext {
    shared: Arc<CallState>,
}

struct CallState {
    id: CallId,
    caller: Caller,
    clock: RunClock,
    /// Told when there is a reason.
    ended: Notify,
    /// [`OPEN`], [`ANSWERED`] or a reason: whichever comes first is how the call ends.
    reason: AtomicU8,
    dispatched: AtomicBool,
    attempts: AtomicU32,
    queued_us: AtomicU64,
    /// When the tool began, in microseconds of the clock, plus one; 0 before that.
    started_us: AtomicU64,
    progress: Option<ProgressSink>,
    extension: Option<CallExtension>,
    /// What was last reported: how far, of how much.
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

    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.shared.id
    }

    /// Who calls.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.shared.caller
    }

    /// What the call's door handed along, where it is of this type.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.shared.extension.clone()?.downcast().ok()
    }

    /// The time that remains.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.shared.clock.remaining()
    }

    /// Resolves when the call is ended from outside; the task is aborted at about the same time.
    pub async fn cancelled(&self) {
        // Made before the question, so that an end in between wakes it.
        let ended = self.shared.ended.notified();
        if self.cancel_reason().is_none() {
            ended.await;
        }
    }

    /// Why the call was ended from outside, if it was.
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

    /// Reports how far the tool is. Also a sign of life, and the end of a wait for a person.
    pub fn report_progress(&self, progress: ProgressReport) {
        self.shared.clock.note_activity();
        if let Some(sink) = &self.shared.progress {
            *self.shared.last_report.lock() = (progress.progress, progress.total);
            sink(progress);
        }
    }

    /// A person is being asked: stops the clock until [`CallContext::progress`] or [`CallContext::resume`].
    pub fn pause_for_person(&self) {
        self.shared.clock.pause();
    }

    /// Tells whoever watches something that is no sign of life: a report in these words, as far as the last one.
    pub fn report_message(&self, words: String) {
        if let Some(sink) = &self.shared.progress {
            let (progress, total) = *self.shared.last_report.lock();
            sink(ProgressReport { progress, total, message: Some(words), content: Vec::new() });
        }
    }

    /// A sign of life without a report; ends a wait for a person.
    pub fn resume(&self) {
        self.shared.clock.note_activity();
    }

    /// Says that the request has left for the tool, so that it may have effects from now on.
    pub fn mark_dispatched(&self) {
        self.shared.dispatched.store(true, Ordering::Release);
        self.shared.attempts.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the request has left for the tool.
    #[must_use]
    pub fn is_dispatched(&self) -> bool {
        self.shared.dispatched.load(Ordering::Acquire)
    }

    /// How often the request has left for the tool.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.shared.attempts.load(Ordering::Relaxed)
    }

    pub(crate) fn clock(&self) -> &RunClock {
        &self.shared.clock
    }

    /// Says that the tool's answer is here, though its task has yet to hand it over: from now on nothing else
    /// can be the outcome. False where the call was ended from outside before; then the answer is late.
    #[must_use]
    pub fn mark_answered(&self) -> bool {
        self.shared
            .reason
            .compare_exchange(REASON_NONE, REASON_ANSWERED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Ends the call from outside; the first reason stands. False where its answer is here already.
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

    /// The tool begins.
    pub(crate) fn mark_running(&self) {
        let began = micros(self.shared.clock.elapsed()).saturating_add(1);
        self.shared.started_us.store(began, Ordering::Relaxed);
    }

    /// How long the tool has been running.
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
