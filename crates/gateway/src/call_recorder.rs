//! Passes call records to the store, counts the calls, and publishes them to followers of the log.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::broadcast;
use toolway_core::{CallNotes, ClosedCall, EarlierCall, OpenedCall, RecordCommit, Recorder};
use toolway_types::{Outcome, PrincipalId, ToolError, ToolOutput};

use crate::metrics::GatewayMetrics;

/// Maximum number of ended calls that a slow follower may lag behind. It misses older ones.
const TAIL_CAPACITY: usize = 1024;
/// Maximum size of an error message for followers, in bytes.
const MAX_TAIL_MESSAGE_BYTES: usize = 4096;

/// Passes records to the store, counts them and publishes them to followers.
pub(crate) struct CallRecorder {
    store: Arc<dyn Recorder>,
    metrics: Arc<GatewayMetrics>,
    tail: CallTail,
}

/// The stream of ended calls. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct CallTail(broadcast::Sender<ClosedCall>);

impl CallTail {
    /// Subscribes to the calls that end from now on.
    pub(crate) fn follow(&self) -> broadcast::Receiver<ClosedCall> {
        self.0.subscribe()
    }
}

impl Default for CallTail {
    fn default() -> Self {
        Self(broadcast::Sender::new(TAIL_CAPACITY))
    }
}

impl CallRecorder {
    pub(crate) fn new(store: Arc<dyn Recorder>, metrics: Arc<GatewayMetrics>, tail: CallTail) -> Arc<Self> {
        Arc::new(Self { store, metrics, tail })
    }
}

#[async_trait]
impl Recorder for CallRecorder {
    fn open(&self, call: Arc<OpenedCall>) -> RecordCommit {
        self.store.open(call)
    }

    fn close(&self, call: ClosedCall) -> RecordCommit {
        self.metrics.record_call(&call);
        if self.tail.0.receiver_count() > 0 {
            // Sending fails if the last follower has just left.
            let _ = self.tail.0.send(without_large_fields(&call));
        }
        self.store.close(call)
    }

    async fn find_by_key(&self, principal: &PrincipalId, key: &str, since_ms: i64) -> Option<EarlierCall> {
        self.store.find_by_key(principal, key, since_ms).await
    }
}

/// Returns a copy of a call without fields that may be large, because it stays in memory until the slowest
/// follower has read it.
fn without_large_fields(call: &ClosedCall) -> ClosedCall {
    let opened = OpenedCall { arguments: None, ..OpenedCall::clone(&call.opened) };
    let outcome = match &*call.outcome {
        Outcome::Success(_) => Outcome::Success(ToolOutput::default()),
        Outcome::Error(error) => {
            let message = error.message.get(..error.message.floor_char_boundary(MAX_TAIL_MESSAGE_BYTES));
            Outcome::Error(ToolError::new(error.code, message.unwrap_or_default()))
        }
    };
    let notes = call.notes.as_deref().map(|notes| {
        let CallNotes { approved_by, hooks, rule, ran_with: _ } = notes;
        let (approved_by, hooks, rule) = (approved_by.clone(), hooks.clone(), rule.clone());
        Box::new(CallNotes { approved_by, hooks, rule, ran_with: None })
    });
    ClosedCall {
        opened: Arc::new(opened),
        outcome: Arc::new(outcome),
        durations: call.durations,
        attempts: call.attempts,
        notes,
    }
}
