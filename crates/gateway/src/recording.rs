//! What happens beside the record of a call: it is counted, and shown to whoever follows the log.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::broadcast;
use toolway_core::{ClosedCall, Commit, EarlierCall, OpenedCall, Recorder};
use toolway_types::PrincipalId;

use crate::metrics::Metrics;

/// Ended calls that a slow follower may be behind; it misses those before.
const BEHIND: usize = 1024;

/// Hands records to the store, counts them and shows them to followers.
pub(crate) struct Recording {
    store: Arc<dyn Recorder>,
    metrics: Arc<Metrics>,
    tail: Tail,
}

/// Where ended calls can be followed. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Tail(broadcast::Sender<ClosedCall>);

impl Tail {
    /// Ended calls from now on.
    pub(crate) fn follow(&self) -> broadcast::Receiver<ClosedCall> {
        self.0.subscribe()
    }
}

impl Default for Tail {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl Recording {
    pub(crate) fn new(store: Arc<dyn Recorder>, metrics: Arc<Metrics>, tail: Tail) -> Arc<Self> {
        Arc::new(Self { store, metrics, tail })
    }
}

#[async_trait]
impl Recorder for Recording {
    fn open(&self, call: Arc<OpenedCall>) -> Commit {
        self.store.open(call)
    }

    fn close(&self, call: ClosedCall) -> Commit {
        self.metrics.call_ended(&call);
        if self.tail.0.receiver_count() > 0 {
            // The last follower may have just gone.
            let _ = self.tail.0.send(call.clone());
        }
        self.store.close(call)
    }

    async fn find_keyed(&self, principal: &PrincipalId, key: &str, since_ms: i64) -> Option<EarlierCall> {
        self.store.find_keyed(principal, key, since_ms).await
    }
}
