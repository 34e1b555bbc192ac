//! Records of calls, and the trait of recorders.
//!
//! The engine opens a record before a tool runs and closes it exactly once. A recorder never fails a call: it
//! reports whether a record is committed, and counts lost records.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use toolway_types::{CallId, Outcome, PrincipalId, RawJson, Role, ToolId};

use crate::caller::EntryPoint;

/// Data of a call at its start.
#[derive(Debug, Clone)]
pub struct OpenedCall {
    /// Id of the call.
    pub id: CallId,
    /// Name of the tool as given by the caller.
    pub name: Arc<str>,
    /// The called tool, if the name matched a tool that the caller may use.
    pub tool: Option<ToolId>,
    /// Principal of the caller.
    pub principal: PrincipalId,
    /// Role of the caller.
    pub role: Role,
    /// Entry point of the call.
    pub via: EntryPoint,
    /// Agent whose turn made the call.
    pub agent: Option<Arc<str>>,
    /// Conversation of the call.
    pub session: Option<Arc<str>>,
    /// Turn of the conversation that made the call.
    pub turn: Option<Arc<str>>,
    /// Arguments with secrets masked; None if they could not be parsed.
    pub arguments: Option<RawJson>,
    /// Start of the call, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The idempotency key, and the hash of the request.
    pub key: Option<IdempotencyKey>,
}

/// An idempotency key, and the request that used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Key given by the caller.
    pub key: Arc<str>,
    /// SHA-256 of the tool's id and the arguments.
    pub hash: [u8; 32],
}

/// Data of a call at its end.
#[derive(Debug, Clone)]
pub struct ClosedCall {
    /// Data from the start of the call.
    pub opened: Arc<OpenedCall>,
    /// Outcome of the call.
    pub outcome: Arc<Outcome>,
    /// Durations of the call's phases.
    pub durations: CallDurations,
    /// Number of times that the request was sent to the tool; 0 if it never ran.
    pub attempts: u32,
    /// Notes on approvals, hooks and rules; None if there are none.
    pub notes: Option<Box<CallNotes>>,
}

/// Notes on the approvals, hooks and rules of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallNotes {
    /// Approver of the call: a principal, or `grant:` with the id of a grant. The last one, if there were
    /// several.
    pub approved_by: Option<Arc<str>>,
    /// Arguments that the tool got, with secrets masked, if they differ from the caller's: a hook changed them, or
    /// optional nulls were removed.
    pub ran_with: Option<RawJson>,
    /// Hooks that changed or cancelled something, in order.
    pub hooks: Vec<Arc<str>>,
    /// Policy rule that refused the call.
    pub rule: Option<Arc<str>>,
}

/// Durations of the phases of a call, on the monotonic clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallDurations {
    /// Time from acceptance to outcome.
    pub total: Duration,
    /// Time spent waiting for a person, part of the total.
    pub waiting: Duration,
    /// Time spent waiting for the barrier of a sequential source, part of the total.
    pub queued: Duration,
    /// Time that the tool ran, part of the total.
    pub running: Duration,
}

/// State of a record's commit.
#[derive(Debug)]
pub enum RecordCommit {
    /// The record will be written soon, or is lost and counted. Nothing to wait for.
    Queued,
    /// The receiver resolves when the record is committed, or will certainly not be.
    Pending(oneshot::Receiver<()>),
}

impl RecordCommit {
    /// Waits until the record is committed, if that is required.
    pub async fn wait(self) {
        if let Self::Pending(done) = self {
            // A dropped sender means that the writer gave up and counted the record as lost.
            let _ = done.await;
        }
    }
}

/// An earlier call with the same idempotency key.
#[derive(Debug, Clone)]
pub struct EarlierCall {
    /// Id of the earlier call.
    pub id: CallId,
    /// Hash of the request that used the key.
    pub hash: [u8; 32],
    /// Outcome of the call; None if its record is still open.
    pub outcome: Option<Arc<Outcome>>,
    /// Durations of its phases.
    pub durations: CallDurations,
}

/// Records calls.
#[async_trait]
pub trait Recorder: Send + Sync + 'static {
    /// Records the start of a call. With an idempotency key, or if every call must be durable, returns
    /// [`RecordCommit::Pending`], and the call runs only after it resolves.
    fn open(&self, call: Arc<OpenedCall>) -> RecordCommit;

    /// Records the end of a call.
    fn close(&self, call: ClosedCall) -> RecordCommit;

    /// Finds the principal's newest call with this key that started at `since_ms` or later.
    async fn find_by_key(&self, principal: &PrincipalId, key: &str, since_ms: i64) -> Option<EarlierCall>;
}

/// A recorder that records nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoRecorder;

#[async_trait]
impl Recorder for NoRecorder {
    fn open(&self, _: Arc<OpenedCall>) -> RecordCommit {
        RecordCommit::Queued
    }

    fn close(&self, _: ClosedCall) -> RecordCommit {
        RecordCommit::Queued
    }

    async fn find_by_key(&self, _: &PrincipalId, _: &str, _: i64) -> Option<EarlierCall> {
        None
    }
}
