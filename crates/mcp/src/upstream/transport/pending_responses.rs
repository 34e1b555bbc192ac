//! Requests whose answers come in where all messages do.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use toolway_types::RawJson;

use crate::upstream::error::UpstreamError;

type PendingResult = Result<RawJson, UpstreamError>;

/// Who waits for which answer.
#[derive(Debug, Default)]
pub(in crate::upstream) struct PendingResponses {
    state: Mutex<PendingResponsesState>,
}

#[derive(Debug, Default)]
struct PendingResponsesState {
    waiting: HashMap<u64, oneshot::Sender<PendingResult>>,
    /// Why nothing comes any more.
    error: Option<UpstreamError>,
}

/// Waits for one answer; gives it up when it is dropped.
#[derive(Debug)]
pub(in crate::upstream) struct ResponseWaiter<'a> {
    pending: &'a PendingResponses,
    id: u64,
    answer: oneshot::Receiver<PendingResult>,
}

impl PendingResponses {
    /// Waits for an answer from now on.
    ///
    /// # Errors
    /// Where nothing comes any more.
    pub(in crate::upstream) fn register(&self, id: u64) -> Result<ResponseWaiter<'_>, UpstreamError> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(fault) = &state.error {
            return Err(UpstreamError::NotConnected(fault.to_string()));
        }
        state.waiting.insert(id, sender);
        Ok(ResponseWaiter { pending: self, id, answer })
    }

    /// An answer came. False where nobody waits for it: it is late, or a second one.
    pub(in crate::upstream) fn complete(&self, id: u64, answer: PendingResult) -> bool {
        let waiting = self.state.lock().waiting.remove(&id);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// Nothing comes any more.
    pub(in crate::upstream) fn fail_all(&self, fault: &UpstreamError) {
        let waiting = {
            let mut state = self.state.lock();
            state.error.get_or_insert_with(|| fault.clone());
            std::mem::take(&mut state.waiting)
        };
        for (_, waiting) in waiting {
            // Whoever waited may have gone.
            let _ = waiting.send(Err(fault.clone()));
        }
    }

    /// The only request that is waited for.
    pub(in crate::upstream) fn sole_id(&self) -> Option<u64> {
        let state = self.state.lock();
        let mut ids = state.waiting.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }
}

impl ResponseWaiter<'_> {
    /// The answer.
    pub(in crate::upstream) async fn recv(mut self) -> PendingResult {
        (&mut self.answer).await.unwrap_or_else(|_| Err(UpstreamError::ConnectionLost("it ended".to_owned())))
    }
}

impl Drop for ResponseWaiter<'_> {
    fn drop(&mut self) {
        self.pending.state.lock().waiting.remove(&self.id);
    }
}
