//! One request that somebody outside waits for, and the way back to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::task::AbortHandle;
use toolway_core::CallContext;

use crate::client_link::RequestingClient;

/// Most questions of a server during one request.
const MAX_QUESTIONS: usize = 10;

/// A request on its way. What its server asks or tells meanwhile belongs to its client, and to nobody else.
pub(super) struct UpstreamExchange {
    /// The client that is behind it; none where nobody can be asked.
    pub(super) client: Option<Arc<dyn RequestingClient>>,
    /// The call that it is part of, where it is one.
    pub(super) call: Option<CallContext>,
    questions: AtomicUsize,
    asking: Mutex<Vec<AbortHandle>>,
}

impl UpstreamExchange {
    pub(super) fn new(client: Option<Arc<dyn RequestingClient>>, call: Option<CallContext>) -> Arc<Self> {
        Arc::new(Self { client, call, questions: AtomicUsize::new(0), asking: Mutex::default() })
    }

    /// Whether the server may ask one more question.
    pub(super) fn count_question(&self) -> bool {
        self.questions.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS
    }

    /// A question of it is under way; it ends with the exchange.
    pub(super) fn track_question(&self, task: AbortHandle) {
        self.asking.lock().push(task);
    }

    /// Whether an answer to a question of it is waited for.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.lock().iter().any(|task| !task.is_finished())
    }

    /// Nobody waits for its answers any more.
    pub(super) fn abort_questions(&self) {
        for task in self.asking.lock().drain(..) {
            task.abort();
        }
    }
}

impl Drop for UpstreamExchange {
    fn drop(&mut self) {
        self.abort_questions();
    }
}

impl std::fmt::Debug for UpstreamExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamExchange").finish_non_exhaustive()
    }
}

/// Where a message came in.
#[derive(Debug, Clone, Copy)]
pub(super) enum MessageOrigin<'a> {
    /// With the answer to this request.
    Exchange(&'a Arc<UpstreamExchange>),
    /// With the answer to a request of the gateway's own.
    Gateway,
    /// Where all messages come in, so that it may belong to any request or to none.
    Shared,
}
