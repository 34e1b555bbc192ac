//! A request on behalf of a client, and the link back to that client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::task::AbortHandle;
use toolway_core::CallContext;

use crate::client_link::RequestingClient;

/// Maximum number of questions of a server during one request.
const MAX_QUESTIONS: usize = 10;

/// A running request. The server's questions and notifications meanwhile reach only its client.
pub(super) struct UpstreamExchange {
    /// The client of the request; `None` if nobody can be asked.
    pub(super) client: Option<Arc<dyn RequestingClient>>,
    /// The call that the request belongs to, if there is one.
    pub(super) call: Option<CallContext>,
    questions: AtomicUsize,
    asking: Mutex<Vec<AbortHandle>>,
    /// Set if the exchange outlives its request, because the request creates a task.
    is_kept: AtomicBool,
    /// Number of questions that a person has to answer.
    open_for_person: Mutex<usize>,
}

impl UpstreamExchange {
    pub(super) fn new(client: Option<Arc<dyn RequestingClient>>, call: Option<CallContext>) -> Arc<Self> {
        Arc::new(Self {
            client,
            call,
            questions: AtomicUsize::new(0),
            asking: Mutex::default(),
            is_kept: AtomicBool::new(false),
            open_for_person: Mutex::default(),
        })
    }

    /// Lets the exchange outlive its request.
    pub(super) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// Stops the clock of the call while a person is asked, until the result is dropped. The clock runs again after
    /// the last of several questions.
    pub(super) fn wait_for_person(self: &Arc<Self>) -> PersonWait {
        let mut open = self.open_for_person.lock();
        *open += 1;
        if let Some(call) = self.call.as_ref().filter(|_| *open == 1) {
            call.pause_for_person();
        }
        drop(open);
        PersonWait(Arc::clone(self))
    }

    /// Counts a question. Returns false if the server has asked too many.
    pub(super) fn count_question(&self) -> bool {
        self.questions.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS
    }

    /// Tracks the task of a question. It ends with the exchange.
    pub(super) fn track_question(&self, task: AbortHandle) {
        self.asking.lock().push(task);
    }

    /// Returns true if a question waits for its answer.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.lock().iter().any(|task| !task.is_finished())
    }

    /// Aborts all questions.
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

/// The time in which a person is asked.
pub(super) struct PersonWait(Arc<UpstreamExchange>);

impl Drop for PersonWait {
    fn drop(&mut self) {
        let mut open = self.0.open_for_person.lock();
        *open = open.saturating_sub(1);
        if let Some(call) = self.0.call.as_ref().filter(|_| *open == 0) {
            call.resume();
        }
    }
}

/// The way in which a message arrived.
#[derive(Debug, Clone, Copy)]
pub(super) enum MessageOrigin<'a> {
    /// In the response to this request.
    Exchange(&'a Arc<UpstreamExchange>),
    /// In the response to a request of the gateway itself.
    Gateway,
    /// On a shared stream, so it may belong to any request or to none.
    Shared,
}
