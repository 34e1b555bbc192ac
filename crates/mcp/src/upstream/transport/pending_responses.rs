//! Requests that wait for their responses on a shared stream.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use toolway_types::RawJson;

use crate::upstream::error::UpstreamError;

type PendingResult = Result<RawJson, UpstreamError>;

/// The waiting requests by id.
#[derive(Debug, Default)]
pub(in crate::upstream) struct PendingResponses {
    state: Mutex<PendingResponsesState>,
}

#[derive(Debug, Default)]
struct PendingResponsesState {
    waiting: HashMap<u64, oneshot::Sender<PendingResult>>,
    /// The reason why no more responses arrive.
    error: Option<UpstreamError>,
}

/// Waits for one response. Dropping it stops waiting.
#[derive(Debug)]
pub(in crate::upstream) struct ResponseWaiter<'a> {
    pending: &'a PendingResponses,
    id: u64,
    answer: oneshot::Receiver<PendingResult>,
}

impl PendingResponses {
    /// Registers a request.
    ///
    /// # Errors
    /// [`UpstreamError::NotConnected`] if no more responses arrive.
    pub(in crate::upstream) fn register(&self, id: u64) -> Result<ResponseWaiter<'_>, UpstreamError> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(fault) = &state.error {
            return Err(UpstreamError::NotConnected(fault.to_string()));
        }
        state.waiting.insert(id, sender);
        Ok(ResponseWaiter { pending: self, id, answer })
    }

    /// Delivers a response. Returns false if no request waits for it, because it is late or duplicate.
    pub(in crate::upstream) fn complete(&self, id: u64, answer: PendingResult) -> bool {
        let waiting = self.state.lock().waiting.remove(&id);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// Fails all requests, now and later.
    pub(in crate::upstream) fn fail_all(&self, fault: &UpstreamError) {
        let waiting = {
            let mut state = self.state.lock();
            state.error.get_or_insert_with(|| fault.clone());
            std::mem::take(&mut state.waiting)
        };
        for (_, waiting) in waiting {
            // The receiver may be gone.
            let _ = waiting.send(Err(fault.clone()));
        }
    }

    /// The id of the only waiting request, if there is exactly one.
    pub(in crate::upstream) fn sole_id(&self) -> Option<u64> {
        let state = self.state.lock();
        let mut ids = state.waiting.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }
}

impl ResponseWaiter<'_> {
    /// Waits for the response.
    pub(in crate::upstream) async fn recv(mut self) -> PendingResult {
        (&mut self.answer).await.unwrap_or_else(|_| Err(UpstreamError::ConnectionLost("it ended".to_owned())))
    }
}

impl Drop for ResponseWaiter<'_> {
    fn drop(&mut self) {
        self.pending.state.lock().waiting.remove(&self.id);
    }
}
