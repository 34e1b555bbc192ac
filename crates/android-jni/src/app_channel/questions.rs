//! Questions that wait for the user. The app names one by its number.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// What the user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserAnswer {
    /// Don't.
    Declined,
    /// Open it.
    Agreed,
    /// The user is back from an app.
    Returned,
}

static WAITING: LazyLock<Mutex<HashMap<i64, oneshot::Sender<UserAnswer>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicI64 = AtomicI64::new(1);

/// A question that waits. Dropped, it waits no more.
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

    /// Waits for the answer. It comes while the question is kept, so there is one.
    pub(super) async fn answer(&mut self) -> Option<UserAnswer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        WAITING.lock().remove(&self.number);
    }
}

/// The answer to a question. Whether anybody waited for it.
pub(crate) fn answer_question(number: i64, answer: UserAnswer) -> bool {
    let waiting = WAITING.lock().remove(&number);
    waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
}
