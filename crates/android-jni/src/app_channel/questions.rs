//! Pending questions for the user. The app refers to them by number.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserAnswer {
    /// The user declined.
    Declined,
    /// The user agreed to open the app.
    Agreed,
    /// The user returned from the app.
    Returned,
}

static WAITING: LazyLock<Mutex<HashMap<i64, oneshot::Sender<UserAnswer>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicI64 = AtomicI64::new(1);

/// A pending question. Dropping it ends it.
#[derive(Debug)]
pub(super) struct PendingQuestion {
    pub(super) number: i64,
    answer: oneshot::Receiver<UserAnswer>,
}

impl PendingQuestion {
    pub(super) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        WAITING.lock().insert(number, sender);
        Self { number, answer }
    }

    /// Waits for the answer. The sender exists as long as the question, so there always is one.
    pub(super) async fn answer(&mut self) -> Option<UserAnswer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        WAITING.lock().remove(&self.number);
    }
}

/// Answers a question. Returns true if it was pending.
pub(crate) fn answer_question(number: i64, answer: UserAnswer) -> bool {
    let waiting = WAITING.lock().remove(&number);
    waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
}
