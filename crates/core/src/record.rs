//! What is recorded of a call, and the trait of whatever keeps it.
//!
//! The engine opens a record before a tool runs and closes it exactly once. A recorder never fails a call:
//! it says how far it got, counts what it could not keep, and the call goes on.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use toolway_types::{CallId, Outcome, PrincipalId, RawJson, Role, ToolId};

use crate::caller::EntryPoint;

/// What is known when a call starts.
#[derive(Debug, Clone)]
pub struct OpenedCall {
    /// The call's id.
    pub id: CallId,
    /// The name as the caller gave it.
    pub name: Arc<str>,
    /// The tool it named, where there is one that this caller may use.
    pub tool: Option<ToolId>,
    /// Who called.
    pub principal: PrincipalId,
    /// With which role.
    pub role: Role,
    /// Through which door.
    pub via: EntryPoint,
    /// The agent whose turn it belongs to.
    pub agent: Option<Arc<str>>,
    /// The conversation it belongs to.
    pub session: Option<Arc<str>>,
    /// The model's answer within that conversation that asked for it.
    pub turn: Option<Arc<str>>,
    /// The arguments, secrets already replaced; none where they could not be parsed.
    pub arguments: Option<RawJson>,
    /// Wall clock, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Where the call carries an idempotency key: the key, and the hash of name and arguments.
    pub key: Option<IdempotencyKey>,
}

/// An idempotency key with what it was used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The caller's key.
    pub key: Arc<str>,
    /// SHA-256 of the tool's id and its arguments.
    pub hash: [u8; 32],
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct ClosedCall {
    /// What it was opened with.
    pub opened: Arc<OpenedCall>,
    /// How it ended.
    pub outcome: Arc<Outcome>,
    /// How long its parts took.
    pub durations: CallDurations,
    /// How often the request was sent to the tool: 0 where it never ran.
    pub attempts: u32,
    /// What people, hooks and rules did with it; none where nobody did anything.
    pub notes: Option<Box<CallNotes>>,
}

/// What people, hooks and rules did with a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallNotes {
    /// Who let it run: a principal, or `grant:` with the id of a grant that was given before. Where several did,
    /// the last.
    pub approved_by: Option<Arc<str>>,
    /// The arguments it ran with where hooks changed them, secrets already replaced.
    pub ran_with: Option<RawJson>,
    /// The hooks that changed or cancelled something, in the order in which they did.
    pub hooks: Vec<Arc<str>>,
    /// The policy rule that refused it.
    pub rule: Option<Arc<str>>,
}

/// How long the parts of a call took, by the monotonic clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallDurations {
    /// From the call's acceptance to its outcome.
    pub total: Duration,
    /// Of that, waiting for a person.
    pub waiting: Duration,
    /// Of that, waiting for its turn.
    pub queued: Duration,
    /// Of that, the tool running.
    pub running: Duration,
}

/// How far a record got.
#[derive(Debug)]
pub enum RecordCommit {
    /// It will be written soon, or is lost and counted; there is nothing to wait for.
    Queued,
    /// The receiver resolves when it is committed, or when it is certain that it will not be.
    Pending(oneshot::Receiver<()>),
}

impl RecordCommit {
    /// Waits until the record is on disk, where that was asked for.
    pub async fn wait(self) {
        if let Self::Pending(done) = self {
            // A dropped sender means the writer gave up; it has counted that.
            let _ = done.await;
        }
    }
}

/// What became of an earlier call with an idempotency key.
#[derive(Debug, Clone)]
pub struct EarlierCall {
    /// The earlier call's id.
    pub id: CallId,
    /// What the key was used for.
    pub hash: [u8; 32],
    /// How it ended; none where its record is still open.
    pub outcome: Option<Arc<Outcome>>,
    /// How long its parts took.
    pub durations: CallDurations,
}

/// Keeps the records of calls.
#[async_trait]
pub trait Recorder: Send + Sync + 'static {
    /// A call starts. Where it carries an idempotency key, or every call is to be durable, the answer is
    /// [`Commit::Pending`] and the call runs only after it resolves.
    fn open(&self, call: Arc<OpenedCall>) -> RecordCommit;

    /// A call ended.
    fn close(&self, call: ClosedCall) -> RecordCommit;

    /// The newest call of this principal with this key that started at `since_ms` or later.
    async fn find_by_key(&self, principal: &PrincipalId, key: &str, since_ms: i64) -> Option<EarlierCall>;
}

/// Keeps nothing.
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
