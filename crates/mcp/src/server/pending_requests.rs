//! Requests that wait for a client's answers. The client has a random resume token (2026-07-28, `requestState`),
//! which is valid once, for the same request of the same principal, while the request waits.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::InputResponses;
use tokio::sync::oneshot;

use super::client_scope::ClientScope;
use super::consent::ConsentRequest;
use super::exchange::{ClientExchange, ExchangeFuture, RequestIdentity};
use crate::client_link::InputRequestError;

/// Maximum number of pending requests.
const MAX_PENDING: usize = 1_024;
/// Maximum number of pending requests of one principal.
const MAX_PENDING_PER_PRINCIPAL: usize = 64;

/// The receiver of the client's answers.
pub(crate) enum PendingAnswer {
    /// Answers to a tool's questions.
    Answers(oneshot::Sender<Result<InputResponses, InputRequestError>>),
    /// An answer to the gateway's question.
    Consent(ConsentRequest),
}

impl PendingAnswer {
    /// Submits the client's answers, or the reason why there are none.
    pub(crate) fn submit(self, scope: &ClientScope, answers: Result<InputResponses, InputRequestError>) {
        match self {
            Self::Answers(to) => {
                // Fails if the work no longer waits. Its result is then the response.
                let _ = to.send(answers);
            }
            // No answer means no consent.
            Self::Consent(consenting) => consenting.submit_answer(scope, &answers.unwrap_or_default()),
        }
    }

    /// Returns true if no one waits for the answers any more.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Answers(to) => to.is_closed(),
            Self::Consent(consenting) => !consenting.is_open(),
        }
    }

    /// Resolves when no one waits for the answers any more, if that can be detected.
    pub(crate) async fn closed(&mut self) {
        match self {
            Self::Answers(to) => to.closed().await,
            Self::Consent(_) => std::future::pending().await,
        }
    }
}

/// The requests that wait for answers.
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
    /// Suspends a request, and returns its resume token.
    ///
    /// # Errors
    /// The request, if too many are pending.
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
        let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let gone = exchange.scope.revoked.clone();
        let cancel = exchange.cancel.clone();
        let result: ExchangeFuture = Box::pin(async move {
            is_done
                .await
                .unwrap_or_else(|_| Err(rmcp::ErrorData::internal_error("the request was lost", None)))
        });
        let mut work = std::mem::replace(&mut exchange.work, result);
        waiting.insert(token.clone(), (exchange, pending));
        drop(waiting);
        let (requests, key) = (Arc::clone(self), token.clone());
        tokio::spawn(async move {
            let ended = tokio::select! {
                ended = &mut work => ended,
                () = gone.cancelled() => {
                    cancel.cancel();
                    work.await
                }
            };
            // A client that has resumed gets the result. Otherwise no one needs it.
            if let Err(ended) = done.send(ended) {
                drop(ended);
            }
            requests.forget(&key);
        });
        Ok(token)
    }

    /// Resumes the request with this token if request and client are the same. The token becomes invalid in any case.
    pub(crate) fn resume(
        &self,
        token: &str,
        identity: &RequestIdentity,
        scope: &ClientScope,
    ) -> Option<(ClientExchange, PendingAnswer)> {
        let taken = self.suspended.lock().remove(token)?;
        let (exchange, _) = &taken;
        if exchange.identity == *identity && exchange.scope.is_same_as(scope) {
            return Some(taken);
        }
        exchange.cancel.cancel();
        None
    }

    fn forget(&self, token: &str) {
        let forgotten = self.suspended.lock().remove(token);
        // Dropped without the lock: its parts may be large.
        drop(forgotten);
    }
}
