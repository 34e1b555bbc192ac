//! Work that waits for a client's answers. The client holds a random word for it (2026-07-28, `requestState`), which
//! works once, for the same request of the same principal, and only while the work waits.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::InputResponses;
use tokio::sync::oneshot;

use super::client_scope::ClientScope;
use super::consent::ConsentRequest;
use super::exchange::{ClientExchange, ExchangeFuture, RequestIdentity};
use crate::client_link::InputRequestError;

/// Most pieces of work that wait.
const MAX_PENDING: usize = 1_024;
/// Most of one principal's.
const MAX_PENDING_PER_PRINCIPAL: usize = 64;

/// What the work waits for.
pub(crate) enum PendingAnswer {
    /// Answers to a tool's questions.
    Answers(oneshot::Sender<Result<InputResponses, InputRequestError>>),
    /// An answer to the gateway's question.
    Consent(ConsentRequest),
}

impl PendingAnswer {
    /// The client's answers, or why there are none.
    pub(crate) fn submit(self, visitor: &ClientScope, answers: Result<InputResponses, InputRequestError>) {
        match self {
            Self::Answers(to) => {
                // The work has given up waiting otherwise, and its end is the answer.
                let _ = to.send(answers);
            }
            // Who gives none has not allowed it.
            Self::Consent(consenting) => consenting.submit_answer(visitor, &answers.unwrap_or_default()),
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
pub(crate) struct PendingRequests {
    suspended: Mutex<HashMap<String, (ClientExchange, PendingAnswer)>>,
}

impl std::fmt::Debug for PendingRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingRequests").field("waiting", &self.suspended.lock().len()).finish()
    }
}

impl PendingRequests {
    /// Lets work wait, and gives the word for it; gives both back where too much waits already.
    ///
    /// # Errors
    /// What was to wait.
    pub(crate) fn suspend(
        self: &Arc<Self>,
        mut exchange: ClientExchange,
        pending: PendingAnswer,
    ) -> Result<String, Box<(ClientExchange, PendingAnswer)>> {
        let (done, is_done) = oneshot::channel();
        let mut waiting = self.suspended.lock();
        let principal = &exchange.scope.caller.principal.id;
        let mine =
            waiting.values().filter(|(other, _)| other.scope.caller.principal.id == *principal).count();
        if waiting.len() >= MAX_PENDING || mine >= MAX_PENDING_PER_PRINCIPAL {
            return Err(Box::new((exchange, pending)));
        }
        // 244 random bits in two version 4 UUIDs.
        let word = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let gone = exchange.scope.revoked.clone();
        let cancel = exchange.cancel.clone();
        let goes_on: ExchangeFuture = Box::pin(async move {
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
    pub(crate) fn resume(
        &self,
        word: &str,
        which: &RequestIdentity,
        visitor: &ClientScope,
    ) -> Option<(ClientExchange, PendingAnswer)> {
        let taken = self.suspended.lock().remove(word)?;
        let (exchange, _) = &taken;
        if exchange.identity == *which && exchange.scope.is_same_as(visitor) {
            return Some(taken);
        }
        exchange.cancel.cancel();
        None
    }

    fn forget(&self, word: &str) {
        let forgotten = self.suspended.lock().remove(word);
        // Its parts may be large.
        drop(forgotten);
    }
}
