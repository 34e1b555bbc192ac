//! Work that waits for a client's answers. The client holds a random word for it (2026-07-28, `requestState`), which
//! works once, for the same request of the same principal, and only while the work waits.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::InputResponses;
use tokio::sync::oneshot;

use super::consent::Consenting;
use super::exchange::{Exchange, Which, Work};
use super::visitor::Visitor;
use crate::link::NoAnswer;

/// Most pieces of work that wait.
const MOST: usize = 1_024;
/// Most of one principal's.
const MOST_OF_ONE: usize = 64;

/// What the work waits for.
pub(crate) enum Pending {
    /// Answers to a tool's questions.
    Answers(oneshot::Sender<Result<InputResponses, NoAnswer>>),
    /// An answer to the gateway's question.
    Consent(Consenting),
}

impl Pending {
    /// The client's answers, or why there are none.
    pub(crate) fn answered(self, visitor: &Visitor, answers: Result<InputResponses, NoAnswer>) {
        match self {
            Self::Answers(to) => {
                // The work has given up waiting otherwise, and its end is the answer.
                let _ = to.send(answers);
            }
            // Who gives none has not allowed it.
            Self::Consent(consenting) => consenting.answer(visitor, &answers.unwrap_or_default()),
        }
    }

    /// Resolves once nobody waits for the answers any more, where that can be seen.
    pub(crate) async fn closed(&mut self) {
        match self {
            Self::Answers(to) => to.closed().await,
            Self::Consent(_) => std::future::pending().await,
        }
    }
}

/// Work that waits.
#[derive(Default)]
pub(crate) struct Parking {
    waiting: Mutex<HashMap<String, (Exchange, Pending)>>,
}

impl std::fmt::Debug for Parking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parking").field("waiting", &self.waiting.lock().len()).finish()
    }
}

impl Parking {
    /// Lets work wait, and gives the word for it; gives both back where too much waits already.
    ///
    /// # Errors
    /// What was to wait.
    pub(crate) fn park(
        self: &Arc<Self>,
        mut exchange: Exchange,
        pending: Pending,
    ) -> Result<String, Box<(Exchange, Pending)>> {
        let (done, is_done) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        let principal = &exchange.visitor.caller.principal.id;
        let mine =
            waiting.values().filter(|(other, _)| other.visitor.caller.principal.id == *principal).count();
        if waiting.len() >= MOST || mine >= MOST_OF_ONE {
            return Err(Box::new((exchange, pending)));
        }
        // 244 random bits in two version 4 UUIDs.
        let word = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let gone = exchange.visitor.gone.clone();
        let cancel = exchange.cancel.clone();
        let goes_on: Work = Box::pin(async move {
            is_done
                .await
                .unwrap_or_else(|_| Err(rmcp::ErrorData::internal_error("the request was lost", None)))
        });
        let mut work = std::mem::replace(&mut exchange.work, goes_on);
        waiting.insert(word.clone(), (exchange, pending));
        drop(waiting);
        let (parking, key) = (Arc::clone(self), word.clone());
        tokio::spawn(async move {
            let ended = tokio::select! {
                ended = &mut work => ended,
                () = gone.cancelled() => {
                    cancel.cancel();
                    work.await
                }
            };
            // Who comes back in the meantime is told; who does not has nothing to come back to.
            if let Err(ended) = done.send(ended) {
                drop(ended);
            }
            parking.forget(&key);
        });
        Ok(word)
    }

    /// The work that waits under this word, if it is this request of this visitor. The word is used up either way.
    pub(crate) fn take(&self, word: &str, which: &Which, visitor: &Visitor) -> Option<(Exchange, Pending)> {
        let taken = self.waiting.lock().remove(word)?;
        let (exchange, _) = &taken;
        if exchange.which == *which && exchange.visitor.is_same_as(visitor) {
            return Some(taken);
        }
        exchange.cancel.cancel();
        None
    }

    fn forget(&self, word: &str) {
        let forgotten = self.waiting.lock().remove(word);
        // Its parts may be large.
        drop(forgotten);
    }
}
