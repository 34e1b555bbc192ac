//! Requests whose answers come in where all messages do.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use toolway_types::RawJson;

use crate::upstream::fault::Fault;

type Answer = Result<RawJson, Fault>;

/// Who waits for which answer.
#[derive(Debug, Default)]
pub(in crate::upstream) struct Pending {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    /// Why nothing comes any more.
    ended: Option<Fault>,
}

/// Waits for one answer; gives it up when it is dropped.
#[derive(Debug)]
pub(in crate::upstream) struct Waiter<'a> {
    pending: &'a Pending,
    id: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Pending {
    /// Waits for an answer from now on.
    ///
    /// # Errors
    /// Where nothing comes any more.
    pub(in crate::upstream) fn wait(&self, id: u64) -> Result<Waiter<'_>, Fault> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(fault) = &state.ended {
            return Err(Fault::Away(fault.to_string()));
        }
        state.waiting.insert(id, sender);
        Ok(Waiter { pending: self, id, answer })
    }

    /// An answer came. False where nobody waits for it: it is late, or a second one.
    pub(in crate::upstream) fn answer(&self, id: u64, answer: Answer) -> bool {
        let waiting = self.state.lock().waiting.remove(&id);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// Nothing comes any more.
    pub(in crate::upstream) fn end(&self, fault: &Fault) {
        let waiting = {
            let mut state = self.state.lock();
            state.ended.get_or_insert_with(|| fault.clone());
            std::mem::take(&mut state.waiting)
        };
        for (_, waiting) in waiting {
            // Whoever waited may have gone.
            let _ = waiting.send(Err(fault.clone()));
        }
    }

    /// The only request that is waited for.
    pub(in crate::upstream) fn only(&self) -> Option<u64> {
        let state = self.state.lock();
        let mut ids = state.waiting.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }
}

impl Waiter<'_> {
    /// The answer.
    pub(in crate::upstream) async fn answer(mut self) -> Answer {
        (&mut self.answer).await.unwrap_or_else(|_| Err(Fault::Lost("it ended".to_owned())))
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.pending.state.lock().waiting.remove(&self.id);
    }
}
